'use strict';
/* Small multiples: where a factor has many levels, a chart for each of them, all with the same axes; a second factor along the x axis, a
   third one by colour, all others held. */

/** More colours cannot be told apart. */
const MOST_COLOURS = 8;
/** The factor whose levels are colours: the first one that is on no axis and has few levels. */
function colourFactor() {
  const place = model.factors.findIndex((factor, other) => other !== view.across && other !== view.along
    && factor.levels.length > 1 && factor.levels.length <= MOST_COLOURS);
  return place < 0 ? null : place;
}

/** Where the first row of charts begins, below the legend. */
const MULTIPLES = { least: 165, top: 44 };

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
  const shared = sharedAxis(look, cells);
  const levels = model.factors[view.along].levels;
  const groups = colour === null ? [null] : model.factors[colour].levels.map((_, place) => place);
  const nameOf = (group) => (group === null ? view.metric.name : `${model.factors[colour].name} ${levelOf(colour, group)}`);
  const seriesOf = (panel) => groups.flatMap((group, place) => {
    const own = cells.filter((cell) => cell.levels[view.along] === panel && (group === null || cell.levels[colour] === group) && valueOf(cell) !== null);
    return levelSeries(own, nameOf(group), look.series[place % look.series.length], true);
  });
  const xAxis = axis(look, { type: 'category', data: model.factors[view.across].levels, splitLine: { show: false }, axisLabel: { fontSize: 10.5 } });
  return {
    ...facetOption('multiples', look, levels.map((title, panel) => ({ title, series: seriesOf(panel) })), { ...MULTIPLES, xAxis, yAxis: shared.axis }),
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
  box.style.height = `${facetsHeight('multiples', model.factors[view.along].levels.length, MULTIPLES)}px`;
  draw('multiples', multiples);
}
