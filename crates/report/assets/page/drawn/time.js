'use strict';
/* Time series of one trial: goodput, response time, CPU, backlog, metrics of the system, on one time axis with the phases shaded. */

/** The trial that is shown; and what has a chart each: `null`, `trials` of the
 * cell, or the first trial of each of the `cells`. */
const timeView = { trial: null, facet: null };
const TIME_FACETS = { least: 220, top: 40 };


/** Phases with a band; the others lie before the load or take no time. */
const SHADED = { 'warm-up': 0.16, measure: 0, recovery: 0.08, finish: 0.1, drain: 0.16, collect: 0.06 };

function timeEnd(trial) {
  const ends = trial.phases.filter((phase) => phase[0] in SHADED && phase[0] !== 'collect').map((phase) => phase[2]);
  const last = trial.points.length ? trial.points[trial.points.length - 1][1] : 1;
  return Math.max(last, ...ends);
}

function phaseBands(look, trial, named) {
  const end = timeEnd(trial);
  const shown = trial.phases.filter(([name, from, to]) => name in SHADED && to > 0 && from < end && to > from);
  return {
    silent: true,
    label: { show: named, position: 'top', color: look.soft, fontSize: 11, distance: 3 },
    data: shown.map(([name, from, to]) => [
      { name: (to - from) / end > 0.05 || name === 'measure' ? name : '', xAxis: Math.max(0, from), itemStyle: { color: look.faint, opacity: SHADED[name] } },
      { xAxis: Math.min(to, end) },
    ]),
  };
}

/** Faults: each with the instant at which all was ready again; and the end of the recovery after the load drop. */
function instantLines(look, trial) {
  const faults = (trial.faults || []).flatMap(([what, begun, ready]) => [
    { xAxis: begun, name: what, lineStyle: { color: look.bad, type: 'solid' } },
    ...(ready === null ? [] : [{ xAxis: ready, name: 'ready again', lineStyle: { color: look.soft, type: 'dashed' } }]),
  ]);
  const recovered = trial.recovered === null ? [] : [{ xAxis: trial.recovered, name: 'recovered', lineStyle: { color: look.soft, type: 'dashed' } }];
  return {
    silent: true, symbol: 'none', animation: false, data: [...faults, ...recovered],
    lineStyle: { width: 1.2 },
    label: { formatter: (line) => line.name, position: 'insideEndTop', color: look.soft, fontSize: 10 },
  };
}

/** Steps in ms as instants in seconds. */
function instants(steps) {
  let now = 0;
  return steps.map((step) => { now += step; return now / 1000; });
}

/** A trial as the page's data has it → its points, [from, to, succeeded, failed, p50, p99, in flight], and its lines, [name, [[time, value]]]. */
function unpackTrial(trial) {
  const axes = trial.axes.map(instants);
  const lines = (all) => all.map(([name, place, values]) => [name, values.map((value, index) => [axes[place][index], value])]);
  const { start, length, succeeded, failed, p50_us: p50, p99_us: p99, in_flight: inFlight } = trial.points;
  const points = instants(start).map((from, place) => [
    from, from + length[place] / 1000, succeeded[place], failed[place], p50[place], p99[place], inFlight[place],
  ]);
  const backlog = lines(trial.backlog).flatMap(([, values]) => values);
  return { ...trial, points, backlog, cpu: lines(trial.cpu), before: lines(trial.before), metrics: lines(trial.metrics) };
}

model.trials = model.trials.map(unpackTrial);

/** The trials with a chart each. */
function facetTrials() {
  const { trial, facet } = timeView;
  if (facet === 'trials') return model.trials.filter((one) => one.cell === trial.cell).slice(0, MOST_PANELS);
  return model.cells.flatMap((cell) => model.trials.filter((one) => one.cell === cell.cell).slice(0, 1)).slice(0, MOST_PANELS);
}

/** The levels that tell a cell apart: `telegraf · 10 ms · 8`. */
const levelsOf = (cell) => model.factors.flatMap((factor, place) => (factor.levels.length > 1 ? [levelOf(place, cell.levels[place])] : [])).join(' · ') || cell.label;

