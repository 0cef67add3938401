'use strict';
/* Time series of one trial: goodput, response time, CPU, backlog, metrics of the system, on one time axis with the phases shaded. */

const timeView = { trial: null };

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

function timeOption(look, series, format, name, extra) {
  const trial = timeView.trial;
  series[0].markArea = phaseBands(look, trial, true);
  if (trial.faults || trial.recovered !== null) series[0].markLine = instantLines(look, trial);
  return {
    grid: { left: 62, right: 16, top: 42, bottom: 24 },
    toolbox: tools(look, name),
    legend: legend(look, { show: series.length > 1 }),
    tooltip: tooltip(look, { trigger: 'axis', axisPointer: { type: 'line', lineStyle: { color: look.faint } } }, (lines) => [
      [`${three(lines[0].data[0])} s`], ...lines.map((line) => [line.seriesName, line.data[1] === null ? '–' : format(line.data[1])]),
    ]),
    xAxis: axis(look, { type: 'value', min: 0, max: Math.ceil(timeEnd(trial) * 10) / 10, axisLabel: { formatter: (value) => `${short(three(value))} s`, showMaxLabel: false }, splitLine: { show: false } }),
    yAxis: axis(look, { type: 'value', min: 0, axisLabel: { formatter: (value) => short(format(value)) }, splitNumber: 4, ...extra }),
    series: series.map((one, place) => ({ type: 'line', showSymbol: false, symbolSize: 5, color: look.series[place % look.series.length], lineStyle: { width: 1.8 }, ...one })),
  };
}

const middle = (point) => (point[0] + point[1]) / 2;

function rateOption(look) {
  const { points } = timeView.trial;
  return timeOption(look, [
    { name: 'goodput', data: points.map((point) => [middle(point), point[2]]) },
    { name: 'failures', data: points.map((point) => [middle(point), point[3]]), lineStyle: { width: 1.8, type: 'dashed' } },
  ], NUMBER.rate, 'rate');
}

function latencyOption(look) {
  const { points } = timeView.trial;
  const values = points.flatMap((point) => [point[4], point[5]]).filter((value) => value !== null && value > 0);
  return timeOption(look, [
    { name: 'p50', data: points.map((point) => [middle(point), point[4] || null]) },
    { name: 'p99', data: points.map((point) => [middle(point), point[5] || null]) },
  ], timeOf, 'response-time', Math.max(...values) / Math.min(...values) > LOG_FROM_RATIO ? { type: 'log', min: undefined, ...decades(values) } : {});
}

function cpuOption(look) {
  return timeOption(look, timeView.trial.cpu.map(([component, points]) => ({
    name: component, data: points.filter((point) => point[0] >= 0),
    lineStyle: { width: 1.8, type: component === 'waggle' ? 'dashed' : 'solid' },
  })), plain, 'cpu');
}

function backlogOption(look) {
  const { trial } = timeView;
  const before = trial.before.map(([name, points]) => ({ name: `backlog, ${name}`, data: points }));
  const last = { name: before.length ? `backlog, ${model.probe}` : 'backlog', data: trial.backlog, areaStyle: { opacity: 0.15 } };
  return timeOption(look, [...before, last], plain, 'backlog');
}

/** The readings of a metric of the system in the trial shown; empty if it was never read. */
function readings(name) {
  const found = timeView.trial.metrics.find((one) => one[0] === name);
  return found ? found[1] : [];
}

function metricOption(name, kind) {
  return (look) => timeOption(look, [{ name, data: readings(name) }], NUMBER[kind], name);
}

function drawTime() {
  const { trial } = timeView;
  const show = (id, option, there) => {
    const figure = byId(id).closest('figure');
    figure.hidden = !there;
    if (!there) {
      const entry = drawn.get(id);
      if (entry) { entry.chart.dispose(); drawn.delete(id); }
      return;
    }
    draw(id, option);
    const { chart } = drawn.get(id);
    chart.group = 'time';
  };
  show('time-rate', rateOption, trial.points.length > 0);
  show('time-latency', latencyOption, trial.points.length > 0);
  show('time-cpu', cpuOption, trial.cpu.length > 0);
  show('time-backlog', backlogOption, trial.backlog.length > 0 || trial.before.length > 0);
  model.system_metrics.forEach(([name, kind], place) => {
    show(`time-metric-${place}`, metricOption(name, kind), readings(name).length > 0);
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
  const rateName = byId('time-rate-label').textContent;
  const choose = (cell, wanted) => {
    const trials = model.trials.filter((trial) => trial.cell === cell.cell);
    timeView.trial = trials[wanted] || trials[0];
    box.replaceChildren(
      chooser('cell', withTrials.map((one) => one.label), withTrials.indexOf(cell), (to) => choose(withTrials[to], 0)),
      chooser('trial', trials.map((trial) => `repetition ${trial.repetition}, position ${trial.position} (${trial.verdict})`), trials.indexOf(timeView.trial), (to) => choose(cell, to)),
    );
    byId('time-rate-label').textContent = `${rateName}: ${cell.label}, repetition ${timeView.trial.repetition} (${timeView.trial.verdict})`;
    drawTime();
  };
  choose(withTrials.find((cell) => cell.cell === model.best) || withTrials[0], 0);
  echarts.connect('time');
}
