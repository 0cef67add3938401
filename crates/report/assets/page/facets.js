'use strict';
/* Facets: a chart split into small ones with the same axes, one for each level, trial or cell. */

/** Pixels of one chart, and of what is around it. */
const PANEL = { height: 118, title: 20, labels: 22, gap: 14, left: 52, right: 10 };
/** More of them nobody compares. */
const MOST_PANELS = 24;

/** The width that a chart has, whatever is drawn in it. */
const widthOf = (id) => (printing ? PAPER.wide : byId(id).clientWidth || 900);

/** Charts in a row, each at least so wide. */
function facetColumns(id, count, least) {
  return Math.max(1, Math.min(count, printing ? 4 : 5, printing ? 4 : Math.floor(widthOf(id) / least)));
}

const panelTop = (row, top) => top + row * (PANEL.title + PANEL.height + PANEL.labels + PANEL.gap);

const facetsHeight = (id, count, { least, top }) => panelTop(Math.ceil(count / facetColumns(id, count, least)), top);

/** `panels`: [{ title, series }]; `shape`: the shared axes, the least width of a panel, and where the first row begins. */
function facetOption(id, look, panels, { xAxis, yAxis, least, top }) {
  const columns = facetColumns(id, panels.length, least);
  const each = (widthOf(id) - PANEL.left - PANEL.right) / columns;
  const option = { facets: true, grid: [], title: [], xAxis: [], yAxis: [], series: [] };
  panels.forEach(({ title, series }, place) => {
    const [row, column] = [Math.floor(place / columns), place % columns];
    const left = PANEL.left + column * each;
    const above = panelTop(row, top);
    option.title.push({ text: title, left, top: above, padding: 0, textStyle: { fontSize: 12, fontWeight: 600, color: look.ink, fontFamily: FONT, width: each - 14, overflow: 'truncate' } });
    option.grid.push({ left, top: above + PANEL.title, width: each - PANEL.gap, height: PANEL.height });
    // Its first value would touch the last one of the chart before.
    const first = xAxis.type === 'value' && column > 0 ? { axisLabel: { ...xAxis.axisLabel, showMinLabel: false } } : {};
    option.xAxis.push({ ...xAxis, ...first, gridIndex: place });
    option.yAxis.push({ ...yAxis, gridIndex: place, axisLabel: { ...yAxis.axisLabel, show: column === 0 } });
    option.series.push(...series.map((one) => ({ ...one, xAxisIndex: place, yAxisIndex: place })));
  });
  return option;
}

/** A selector of what the facets are; `options`: [[text, value]], the first one for none. */
function facetChooser(options, chosen, onChange) {
  const place = options.findIndex(([, value]) => value === chosen);
  return chooser('facets', options.map(([text]) => text), Math.max(0, place), (to) => onChange(options[to][1]));
}

/** Factors that a chart can be split by. */
const facetFactors = (isFit) => model.factors.flatMap((factor, place) => (
  factor.levels.length > 1 && factor.levels.length <= MOST_PANELS && isFit(place) ? [[factor.name, place]] : []));