const trialTitle = (trial) => (timeView.facet === 'trials'
  ? `repetition ${trial.repetition}` : levelsOf(model.cells.find((cell) => cell.cell === trial.cell)));

/** The lines of a trial with the marks of its phases. */
function markedSeries(look, trial, series, isSmall) {
  const marked = series.map((one, place) => ({
    // A line of one point is none.
    type: 'line', showSymbol: one.data.length === 1, symbol: 'circle', symbolSize: 5, color: look.series[place % look.series.length], lineStyle: { width: isSmall ? 1.4 : 1.8 }, ...one,
  }));
  if (!marked.length) return marked;
  marked[0].markArea = phaseBands(look, trial, !isSmall);
  if (trial.faults || trial.recovered !== null) marked[0].markLine = instantLines(look, trial);
  return marked;
}

/** `seriesOf`: the lines of a trial. */
function timeOption(id, look, seriesOf, format, canBeLog) {
  const trials = timeView.facet === null ? [timeView.trial] : facetTrials();
  const all = trials.map((trial) => ({ trial, series: seriesOf(trial) }));
  const names = [...new Set(all.flatMap(({ series }) => series.map((one) => one.name)))];
  const values = all.flatMap(({ series }) => series.flatMap((one) => one.data.map((point) => point[1]))).filter((value) => value > 0);
  const isLog = canBeLog && values.length > 0 && Math.max(...values) / Math.min(...values) > LOG_FROM_RATIO;
  const isSmall = timeView.facet !== null;
  const scale = isLog ? { type: 'log', ...decades(values) } : { type: 'value', min: 0, ...(isSmall ? { max: niceTop(values) } : {}) };
  const end = Math.max(...trials.map(timeEnd));
  const xAxis = axis(look, { type: 'value', min: 0, max: Math.ceil(end * 10) / 10, axisLabel: { formatter: (value) => `${short(three(value))} s`, showMaxLabel: false }, splitLine: { show: false } });
  const yAxis = axis(look, { ...scale, axisLabel: { formatter: (value) => short(format(value)) }, splitNumber: isSmall ? 3 : 4 });
  const shared = {
    legend: legend(look, { show: names.length > 1, data: names }),
    tooltip: tooltip(look, { trigger: 'axis', axisPointer: { type: 'line', lineStyle: { color: look.faint } } }, (lines) => [
      [`${three(lines[0].data[0])} s`], ...lines.map((line) => [line.seriesName, line.data[1] === null ? '–' : format(line.data[1])]),
    ]),
  };
  if (isSmall) {
    const panels = all.map(({ trial, series }) => ({ title: trialTitle(trial), series: markedSeries(look, trial, series, true) }));
    return { ...facetOption(id, look, panels, { ...TIME_FACETS, xAxis, yAxis }), ...shared };
  }
  return { ...shared, grid: { left: 62, right: 16, top: 42, bottom: 24 }, xAxis, yAxis, series: markedSeries(look, timeView.trial, all[0].series, false) };
}

const middle = (point) => (point[0] + point[1]) / 2;

const rateSeries = ({ points }) => [
  { name: 'goodput', data: points.map((point) => [middle(point), point[2]]) },
  { name: 'failures', data: points.map((point) => [middle(point), point[3]]), lineStyle: { width: 1.8, type: 'dashed' } },
];

const latencySeries = ({ points }) => [
  { name: 'p50', data: points.map((point) => [middle(point), point[4] || null]) },
  { name: 'p99', data: points.map((point) => [middle(point), point[5] || null]) },
];

const cpuSeries = ({ cpu }) => cpu.map(([component, points]) => ({
  name: component, data: points.filter((point) => point[0] >= 0), lineStyle: { width: 1.8, type: component === 'waggle' ? 'dashed' : 'solid' },
}));

function backlogSeries({ before, backlog }) {
  const earlier = before.map(([name, points]) => ({ name: `backlog, ${name}`, data: points }));
  return [...earlier, { name: earlier.length ? `backlog, ${model.probe}` : 'backlog', data: backlog, areaStyle: { opacity: 0.15 } }];
}

