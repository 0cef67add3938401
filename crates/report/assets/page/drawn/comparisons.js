'use strict';
/* A/B comparison of two levels of a factor at each level of another: ratios with intervals on a log axis, differences of shares on a
   linear one, the neutral value marked. One line of ratios has the colour of the better level; several have a colour each. */

/** Neutral among the colours of series. */
const EVEN_COLOUR = 5;

function tellCompared(comparison, outcome, point) {
  const [line, level, middle, low, high, , believed] = point;
  const { over, lines, levels } = comparison;
  const estimate = [middle, ...(low === null ? [] : [low, high])];
  const rows = [
    [[lines[line], `${over.factor} ${over.levels[level]}`].filter(Boolean).join(', ')],
    [outcome.difference ? `${levels[1]} − ${levels[0]}` : `${levels[1]} ÷ ${levels[0]}`, withInterval(estimate, outcome.difference ? 'points' : 'ratio')],
  ];
  if (!believed) rows.push(['Note', 'one of the two cells is not reliable']);
  return rows;
}

/** What is drawn in one colour: its name, and which points are its own. */
function comparedGroups(comparison, look) {
  const { lines, levels } = comparison;
  if (lines.length > 1) {
    return lines.map((name, line) => ({ name, colour: look.series[(line + 2) % look.series.length], has: (point) => point[0] === line }));
  }
  return [
    { name: `${levels[0]} ahead`, colour: look.series[0], has: (point) => point[5] === 0 },
    { name: `${levels[1]} ahead`, colour: look.series[1], has: (point) => point[5] === 1 },
    { name: 'no difference found', colour: look.series[EVEN_COLOUR], has: (point) => point[5] === null },
    { name: 'no interval', colour: look.series[EVEN_COLOUR], symbol: 'diamond', has: (point) => point[5] === 2 },
  ];
}

function comparedOption(comparison, outcome, id) {
  return (look) => {
    const { over, lines } = comparison;
    const even = outcome.difference ? 0 : 1;
    const values = [...outcome.points.flatMap((point) => [point[2], point[3], point[4]]).filter((value) => value !== null), even];
    const log = !outcome.difference;
    const scale = log ? ratioTicks(values.filter((value) => value > 0)) : null;
    // A value without a place on a log axis is drawn at its edge, and so is an interval without an upper end.
    const y = (value) => (log ? Math.max(value ?? scale.max, scale.min) : value);
    const along = alongAxis(over, 0).at;
    const x = (point) => along[point[1]];
    const groups = comparedGroups(comparison, look).map((group) => ({ ...group, points: outcome.points.filter(group.has) })).filter((group) => group.points.length);
    const through = (points, colour) => ({
      type: 'line', data: points.map((point) => [x(point), y(point[2])]), silent: true, symbol: 'none', z: 1, tooltip: { show: false },
      lineStyle: { color: colour, width: 1.25, opacity: 0.7 },
    });
    const connecting = lines.length > 1 ? groups.map((group) => through(group.points, group.colour)) : [through(outcome.points, look.faint)];
    return {
      grid: { left: 8, right: 18, top: belowLegend(id, groups.map((group) => group.name), true), bottom: 26, containLabel: true },
      legend: legend(look, { data: groups.map((group) => ({ name: group.name, icon: group.symbol || 'circle' })), itemHeight: 9 }),
      tooltip: tooltip(look, { trigger: 'item' }, (one) => (one.data && one.data.point ? tellCompared(comparison, outcome, one.data.point) : null)),
      xAxis: overAxis(look, over, 0),
      yAxis: axis(look, {
        type: log ? 'log' : 'value', ...(log ? { min: scale.min, max: scale.max } : {}),
        name: log ? 'ratio (log scale)' : 'percentage points', nameLocation: 'end', nameTextStyle: { align: 'left', color: look.soft, fontSize: 12 },
        axisLabel: log ? { formatter: timesOf, customValues: scale.ticks } : { formatter: (value) => short(three(100 * value)) },
      }),
      series: [
        ...connecting,
        ...groups.map((group) => whiskers(group.points.filter((point) => point[3] !== null).map((point) => [x(point), y(point[3]), y(point[4])]), group.colour, group.name, false)),
        ...groups.map((group, place) => ({
          type: 'scatter', name: group.name, color: group.colour, symbol: group.symbol || 'circle', symbolSize: 10, z: 5,
          ...(place === 0 ? { markLine: { silent: true, symbol: 'none', animation: false, label: { show: false }, lineStyle: { color: look.soft, type: 'dashed', width: 1.5 }, data: [{ yAxis: even }] } } : {}),
          data: group.points.map((point) => ({
            value: [x(point), y(point[2])], point,
            itemStyle: point[6] ? {} : { color: look.card, borderColor: group.colour, borderWidth: 2 },
          })),
        })),
      ],
    };
  };
}

function drawComparisons() {
  model.comparisons.forEach((comparison, place) => {
    comparison.outcomes.forEach((outcome, at) => {
      const id = `compare-${place}-${at}`;
      draw(id, comparedOption(comparison, outcome, id));
    });
  });
}
