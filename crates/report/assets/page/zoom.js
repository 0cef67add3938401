'use strict';
/* Zoom: a part of a chart's axes is shown. A rectangle drawn with the mouse, the wheel with Ctrl, two fingers, or the buttons of the
   chart's toolbar, which has one stop for the keyboard. Charts over time share what they show. */

/** How much less a step shows; how far it moves, as a share of what is shown; and the least that is shown, of the whole. */
const ZOOM = { step: 2, wheel: 1.25, move: 0.25, least: 1 / 500, drag: 8, dragDown: 24 };

/** Group → { x: [from, to], y: [from, to] } in the values of the axes; an axis without an entry is shown whole. */
const windows = new Map();
const groupOf = (entry) => (entry.id.startsWith('time-') ? 'time' : entry.id);
const windowOf = (entry) => windows.get(groupOf(entry)) || {};
const asList = (axes) => (Array.isArray(axes) ? axes : [axes]);

/** Axes of categories on both sides, or of different things side by side, have nothing to zoom into. */
function isZoomable(option) {
  const [xs, ys] = [asList(option.xAxis), asList(option.yAxis)];
  if (xs.length > 1 && !option.facets) return false;
  return xs[0] !== undefined && !(xs[0].type === 'category' && ys[0].type === 'category');
}

/** An axis that shows a part; ticks outside of it are left out. A part of a logarithmic axis may have no power of ten: it has others then. */
function partOf(axisOption, [from, to]) {
  const labels = axisOption.axisLabel || {};
  const inside = (ticks) => ticks && ticks.filter((value) => value >= from && value <= to);
  const own = inside(labels.customValues);
  const isBare = axisOption.type === 'log' && from > 0 && !labels.keepTicks && !(own && own.length > 2);
  const within = isBare ? inside(ratioTicks([from, to]).ticks) : own;
  const isKept = within && (within.length > (isBare ? 0 : 1) || labels.keepTicks);
  const shown = axisOption.type === 'category' ? [Math.max(0, Math.ceil(from)), Math.floor(to)] : [from, to];
  return {
    ...axisOption, min: shown[0], max: shown[1], interval: undefined,
    axisLabel: { ...labels, showMinLabel: isKept ? null : false, showMaxLabel: isKept ? null : false, customValues: isKept ? within : undefined, ...(isKept && within.length === 0 ? { show: false } : {}) },
    ...(axisOption.axisTick && axisOption.axisTick.customValues ? { axisTick: { ...axisOption.axisTick, customValues: isKept ? within : undefined } } : {}),
  };
}

/** Over time the values have an axis that fits what is shown. */
function fitted(axisOption, series, [from, to]) {
  if (axisOption.type !== 'value') return axisOption;
  const shown = series.flatMap((one) => (one.data || []).filter((point) => Array.isArray(point) && point[0] >= from && point[0] <= to)).map((point) => point[1]);
  const most = Math.max(...shown.filter(Number.isFinite), 0);
  return most > 0 ? { ...axisOption, max: niceTop([most]) } : axisOption;
}

function withWindow(entry, option) {
  entry.zoomable = isZoomable(option);
  entry.facets = option.facets === true;
  const { x, y } = windowOf(entry);
  if (!entry.zoomable || printing || (!x && !y)) return option;
  const fit = (one) => (groupOf(entry) === 'time' ? fitted(one, option.series, x) : one);
  const each = (axes, change) => (Array.isArray(axes) ? axes.map(change) : change(axes));
  return {
    ...option,
    ...(x ? { xAxis: each(option.xAxis, (one) => partOf(one, x)) } : {}),
    ...(y ? { yAxis: each(option.yAxis, (one) => partOf(one, y)) } : x ? { yAxis: each(option.yAxis, fit) } : {}),
  };
}

