'use strict';
/* What all charts share: making, redrawing for theme, width and paper, axes, tooltips. */

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif";
/** Drawing sizes on paper, in CSS pixels; scaled to what the sheet leaves, so that letters come out as in the tables. */
const PAPER = { wide: 800, half: 384, tall: 290, low: 190 };

/** id → { chart, build }. */
const drawn = new Map();

/** Draws into an element and keeps it drawn. `build` makes the whole option from the present colours. */
function draw(id, build) {
  const element = byId(id);
  if (!element) return;
  let entry = drawn.get(id);
  if (!entry) {
    entry = { id, chart: echarts.init(element, null, { renderer: 'svg' }), element };
    drawn.set(id, entry);
    new ResizeObserver(() => { if (!printing) entry.chart.resize(); }).observe(element);
    addTools(entry);
  }
  entry.build = build;
  redraw(entry);
}

/** The whole option of a chart in the present colours, with what is zoomed into. */
function optionOf(entry) {
  const look = colours();
  return { ...base(look), ...withWindow(entry, entry.build(look)) };
}

function redraw(entry) {
  entry.chart.setOption(optionOf(entry), { notMerge: true });
  showTools(entry);
}

function redrawAll() {
  drawn.forEach(redraw);
}

function base(look) {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: FONT, color: look.ink },
    color: look.series,
  };
}

/** A tooltip made of elements, so that no name or level is ever read as markup. */
function tooltip(look, extra, rows) {
  return {
    confine: true, appendTo: undefined, backgroundColor: look.card, borderColor: look.line, padding: [8, 12],
    textStyle: { color: look.ink, fontFamily: FONT, fontSize: 13 },
    ...extra,
    formatter: (parameters) => {
      const lines = rows(parameters);
      if (!lines) return '';
      const box = make('div', { className: 'tip' });
      lines.forEach(([key, value], place) => {
        if (value === undefined) box.append(make(place === 0 ? 'b' : 'div', {}, key), make('br'));
        else box.append(make('div', {}, make('span', { className: 'k' }, key), make('b', {}, value)));
      });
      return box;
    },
  };
}

function axis(look, extra) {
  return {
    axisLine: { lineStyle: { color: look.line } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: look.line, opacity: 0.7 } },
    nameTextStyle: { color: look.soft, fontSize: 12 },
    ...extra,
    axisLabel: { color: look.soft, fontSize: 12, hideOverlap: true, ...(extra && extra.axisLabel) },
  };
}

/** Names below the axis of a chart that would hide each other are cut off instead: every level keeps a name. */
function levelLabels(id, names, charts = 1) {
  const width = printing ? PAPER.half : byId(id).clientWidth || PAPER.half;
  const each = (width - 60) / charts / names.length;
  const longest = Math.max(...names.map((name) => name.length));
  return each >= 40 && 7 * longest > each ? { interval: 0, hideOverlap: false, width: each - 8, overflow: 'truncate' } : {};
}

/** Longer names of a legend would leave the chart. */
const legendLetters = () => (isNarrow() ? 40 : 64);

function legend(look, extra) {
  return {
    type: 'plain', top: 2, left: 0, width: '99%', padding: [4, 5], icon: 'roundRect', itemWidth: 14, itemHeight: 4,
    textStyle: { color: look.soft, fontSize: 12 }, pageTextStyle: { color: look.soft },
    pageIconColor: look.ink, pageIconInactiveColor: look.faint,
    formatter: (name) => (name.length > legendLetters() ? `${name.slice(0, legendLetters() - 1)}…` : name), ...extra,
  };
}

/** The top of a chart below its legend, whose names take as many rows as they need, and below the name of the axis. */
function belowLegend(id, names, hasName) {
  const width = printing ? PAPER.half : byId(id).clientWidth || PAPER.half;
  const wanted = names.reduce((sum, name) => sum + 34 + 6.2 * Math.min(name.length, legendLetters()), 0);
  return 26 + 16 * Math.ceil(wanted / (0.9 * width)) + (hasName ? 16 : 0);
}

/** A phone's width, where charts leave out what does not fit. */
const isNarrow = () => !printing && innerWidth < 560;

/** Powers of ten around positive values, so that a log axis has at least two ticks. */
function decades(values) {
  const positive = values.filter((value) => value > 0);
  if (!positive.length) return { min: 1, max: 10 };
  const min = 10 ** Math.floor(Math.log10(Math.min(...positive)));
  const max = 10 ** Math.ceil(Math.log10(Math.max(...positive)) + 1e-9);
  return { min, max: max > min ? max : min * 10 };
}

/** Lines with caps: the interval of each point, in data coordinates [x, low, high]. An end that is `null`, or that has no place on a
 * logarithmic axis, is open: its line goes to the edge of the chart and ends in an arrow. */
function whiskers(data, colour, name, sideways) {
  return {
    type: 'custom', name, color: colour, data, silent: true, clip: true, tooltip: { show: false }, z: 4, encode: sideways ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] },
    renderItem: (params, api) => {
      const at = (value) => api.coord(sideways ? [value, api.value(0)] : [api.value(0), value]);
      const edges = whiskerEdges(params.coordSys, sideways);
      const along = sideways ? 0 : 1;
      const end = (place) => {
        const point = at(api.value(place));
        const isOpen = !Number.isFinite(point[along]);
        if (isOpen) point[along] = edges[place - 1];
        return { point, isOpen, inward: (place === 1 ? 1 : -1) * (sideways ? 1 : -1) };
      };
      const [low, high] = [end(1), end(2)];
      const [cx, cy] = sideways ? [0, 4] : [4, 0];
      const style = { stroke: colour, lineWidth: 1.5, fill: null };
      const line = (a, b) => ({ type: 'line', shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style });
      const cap = ({ point: [x, y], isOpen, inward }) => {
        if (!isOpen) return [line([x - cx, y - cy], [x + cx, y + cy])];
        const back = sideways ? [5 * inward, 0] : [0, 5 * inward];
        return [-1, 1].map((side) => line([x, y], [x + back[0] + side * cx, y + back[1] + side * cy]));
      };
      return { type: 'group', children: [line(low.point, high.point), ...cap(low), ...cap(high)] };
    },
  };
}

/** Where lines to the lowest and to the highest value end. */
const whiskerEdges = ({ x, y, width, height }, sideways) => (sideways ? [x, x + width] : [y + height, y]);

/** On paper: light, fitted to the sheet; afterwards as before. */
function setPrinting(on) {
  if (printing === on) return;
  printing = on;
  drawn.forEach((entry) => {
    if (on) {
      const wide = entry.element.closest('.wide') !== null || entry.element.closest('.pair.single') !== null;
      const low = entry.element.id.startsWith('time-');
      const own = entry.element.style.height ? parseFloat(entry.element.style.height) : 0;
      const width = wide ? PAPER.wide : PAPER.half;
      const height = own || (low ? PAPER.low : PAPER.tall);
      entry.chart.resize({ width, height });
      redraw(entry);
      entry.element.querySelector('svg').setAttribute('viewBox', `0 0 ${width} ${height}`);
    } else {
      entry.element.querySelector('svg').removeAttribute('viewBox');
      entry.chart.resize({ width: 'auto', height: 'auto' });
      redraw(entry);
    }
  });
}
