'use strict';
/* Scaling curves over a factor whose levels are numbers: for each outcome a chart, or one for each panel; in it a line for each
   combination of other factors' levels, with its intervals and with reference results; and the kinds of failures as stacked bars. */

/** Levels or values this far apart get a log axis unless one chooses otherwise. */
const DECADE = 10;
const SCALES = ['automatic', 'linear', 'logarithmic'];
/** The curve at a level of 0 reaches by this factor to either side of its place on a log axis. */
const AT_ZERO = 1.2;
const curvesView = { x: 0, y: 0 };

/** Of the second factor's levels; colours are the first one's. */
const CURVE_DASHES = ['solid', [7, 4], [2, 3], [9, 3, 2, 3]];

/** A cross: a reference result. */
const REFERENCE_MARK = 'path://M-5,-4 L-4,-5 L0,-1 L4,-5 L5,-4 L1,0 L5,4 L4,5 L0,1 L-4,5 L-5,4 L-1,0 Z';

/** Whether values go on a log axis, as `chosen` says or by their range; zeros never do. */
function isLogScale(values, chosen) {
  if (!values.length || values.some((value) => !(value > 0)) || chosen === 1) return false;
  return chosen === 2 || Math.max(...values) / Math.min(...values) >= DECADE;
}

/** The place of each level along the axis, and whether that is logarithmic: by its value, but a level of zero, which has no place on
 * a log axis, is set apart before the others. */
function alongAxis(over, chosen) {
  if (!over.at) return { log: false, at: over.levels.map((_, level) => level) };
  const some = over.at.filter((at) => at !== 0);
  const log = some.length > 1 && isLogScale(some, chosen);
  const apart = some[0] / Math.max(2, Math.min(DECADE, some[1] / some[0]));
  return { log, at: over.at.map((at) => (log && at === 0 ? apart : at)) };
}

/** The axis of levels: by their value where they are numbers, each with its own text; at least to `reach`. */
function overAxis(look, over, chosen, reach = -Infinity) {
  const named = { name: over.factor, nameLocation: 'middle', nameGap: 26, splitLine: { show: false } };
  if (!over.at) return axis(look, { type: 'category', data: over.levels, ...named });
  const { log, at } = alongAxis(over, chosen);
  const [low, high] = [at[0], Math.max(at[at.length - 1], reach)];
  const pad = log ? (high / low) ** 0.05 : (high - low) * 0.05;
  const nearest = (value) => at.reduce((best, one, place) => (Math.abs(one - value) < Math.abs(at[best] - value) ? place : best), 0);
  const scale = log ? ` (log scale${over.at[0] === 0 ? `, ${over.levels[0]} apart` : ''})` : '';
  return axis(look, {
    type: log ? 'log' : 'value', ...named, name: over.factor + scale,
    min: log ? low / pad : low - pad, max: log ? high * pad : high + pad,
    axisTick: { show: false, customValues: at },
    axisLabel: { customValues: at, keepTicks: true, formatter: (value) => over.levels[nearest(value)] },
  });
}

/** The axis of values: logarithmic with ticks at 1, 2 and 5, or from nothing. */
function outcomeAxis(look, values, format, log) {
  const scale = log ? ratioTicks(values) : null;
  return axis(look, {
    type: log ? 'log' : 'value', ...(log ? { min: scale.min, max: scale.max } : { min: Math.min(0, ...values) }),
    name: log ? 'log scale' : '', nameLocation: 'end', nameTextStyle: { align: 'left', color: look.soft, fontSize: 12 },
    axisLabel: { formatter: (value) => short(format(value)), ...(log ? { customValues: scale.ticks } : {}) },
  });
}

function tellCurve(chart, point) {
  const [line, level, number, middle, low, high, reference, thin] = point;
  const { over, lines } = model.curves;
  const cell = model.cells.find((one) => one.cell === number);
  const estimate = middle === null ? null : [middle, ...(low === null ? [] : [low, high])];
  const rows = [[[lines[line].name, `${over.factor} ${over.levels[level]}`].filter(Boolean).join(', ')], [chart.name, withInterval(estimate, chart.kind)]];
  if (reference !== null) rows.push(['reference', NUMBER[chart.kind](reference)]);
  rows.push(['Verdict', cell.shown]);
  if (thin) rows.push(['Note', thin]);
  return rows;
}

/** The lines of a panel, with their places among all lines and their names in its charts. */
const panelLines = (panel) => panel.lines.map(([place, name]) => ({ ...model.curves.lines[place], place, name: name || 'this study' }));