/** What an axis shows now: values go along it evenly, or as their logarithms. */
function spanOf(entry, name) {
  const { axis: drawnAxis } = entry.chart.getModel().getComponent(`${name}Axis`, 0);
  const [first, last] = drawnAxis.scale.getExtent();
  const half = drawnAxis.type === 'category' ? 0.5 : 0;
  const [low, high] = windowOf(entry)[name] || [first - half, last + half];
  const isLog = drawnAxis.type === 'log' && low > 0;
  return { low, high, at: (share) => (isLog ? low * (high / low) ** share : low + share * (high - low)) };
}

/** The whole of an axis, noted when it is left for a part of it. */
function wholeOf(entry, name) {
  const wholes = entry.wholes || (entry.wholes = {});
  if (!windowOf(entry)[name]) wholes[name] = spanOf(entry, name);
  return wholes[name] || spanOf(entry, name);
}

/** Shows from one share of what is shown to another, within the whole. */
function zoomTo(entry, shares) {
  const next = { ...windowOf(entry) };
  Object.entries(shares).forEach(([name, [from, to]]) => {
    const whole = wholeOf(entry, name);
    const span = spanOf(entry, name);
    let [low, high] = [span.at(Math.min(from, to)), span.at(Math.max(from, to))];
    // Moved beyond an end, what is shown stays as wide as it is.
    if (low < whole.low) [low, high] = [whole.low, Math.min(whole.high, to - from > 1 ? high : span.at(to - from))];
    if (high > whole.high) [low, high] = [Math.max(whole.low, to - from > 1 ? low : span.at(1 - (to - from))), whole.high];
    const isWhole = low <= whole.low && high >= whole.high;
    if (!(high - low > (whole.high - whole.low) * ZOOM.least)) return;
    if (isWhole) delete next[name]; else next[name] = [low, high];
  });
  windows.set(groupOf(entry), next);
  redrawGroup(entry);
}

function showWhole(entry) {
  windows.delete(groupOf(entry));
  redrawGroup(entry);
}

let waiting = null;

/** Once a frame, however quickly fingers move. */
function redrawGroup(entry) {
  const group = groupOf(entry);
  const draws = waiting === null;
  waiting = (waiting || new Set()).add(group);
  if (!draws) return;
  requestAnimationFrame(() => {
    const groups = waiting;
    waiting = null;
    drawn.forEach((other) => { if (groups.has(groupOf(other))) redraw(other); });
  });
}

/** A step of the toolbar or of the keyboard. */
const ZOOM_STEPS = {
  in: (entry) => zoomTo(entry, { x: [0.5 - 0.5 / ZOOM.step, 0.5 + 0.5 / ZOOM.step] }),
  out: (entry) => zoomTo(entry, { x: [0.5 - 0.5 * ZOOM.step, 0.5 + 0.5 * ZOOM.step] }),
  left: (entry) => zoomTo(entry, { x: [-ZOOM.move, 1 - ZOOM.move] }),
  right: (entry) => zoomTo(entry, { x: [ZOOM.move, 1 + ZOOM.move] }),
  whole: showWhole,
};
const ZOOM_KEYS = { '+': 'in', '=': 'in', '-': 'out', 0: 'whole' };

/** Where a pointer is: shares of the plot, from its left and from its bottom. */
function placeIn(entry, event) {
  const box = entry.element.getBoundingClientRect();
  const rect = entry.chart.getModel().getComponent('grid', 0).coordinateSystem.getRect();
  const [x, y] = [(event.clientX - box.left - rect.x) / rect.width, 1 - (event.clientY - box.top - rect.y) / rect.height];
  return { x, y, isInside: x >= 0 && x <= 1 && y >= 0 && y <= 1, left: event.clientX - box.left, top: event.clientY - box.top };
}

const clamp = (share) => Math.max(0, Math.min(1, share));