/** The readings of a metric of the system in a trial; empty if it was never read. */
function readings(trial, name) {
  const found = trial.metrics.find((one) => one[0] === name);
  return found ? found[1] : [];
}

function drawTime() {
  const trials = timeView.facet === null ? [timeView.trial] : facetTrials();
  const show = (id, seriesOf, format, isThere, canBeLog) => {
    const element = byId(id);
    const hasAny = trials.some(isThere);
    element.closest('figure').hidden = !hasAny;
    if (!hasAny) {
      const entry = drawn.get(id);
      if (entry) { entry.chart.dispose(); drawn.delete(id); entry.buttons[0].parentElement.remove(); }
      return;
    }
    element.style.height = timeView.facet === null ? '' : `${facetsHeight(id, trials.length, TIME_FACETS)}px`;
    draw(id, (look) => timeOption(id, look, seriesOf, format, canBeLog));
    const entry = drawn.get(id);
    entry.chart.resize();
    entry.chart.group = 'time';
  };
  const hasPoints = (trial) => trial.points.length > 0;
  show('time-rate', rateSeries, NUMBER.rate, hasPoints, false);
  show('time-latency', latencySeries, timeOf, hasPoints, true);
  show('time-cpu', cpuSeries, plain, (trial) => trial.cpu.length > 0, false);
  show('time-backlog', backlogSeries, plain, (trial) => trial.backlog.length > 0 || trial.before.length > 0, false);
  model.system_metrics.forEach(([name, kind], place) => {
    show(`time-metric-${place}`, (trial) => [{ name, data: readings(trial, name) }], NUMBER[kind], (trial) => readings(trial, name).length > 0, false);
  });
}

/** Selectors of the cell, and of one of its trials. */
function timeChoice() {
  const box = byId('time-choice');
  const withTrials = model.cells.filter((cell) => model.trials.some((trial) => trial.cell === cell.cell));
  if (!withTrials.length) {
    document.querySelectorAll('#time-rate, #time-latency, #time-cpu, #time-backlog, [id^=time-metric-].plot').forEach((plot) => { plot.closest('figure').hidden = true; });
    return;
  }
  const choose = (cell, wanted) => {
    const trials = model.trials.filter((trial) => trial.cell === cell.cell);
    if (timeView.trial && (trials[wanted] || trials[0]).cell !== timeView.trial.cell) windows.delete('time');
    showTrial(trials[wanted] || trials[0]);
    const facets = [['none', null], ...(trials.length > 1 ? [['trials of the cell', 'trials']] : []), ...(withTrials.length > 1 ? [['a trial of each cell', 'cells']] : [])];
    const page = make('a', { href: `#${timeView.trial.page}` }, 'page of this trial');
    box.replaceChildren(
      chooser('cell', withTrials.map((one) => one.label), withTrials.indexOf(cell), (to) => choose(withTrials[to], 0)),
      chooser('trial', trials.map((trial) => `repetition ${trial.repetition}, position ${trial.position} (${trial.verdict})`), trials.indexOf(timeView.trial), (to) => choose(cell, to)),
      ...(facets.length > 1 ? [facetChooser(facets, timeView.facet, (to) => { timeView.facet = to; choose(cell, trials.indexOf(timeView.trial)); })] : []),
      page,
    );
  };
  choose(withTrials.find((cell) => cell.cell === model.best) || withTrials[0], 0);
  echarts.connect('time');
}

/** Whose lines the charts have. */
function shownTrials() {
  const { trial, facet } = timeView;
  const cell = model.cells.find((one) => one.cell === trial.cell);
  const which = { trials: `every trial of ${cell.label}`, cells: 'the first trial of each cell' }[facet];
  return which || `${cell.label}, repetition ${trial.repetition} (${trial.verdict})`;
}

/** Draws a trial, by itself or among others. */
function showTrial(trial) {
  timeView.trial = trial;
  const label = byId('time-rate-label');
  label.dataset.name = label.dataset.name || label.textContent;
  label.textContent = `${label.dataset.name}: ${shownTrials()}`;
  drawTime();
}
