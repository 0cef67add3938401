'use strict';
/* Response time distribution: response time over 1 − q on a log axis, one line per cell. */

/** Number of lines shown at first. */
const SHOWN_FIRST = 6;

/** cell → place in the list of colours, kept while it is shown. */
const chosenCells = new Map();

function choose(cell) {
  const taken = new Set(chosenCells.values());
  let free = 0;
  while (taken.has(free)) free += 1;
  chosenCells.set(cell.cell, free);
}

/** Cells spread evenly over the range of p99, the best among them. */
function firstCells() {
  const measured = model.cells.filter((cell) => cell.spectrum.length);
  const byP99 = [...measured].sort((a, b) => (a.p99 ? a.p99[0] : 0) - (b.p99 ? b.p99[0] : 0));
  if (byP99.length <= SHOWN_FIRST) return byP99;
  const steps = SHOWN_FIRST - 2;
  const spread = Array.from({ length: SHOWN_FIRST - 1 }, (_, step) => byP99[Math.round((step * (byP99.length - 1)) / steps)]);
  return [...new Set([...spread, ...measured.filter((cell) => cell.cell === model.best)])];
}

const nines = (quantile) => -Math.log10(1 - quantile);

/** 0 → 0 %, 1 → 90 %, 2 → 99 %, 3 → 99.9 %. */
function percentName(at) {
  const percent = 100 * (1 - 10 ** -at);
  const digits = Math.max(0, Math.round(at) - 2);
  return `${percent.toFixed(digits)} %`;
}

function percentExact(quantile) {
  const digits = Math.max(1, Math.ceil(nines(quantile)) - 1);
  return `${(quantile * 100).toFixed(digits)} %`;
}

const dashOf = (place, look) => ['solid', 'dashed', 'dotted'][Math.floor(place / look.series.length) % 3];

/** The ticks' line samples, in the colours of the lines they stand for. */
function colourTicks(look) {
  document.querySelectorAll('#spectrum-cells .swatch').forEach((swatch) => {
    const place = chosenCells.get(Number(swatch.dataset.cell));
    swatch.hidden = place === undefined;
    swatch.style.borderTopColor = place === undefined ? 'transparent' : look.series[place % look.series.length];
    swatch.style.borderTopStyle = place === undefined ? 'solid' : dashOf(place, look);
  });
}

/** The factor whose levels have a chart each. */
const spectrumView = { facet: null };
const SPECTRUM_FACETS = { least: 230, top: 44 };

function spectrumOption(look) {
  if (!printing) colourTicks(look);
  const cells = model.cells.filter((cell) => chosenCells.has(cell.cell));
  const lineOf = (cell) => {
    const place = chosenCells.get(cell.cell);
    return {
      name: cell.label + (cell.believed ? '' : ` (${cell.verdict})`), spectrum: cell.spectrum, color: look.series[place % look.series.length],
      type: dashOf(place, look), opacity: cell.believed ? 1 : 0.65,
    };
  };
  // On the screen the ticks above carry the colours.
  const whole = spectrumLines(look, cells.map(lineOf), { legend: printing || picturing });
  if (spectrumView.facet === null) return whole;
  const factor = model.factors[spectrumView.facet];
  const panels = factor.levels.map((level, place) => ({
    title: `${factor.name} ${level}`, series: cells.filter((cell) => cell.levels[spectrumView.facet] === place).map(lineOf).map(spectrumSeries),
  }));
  const xAxis = { ...whole.xAxis, name: '', axisLabel: { ...whole.xAxis.axisLabel, fontSize: 10.5 } };
  const option = facetOption('spectrum', look, panels, { ...SPECTRUM_FACETS, xAxis, yAxis: whole.yAxis });
  return { ...option, legend: { ...whole.legend, show: printing || picturing }, tooltip: whole.tooltip };
}

/** A line of a distribution. */
function spectrumSeries(line) {
  return {
    type: 'line', name: line.name, showSymbol: false, symbol: 'circle', symbolSize: 6, color: line.color,
    lineStyle: { width: 2, type: line.type, opacity: line.opacity },
    data: line.spectrum.map(([quantile, us]) => [nines(quantile), Math.max(us, 1), quantile]),
  };
}

/** The chart of some lines, each with its name, spectrum and look. */
function spectrumLines(look, lines, view) {
  const furthest = Math.max(1, ...lines.map((line) => nines(line.spectrum[line.spectrum.length - 1][0])));
  const ticks = isNarrow() ? [] : [nines(0.5)];
  for (let at = 0; at <= Math.ceil(furthest); at += 1) ticks.push(at);
  ticks.sort((a, b) => a - b);
  return {
    grid: { left: 8, right: 18, top: view.legend ? 62 : 28, bottom: 28, containLabel: true },
    legend: legend(look, { show: view.legend }),
    tooltip: tooltip(look, { trigger: 'axis', axisPointer: { type: 'line', lineStyle: { color: look.faint } } }, (hovered) => {
      const shown = hovered.filter((line) => line.seriesType === 'line');
      if (!shown.length) return null;
      return [[`${percentExact(shown[0].data[2])} of the answers came within`], ...shown.map((line) => [line.seriesName, timeOf(line.data[1])])];
    }),
    xAxis: axis(look, {
      type: 'value', min: 0, max: Math.max(1, furthest), interval: 1, name: 'share of answers', nameLocation: 'middle', nameGap: 27,
      axisLabel: { customValues: ticks, formatter: percentName, showMaxLabel: null },
    }),
    yAxis: axis(look, {
      type: 'log', ...decades(lines.flatMap((line) => line.spectrum.map((point) => point[1]))),
      axisLabel: { formatter: (value) => short(timeOf(value)) },
    }),
    series: lines.map(spectrumSeries),
  };
}

/** A chart for each level of a factor, if one likes. */
function spectrumFacets() {
  const box = byId('spectrum-choice');
  const splits = facetFactors(() => true);
  if (!box || !splits.length) return;
  box.replaceChildren(facetChooser([['none', null], ...splits], spectrumView.facet, (to) => {
    spectrumView.facet = to;
    windows.delete('spectrum');
    byId('spectrum').style.height = to === null ? '' : `${facetsHeight('spectrum', model.factors[to].levels.length, SPECTRUM_FACETS)}px`;
    spectrumFacets();
    draw('spectrum', spectrumOption);
  }));
}

function spectrumChoice() {
  spectrumFacets();
  const box = byId('spectrum-cells');
  firstCells().forEach(choose);
  model.cells.filter((cell) => cell.spectrum.length).forEach((cell) => {
    const tick = make('input', { type: 'checkbox', checked: chosenCells.has(cell.cell) });
    tick.addEventListener('change', () => {
      if (tick.checked) choose(cell); else chosenCells.delete(cell.cell);
      draw('spectrum', spectrumOption);
    });
    const swatch = make('span', { className: 'swatch' });
    swatch.dataset.cell = cell.cell;
    box.append(make('label', {}, tick, swatch, cell.label));
  });
  draw('spectrum', spectrumOption);
}