/** The mouse draws a rectangle; over time only its width counts. */
function listenToMouse(entry) {
  const { element } = entry;
  let [from, band] = [null, null];
  const end = () => { if (band) band.remove(); [from, band] = [null, null]; };
  element.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'mouse' || event.button !== 0 || !canZoomByPointer(entry)) return;
    const place = placeIn(entry, event);
    if (place.isInside) from = place;
  });
  element.addEventListener('pointermove', (event) => {
    if (!from) return;
    const place = placeIn(entry, event);
    const [width, height] = [Math.abs(place.left - from.left), Math.abs(place.top - from.top)];
    if (!band && width < ZOOM.drag && height < ZOOM.dragDown) return;
    if (!band) {
      element.setPointerCapture(event.pointerId);
      band = make('div', { className: 'zoom-band' });
      element.append(band);
    }
    const isTall = takesHeight(entry, width, height);
    const rect = entry.chart.getModel().getComponent('grid', 0).coordinateSystem.getRect();
    Object.assign(band.style, {
      left: `${Math.min(place.left, from.left)}px`, width: `${width}px`,
      top: `${isTall ? Math.min(place.top, from.top) : rect.y}px`, height: `${isTall ? height : rect.height}px`,
    });
  });
  element.addEventListener('pointerup', (event) => {
    if (!band) { end(); return; }
    const place = placeIn(entry, event);
    const [width, height] = [Math.abs(place.left - from.left), Math.abs(place.top - from.top)];
    const shares = {};
    if (width >= ZOOM.drag) shares.x = [clamp(Math.min(from.x, place.x)), clamp(Math.max(from.x, place.x))];
    if (takesHeight(entry, width, height)) shares.y = [clamp(Math.min(from.y, place.y)), clamp(Math.max(from.y, place.y))];
    end();
    zoomTo(entry, shares);
  });
  element.addEventListener('pointercancel', end);
  element.addEventListener('dblclick', () => { if (canZoomByPointer(entry)) showWhole(entry); });
  element.addEventListener('wheel', (event) => {
    if (!(event.ctrlKey || event.metaKey) || !canZoomByPointer(entry)) return;
    const place = placeIn(entry, event);
    if (!place.isInside) return;
    event.preventDefault();
    const scale = event.deltaY < 0 ? 1 / ZOOM.wheel : ZOOM.wheel;
    zoomTo(entry, { x: [place.x - place.x * scale, place.x + (1 - place.x) * scale] });
  }, { passive: false });
}

/** A grid of its own: in facets the buttons zoom into all of them. */
const canZoomByPointer = (entry) => entry.zoomable && !entry.facets;
const takesHeight = (entry, width, height) => groupOf(entry) !== 'time' && height >= ZOOM.dragDown
  && entry.chart.getModel().getComponent('yAxis', 0).axis.type !== 'category';

/** Two fingers zoom; one moves what is zoomed, and scrolls the page otherwise. */
function listenToTouch(entry) {
  const { element } = entry;
  const fingers = new Map();
  const drop = (event) => fingers.delete(event.pointerId);
  element.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' && canZoomByPointer(entry)) fingers.set(event.pointerId, placeIn(entry, event).x);
  });
  element.addEventListener('pointermove', (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()];
    const other = [...fingers.keys()].find((id) => id !== event.pointerId);
    const now = placeIn(entry, event).x;
    if (fingers.size === 1 && windowOf(entry).x) {
      const moved = before[0] - now;
      zoomTo(entry, { x: [moved, 1 + moved] });
    } else if (fingers.size === 2) {
      const still = fingers.get(other);
      const was = fingers.get(event.pointerId) - still;
      if (Math.abs(now - still) < 0.02 || Math.abs(was) < 0.02) return;
      // What was below both fingers stays below them.
      const scale = Math.abs(was / (now - still));
      zoomTo(entry, { x: [still - still * scale, still + (1 - still) * scale] });
    }
    fingers.set(event.pointerId, now);
  });
  ['pointerup', 'pointercancel', 'pointerleave'].forEach((name) => element.addEventListener(name, drop));
}
