'use strict';
/* Published figures beside the study's own: a row for each cell, what was published as a diamond, what was measured here as a disc
   with its interval, a line between the two. */

const besideView = { column: 0 };

/** Height of a row, and of what stands around them, in CSS pixels. */
const BESIDE = { row: 22, around: 92 };

function besideOption(look) {
  const { columns, rows, by } = model.published;
  const { kind, name } = columns[besideView.column];
  const format = NUMBER[kind];
  const of = (row) => row.values[besideView.column];
  const values = rows.flatMap(of).filter((value) => value !== null);
  const positive = values.filter((value) => value > 0);
  const wide = positive.length === values.length && Math.max(...positive) / Math.min(...positive) > LOG_FROM_RATIO;
  const [there, here] = [look.series[1], look.series[0]];
  const points = (place) => rows.map((row, at) => ({ row, at, value: of(row)[place] })).filter((point) => point.value !== null);
  const between = rows.map((row, at) => [at, of(row)[0], of(row)[1]]).filter((line) => line[1] !== null && line[2] !== null);
  const intervals = rows.map((row, at) => [at, of(row)[2], of(row)[3]]).filter((line) => line[1] !== null && (!wide || line[1] > 0));
  return {
    grid: { left: 8, right: 24, top: 60, bottom: 10, containLabel: true },
    toolbox: tools(look, 'published'),
    legend: legend(look, { data: ['published', 'here'], itemHeight: 10 }),
    tooltip: tooltip(look, { trigger: 'item' }, (point) => {
      const row = point.data && point.data.row;
      if (!row) return null;
      const [published, own, low, high] = of(row);
      return [[row.label], [`${name}, published`, published === null ? '–' : format(published)], ['here', own === null ? '–' : withInterval(low === null ? [own] : [own, low, high], kind)]];
    }),
    xAxis: axis(look, { type: wide ? 'log' : 'value', ...(wide ? decades(values) : { min: 0 }), axisLabel: { formatter: (value) => short(format(value)) } }),
    yAxis: axis(look, {
      type: 'category', inverse: true, name: by, nameLocation: 'start', data: rows.map((row) => row.level), splitLine: { show: false }, axisLabel: { interval: 0 },
    }),
    series: [
      {
        type: 'custom', data: between, silent: true, z: 1, tooltip: { show: false }, encode: { x: [1, 2], y: 0 },
        renderItem: (_, api) => {
          const [from, to] = [1, 2].map((place) => api.coord([api.value(place), api.value(0)]));
          return { type: 'line', shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, style: { stroke: look.line, lineWidth: 2 } };
        },
      },
      whiskers(intervals, here, 'interval', true),
      { type: 'scatter', name: 'published', color: there, symbol: 'diamond', symbolSize: 11, data: points(0).map(({ row, at, value }) => ({ value: [value, at], row })) },
      {
        type: 'scatter', name: 'here', color: here, symbol: 'circle', symbolSize: 10,
        data: points(1).map(({ row, at, value }) => ({
          value: [value, at], row, itemStyle: row.believed ? {} : { color: look.card, borderColor: here, borderWidth: 1.5 },
        })),
      },
    ],
  };
}

function publishedChoice() {
  const { columns, rows } = model.published;
  byId('beside').style.height = `${BESIDE.around + BESIDE.row * rows.length}px`;
  const choose = (place) => {
    besideView.column = place;
    byId('published-choice').replaceChildren(chooser('column', columns.map((column) => column.name), place, choose));
    draw('beside', besideOption);
  };
  choose(0);
}
