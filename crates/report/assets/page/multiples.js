'use strict';
/* Small multiples: where a factor has many levels, a chart for each of them, all with the same axes; a second factor along the x axis, a
   third one by colour, all others held. */

/** More colours cannot be told apart. */
const MOST_COLOURS = 8;
/** Pixels of one chart, and of what is around it. */
const PANEL = { height: 118, title: 20, labels: 22, gap: 14, left: 52, right: 10 };

/** The factor whose levels are colours: the first one that is on no axis and has few levels. */
function colourFactor() {
  const place = model.factors.findIndex((factor, other) => other !== view.across && other !== view.along
    && factor.levels.length > 1 && factor.levels.length <= MOST_COLOURS);
  return place < 0 ? null : place;
}

/** Charts in a row. */
function panelColumns() {
  if (printing) return 4;
  const width = byId('multiples').clientWidth || 900;
  return Math.max(1, Math.min(5, Math.floor(width / 165)));
}

const panelTop = (row, top) => top + row * (PANEL.title + PANEL.height + PANEL.labels + PANEL.gap);

function multiplesHeight() {
  const rows = Math.ceil(model.factors[view.along].levels.length / panelColumns());
  return panelTop(rows, 44);
}

/** The value axis that all charts share. */
function sharedAxis(look, cells) {
  const values = cells.flatMap((cell) => numberOf(cell) || []);
  const positive = values.filter((value) => value > 0);
  const isLog = view.metric.kind !== 'share' && positive.length > 0 && positive.length === values.length
    && Math.max(...positive) / Math.min(...positive) > LOG_FROM_RATIO;
  return {
    isLog,
    axis: axis(look, {
      type: isLog ? 'log' : 'value', ...(isLog ? decades(values) : { min: Math.min(0, ...values), max: niceTop(values) }), splitNumber: 3,
      axisLabel: { formatter: (value) => short(NUMBER[view.metric.kind](value)), fontSize: 10.5 },
    }),
  };
}

/** The first of 1, 1.5, 2, 3, 4, 5, 6, 8 of a power of ten that no value is above, so that every chart ends at the same one. */
function niceTop(values) {
  const most = Math.max(0, ...values);
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= most) || most;
}

function multiples(look) {
  const colour = colourFactor();
  const cells = cellsAt([view.along, view.across, colour]);
  const columns = panelColumns();
  const width = printing ? PAPER.wide : byId('multiples').clientWidth || 900;
  const each = (width - PANEL.left - PANEL.right) / columns;
  const shared = sharedAxis(look, cells);
  const levels = model.factors[view.along].levels;
  const groups = colour === null ? [null] : model.factors[colour].levels.map((_, place) => place);
  const nameOf = (group) => (group === null ? view.metric.name : `${model.factors[colour].name} ${levelOf(colour, group)}`);
  const option = { grid: [], title: [], xAxis: [], yAxis: [], series: [] };
  levels.forEach((level, panel) => {
    const [row, column] = [Math.floor(panel / columns), panel % columns];
    const left = PANEL.left + column * each;
    const top = panelTop(row, 44);
    option.title.push({ text: level, left, top, padding: 0, textStyle: { fontSize: 12, fontWeight: 600, color: look.ink, width: each - 14, overflow: 'truncate' } });
    option.grid.push({ left, top: top + PANEL.title, width: each - PANEL.gap, height: PANEL.height });
    option.xAxis.push(axis(look, {
      type: 'category', gridIndex: panel, data: model.factors[view.across].levels, splitLine: { show: false }, axisLabel: { fontSize: 10.5 },
    }));
    option.yAxis.push({ ...shared.axis, gridIndex: panel, axisLabel: { ...shared.axis.axisLabel, show: column === 0 } });
    groups.forEach((group, place) => {
      const own = cells.filter((cell) => cell.levels[view.along] === panel && (group === null || cell.levels[colour] === group) && valueOf(cell) !== null);
      own.sort((a, b) => a.levels[view.across] - b.levels[view.across]);
      const tint = look.series[place % look.series.length];
      const ends = own.filter((cell) => numberOf(cell).length === 3).map((cell) => [cell.levels[view.across], ...numberOf(cell).slice(1)]);
      const axes = { xAxisIndex: panel, yAxisIndex: panel };
      const points = own.map((cell) => ({ ...pointOf(cell, cell.levels[view.across]), symbolSize: cell.believed ? 5 : 7 }));
      option.series.push(
        { type: 'line', name: nameOf(group), color: tint, data: points, lineStyle: { width: 1.6 }, ...axes },
        { ...whiskers(ends, tint, nameOf(group), false), ...axes },
      );
    });
  });
  return {
    ...option,
    toolbox: tools(look, view.metric.id + '-multiples'),
    legend: legend(look, { show: groups.length > 1, data: groups.map(nameOf) }),
    tooltip: tooltip(look, { trigger: 'item' }, (one) => (one.data.cell ? tellCell(one.data.cell) : null)),
  };
}

function drawMultiples() {
  const box = byId('multiples');
  if (!box) return;
  const colour = colourFactor();
  const held = heldText([view.along, view.across, colour]);
  const shared = sharedAxis(colours(), cellsAt([view.along, view.across, colour]));
  byId('multiples-label').textContent = `${view.metric.label}${shared.isLog ? ' (log scale)' : ''} over ${model.factors[view.across].name}, `
    + `a chart for each ${model.factors[view.along].name}${held}; with 95 % intervals; hollow: not reliable`;
  box.style.height = `${multiplesHeight()}px`;
  draw('multiples', multiples);
}
