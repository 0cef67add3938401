'use strict';
/* The cells at a share of their capacities: a row for each cell, a panel for each metric, side by side on one list of names; a picture
   that is understood without its page. */

/** Pixels of a row, and of what is around the rows of a panel. */
const POINT = { row: 21, top: 34, title: 24, bottom: 34, gap: 18, value: 64, charWidth: 7.4, namesMost: 210 };

/** Panels next to each other. */
function pointColumns(point, id) {
  if (printing) return Math.min(4, point.panels.length);
  const width = byId(id).clientWidth || PAPER.wide;
  const most = width >= 900 ? 4 : width >= 560 ? 2 : 1;
  return Math.min(most, point.panels.length);
}

const pointPanelHeight = (point) => POINT.title + POINT.row * point.rows.length + POINT.bottom;

function pointHeight(point, id) {
  return POINT.top + pointPanelHeight(point) * Math.ceil(point.panels.length / pointColumns(point, id));
}

/** Pixels that the names take. */
function pointNames(point) {
  return Math.min(isNarrow() ? 120 : POINT.namesMost, 18 + POINT.charWidth * Math.max(...point.rows.map((row) => row.label.length)));
}

function tellPoint(point, panel, row) {
  const { name, kind } = point.panels[panel];
  return [[row.label], [name, withInterval(row.values[panel], kind)], ['Verdict', row.shown]];
}

/** The values of one panel, and whether they go on a log axis. */
function pointValues(point, panel) {
  const values = point.rows.flatMap((row) => row.values[panel] || []);
  return { values, log: isLogScale(values, 0) };
}

/** Powers of four around the values, which are whole multiples of a unit in bytes: `16 MiB`. */
function powersOfFour(values) {
  const [low, high] = [Math.floor(Math.log(Math.min(...values)) / Math.log(4)), Math.ceil(Math.log(Math.max(...values)) / Math.log(4))];
  return Array.from({ length: high - low + 1 }, (_, place) => 4 ** (low + place));
}

function pointAxis(look, point, panel) {
  const { values, log } = pointValues(point, panel);
  const { kind } = point.panels[panel];
  const ticks = log && kind === 'bytes' ? powersOfFour(values) : null;
  const ends = ticks ? { min: ticks[0], max: ticks[ticks.length - 1] } : log ? decades(values) : { min: 0, splitNumber: 2 };
  return axis(look, {
    gridIndex: panel, type: log ? 'log' : 'value', ...ends, splitLine: { show: !ticks, lineStyle: { color: look.line, opacity: 0.7 } },
    axisLabel: { formatter: (value) => short(NUMBER[kind](value)), fontSize: 11, ...(ticks ? { customValues: ticks } : {}) },
  });
}

function pointSeries(point, panel, look) {
  const colour = look.series[panel % look.series.length];
  const axes = { xAxisIndex: panel, yAxisIndex: 2 * panel };
  const rows = point.rows.map((row, at) => ({ row, at, value: row.values[panel] })).filter(({ value }) => value);
  const ends = rows.filter(({ value }) => value.length === 3).map(({ at, value }) => [at, value[1], value[2]]);
  return [
    { ...whiskers(ends, colour, point.panels[panel].name, true), ...axes },
    {
      type: 'scatter', name: point.panels[panel].name, color: colour, symbolSize: 9, z: 5, ...axes,
      data: rows.map(({ row, at, value }) => ({
        value: [value[0], at], row, panel,
        itemStyle: row.believed ? {} : { color: look.card, borderColor: colour, borderWidth: 2 },
      })),
    },
  ];
}

function operatingOption(point, id) {
  return (look) => {
    const columns = pointColumns(point, id);
    const width = printing ? PAPER.wide : byId(id).clientWidth || PAPER.wide;
    const names = pointNames(point);
    const each = (width - names) / columns;
    const option = { grid: [], xAxis: [], yAxis: [], series: [] };
    const title = (text, left, top, size, ink, most) => ({
      text, left, top, padding: 0, textStyle: { fontSize: size, fontWeight: 600, color: ink, fontFamily: FONT, width: most, overflow: 'truncate' },
    });
    option.title = [title(point.title, 0, 4, 14, look.ink, width - 30)];
    point.panels.forEach(({ name, kind }, panel) => {
      const [across, down] = [panel % columns, Math.floor(panel / columns)];
      const left = names + across * each;
      const top = POINT.top + down * pointPanelHeight(point);
      const text = (row) => (row.values[panel] ? NUMBER[kind](row.values[panel][0]) : '–');
      const list = (extra) => axis(look, {
        type: 'category', inverse: true, gridIndex: panel, data: point.rows.map((row) => row.label), axisLine: { show: false }, ...extra,
      });
      option.title.push(title(pointValues(point, panel).log ? `${name} (log scale)` : name, left, top, 12, look.soft, each - POINT.gap));
      option.grid.push({ left, top: top + POINT.title, width: each - POINT.value - POINT.gap, height: POINT.row * point.rows.length });
      option.xAxis.push(pointAxis(look, point, panel));
      option.yAxis.push(
        list({
          splitLine: { show: true, lineStyle: { color: look.line, opacity: 0.5 } },
          axisLabel: { show: across === 0, interval: 0, hideOverlap: false, color: look.ink, width: names - 12, overflow: 'truncate' },
        }),
        list({
          position: 'right', splitLine: { show: false },
          axisLabel: { interval: 0, hideOverlap: false, color: look.ink, formatter: (_, at) => text(point.rows[at]) },
        }),
      );
      option.series.push(...pointSeries(point, panel, look));
    });
    return {
      ...option,
      tooltip: tooltip(look, { trigger: 'item' }, (one) => (one.data && one.data.row ? tellPoint(point, one.data.panel, one.data.row) : null)),
    };
  };
}

function drawOperatingPoint(place) {
  const id = `operating-point-${place}`;
  const box = byId(id);
  const point = model.operating_points[place];
  if (!point.rows.length) {
    box.closest('figure').hidden = true;
    return;
  }
  box.style.height = `${pointHeight(point, id)}px`;
  draw(id, operatingOption(point, id));
}