/** Our line of one combination, its whiskers, and the line of reference results. */
function curveSeries(chart, { place, name, dash, colour: ofLine }, look) {
  const { over } = model.curves;
  const colour = look.series[ofLine % look.series.length];
  const own = chart.points.filter((point) => point[0] === place).sort((a, b) => a[1] - b[1]);
  const believed = (point) => model.cells.find((cell) => cell.cell === point[2]).believed;
  const along = alongAxis(over, curvesView.x).at;
  const x = (point) => along[point[1]];
  const series = [
    {
      type: 'line', name, color: colour, z: 3, lineStyle: { width: 2, type: CURVE_DASHES[dash] },
      symbol: 'circle', symbolSize: 7,
      data: own.map((point) => ({
        value: [x(point), point[3]], point,
        ...(believed(point) ? {} : { symbolSize: 9, itemStyle: { color: look.card, borderColor: colour, borderWidth: 2 } }),
      })),
    },
    whiskers(own.filter((point) => point[4] !== null).map((point) => [x(point), point[4], point[5]]), colour, name, false),
  ];
  const reference = own.filter((point) => point[6] !== null);
  if (reference.length) {
    series.push({
      type: 'line', name: 'reference', color: colour, z: 2, symbol: REFERENCE_MARK, symbolSize: 8, itemStyle: { opacity: 0.85 },
      lineStyle: { width: 1.25, type: [4, 4], opacity: 0.75 }, data: reference.map((point) => ({ value: [x(point), point[6]], point })),
    });
  }
  return series;
}

/** The curve of a scaling law, dashed beyond the data, and its band; both end at the edges of the chart. A change of its exponent is a
 * diamond with its interval. On a log axis the value at a level of 0 is a piece of its own, at the place of that level. */
function lawSeries(law, { name, colour: ofLine }, look) {
  const { over } = model.curves;
  const colour = look.series[ofLine % look.series.length];
  const highest = over.at[over.at.length - 1];
  const value = ([at, middle]) => [at, middle];
  const still = { name, color: colour, silent: true, tooltip: { show: false }, clip: true };
  const drawn = (data, type) => ({ type: 'line', ...still, z: 2, symbol: 'none', data, lineStyle: { width: 1.25, type, opacity: 0.8 } });
  const band = (points) => ({
    type: 'custom', ...still, z: 1, data: [points[0].slice(0, 2)],
    renderItem: (_, api) => {
      const edge = (which) => points.map((point) => api.coord([point[0], point[which]]));
      return { type: 'polygon', shape: { points: [...edge(2), ...edge(3).reverse()] }, style: { fill: colour, opacity: 0.13 } };
    },
  });
  const { log, at } = alongAxis(over, curvesView.x);
  const zero = log ? law.band.filter((point) => point[0] === 0) : [];
  const apart = zero.flatMap(([, ...values]) => [at[0] / AT_ZERO, at[0] * AT_ZERO].map((place) => [place, ...values]));
  const curve = law.band.filter((point) => !zero.includes(point));
  const turn = law.turn ? [
    { type: 'scatter', ...still, z: 3, symbol: 'diamond', symbolSize: 10, data: [[law.turn[0], law.turn[3]]] },
    whiskers([[law.turn[3], law.turn[1], law.turn[2]]], colour, name, true),
  ] : [];
  return [
    ...[apart, curve].filter((points) => points.length).map(band),
    ...(apart.length ? [drawn(apart.map(value), 'solid')] : []),
    drawn(curve.filter(([level]) => level <= highest).map(value), 'solid'),
    drawn(curve.filter(([level]) => level >= highest).map(value), [4, 4]),
    ...turn,
  ];
}

/** How far the axis of levels goes: as far as the laws. */
const lawReach = (chart) => Math.max(...chart.laws.flatMap((law) => law.band.map((point) => point[0])), -Infinity);

