'use strict';
/* Reference results and this study: a row for each cell, the reference as a diamond, this study as a disc with its interval, a line
   between the two. */

const referenceView = { column: 0 };

/** Height of a row, and of all around the rows, in CSS pixels. */
const REFERENCE = { row: 22, around: 92 };

function referenceOption(look) {
  const { columns, rows, match_on: matchOn } = model.reference;
  const { kind, name } = columns[referenceView.column];
  const format = NUMBER[kind];
  const of = (row) => row.values[referenceView.column];
  const values = rows.flatMap(of).filter((value) => value !== null);
  const positive = values.filter((value) => value > 0);
  const wide = positive.length === values.length && Math.max(...positive) / Math.min(...positive) > LOG_FROM_RATIO;
  const [theirs, ours] = [look.series[1], look.series[0]];
  const points = (place) => rows.map((row, at) => ({ row, at, value: of(row)[place] })).filter((point) => point.value !== null);
  const between = rows.map((row, at) => [at, of(row)[0], of(row)[1]]).filter((line) => line[1] !== null && line[2] !== null);
  const intervals = rows.map((row, at) => [at, of(row)[2], of(row)[3]]).filter((line) => line[1] !== null && (!wide || line[1] > 0));
  return {
    grid: { left: 24, right: 24, top: 60, bottom: 10, containLabel: true },
    legend: legend(look, { data: ['reference', 'this study'], itemHeight: 10 }),
    tooltip: tooltip(look, { trigger: 'item' }, (point) => {
      const row = point.data && point.data.row;
      if (!row) return null;
      const [reference, own, low, high] = of(row);
      return [[row.label], [`${name}, reference`, reference === null ? '–' : format(reference)], ['this study', own === null ? '–' : withInterval(low === null ? [own] : [own, low, high], kind)]];
    }),
    xAxis: axis(look, { type: wide ? 'log' : 'value', ...(wide ? decades(values) : { min: 0 }), axisLabel: { formatter: (value) => short(format(value)) } }),
    yAxis: axis(look, {
      type: 'category', inverse: true, name: matchOn, nameLocation: 'start', data: rows.map((row) => row.level), splitLine: { show: false }, axisLabel: { interval: 0 },
    }),
    series: [
      {
        type: 'custom', data: between, silent: true, clip: true, z: 1, tooltip: { show: false }, encode: { x: [1, 2], y: 0 },
        renderItem: (_, api) => {
          const [from, to] = [1, 2].map((place) => api.coord([api.value(place), api.value(0)]));
          return { type: 'line', shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, style: { stroke: look.line, lineWidth: 2 } };
        },
      },
      whiskers(intervals, ours, 'interval', true),
      { type: 'scatter', name: 'reference', color: theirs, symbol: 'diamond', symbolSize: 11, data: points(0).map(({ row, at, value }) => ({ value: [value, at], row })) },
      {
        type: 'scatter', name: 'this study', color: ours, symbol: 'circle', symbolSize: 10,
        data: points(1).map(({ row, at, value }) => ({
          value: [value, at], row, itemStyle: row.believed ? {} : { color: look.card, borderColor: ours, borderWidth: 1.5 },
        })),
      },
    ],
  };
}

function referenceChoice() {
  const { columns, rows } = model.reference;
  byId('reference-chart').style.height = `${REFERENCE.around + REFERENCE.row * rows.length}px`;
  const choose = (place) => {
    referenceView.column = place;
    byId('reference-choice').replaceChildren(chooser('column', columns.map((column) => column.name), place, choose));
    draw('reference-chart', referenceOption);
  };
  choose(0);
}