/** All charts of an outcome have the same axes. */
function curveOption(chart, panel, id) {
  return (look) => {
    const { over } = model.curves;
    const lines = panelLines(panel);
    const format = NUMBER[chart.kind];
    const measured = chart.points.flatMap((point) => [point[3], point[4], point[5], point[6]]).filter((value) => value !== null);
    const values = [...measured, ...chart.laws.flatMap((law) => law.band.map((point) => point[1]))];
    const log = isLogScale(measured, curvesView.y);
    const series = lines.flatMap((line) => curveSeries(chart, line, look));
    series.push(...lines.flatMap((line) => chart.laws.filter((law) => law.line === line.place).flatMap((law) => lawSeries(law, line, look))));
    const hasReference = series.some((one) => one.name === 'reference');
    const names = lines.map((line) => line.name);
    const listed = [...names, ...(hasReference ? [{ name: 'reference', icon: REFERENCE_MARK, itemStyle: { color: look.soft } }] : [])];
    return {
      grid: { left: 8, right: 18, top: belowLegend(id, listed.length > 1 ? [...names, ...(hasReference ? ['reference'] : [])] : [], log), bottom: 26, containLabel: true },
      legend: legend(look, { show: listed.length > 1, data: listed, itemHeight: hasReference ? 8 : 4, icon: undefined }),
      tooltip: tooltip(look, { trigger: 'item' }, (one) => (one.data && one.data.point ? tellCurve(chart, one.data.point) : null)),
      xAxis: overAxis(look, over, curvesView.x, lawReach(chart)),
      yAxis: outcomeAxis(look, values, format, log),
      series,
    };
  };
}

/** Colours of kinds of failures, apart from those of the first lines. */
const KIND_COLOURS = [3, 4, 6, 2, 5, 7, 0, 1];

/** Height of one line's bars, and of the legend above all of them, in CSS pixels. */
const KINDS = { line: 230, legend: 34 };
const kindColumns = () => (isNarrow() ? 1 : Math.min(model.curves.lines.length, 3));

/** A field for each line, side by side on one scale; in each a bar for each level, stacked by kind. */
function kindsOption(look) {
  const { over, lines, kinds } = model.curves;
  const columns = kindColumns();
  const sums = kinds.shares.map(([, , shares]) => shares.reduce((sum, one) => sum + one, 0));
  const most = Math.min(1, Math.max(...sums) * 1.1);
  const left = (place) => ((place % columns) * 100) / columns;
  const top = (place) => KINDS.legend + Math.floor(place / columns) * KINDS.line;
  const found = (line, level) => kinds.shares.find((one) => one[0] === line && one[1] === level);
  return {
    legend: legend(look, { data: kinds.names }),
    tooltip: tooltip(look, { trigger: 'item' }, (one) => [[[lines[one.data.line].name, `${over.factor} ${one.name}`].filter(Boolean).join(', ')], [one.seriesName, share(one.value)]]),
    title: lines.map((line, place) => ({
      text: line.name, left: `${left(place) + 4}%`, top: top(place) + 4, padding: 0, textStyle: { color: look.ink, fontSize: 12.5, fontWeight: 600, fontFamily: FONT },
    })),
    grid: lines.map((_, place) => ({ left: `${left(place)}%`, width: `${100 / columns - 2}%`, top: top(place) + 28, height: KINDS.line - 58, containLabel: true })),
    xAxis: lines.map((_, place) => axis(look, {
      gridIndex: place, type: 'category', data: over.levels, name: over.factor, nameLocation: 'middle', nameGap: 25, splitLine: { show: false },
    })),
    yAxis: lines.map((_, place) => axis(look, { gridIndex: place, type: 'value', min: 0, max: most, axisLabel: { formatter: (value) => short(share(value)), showMaxLabel: false } })),
    series: lines.flatMap((_, line) => kinds.names.map((name, kind) => ({
      type: 'bar', name, stack: `line-${line}`, xAxisIndex: line, yAxisIndex: line, barMaxWidth: 34, color: look.series[KIND_COLOURS[kind % KIND_COLOURS.length]],
      data: over.levels.map((_level, level) => {
        const shares = found(line, level);
        return { value: shares ? shares[2][kind] : 0, line };
      }),
    }))),
  };
}

/** Draws all charts, and lets one choose how both axes are scaled. */
function curvesChoice() {
  const { over, panels, charts, kinds } = model.curves;
  const again = () => {
    const choose = (which) => (to) => { curvesView[which] = to; again(); };
    const choices = [chooser('values', SCALES, curvesView.y, choose('y'))];
    if (over.at.every((at) => at >= 0)) choices.unshift(chooser(over.factor, SCALES, curvesView.x, choose('x')));
    byId('curves-choice').replaceChildren(...choices);
    charts.forEach((chart, place) => panels.forEach((panel, at) => {
      const id = `curve-${place * panels.length + at}`;
      draw(id, curveOption(chart, panel, id));
    }));
  };
  again();
  if (!kinds) return;
  byId('curve-kinds').style.height = `${KINDS.legend + KINDS.line * Math.ceil(model.curves.lines.length / kindColumns())}px`;
  draw('curve-kinds', kindsOption);
}
