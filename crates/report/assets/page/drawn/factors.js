'use strict';
/* A metric over the factors: as a heat map, and as lines with intervals. One factor, or cells that form no grid,
   become bars; a third factor and more are held at a selected level. */

/** Values this far apart get a log scale. */
const LOG_FROM_RATIO = 30;
/** The metrics of the heat map, with the place of their values in each cell. */
const METRICS = model.metrics.map((metric, place) => ({ ...metric, place }));

/** The present view: the metric, the factors on the x axis (across) and the y axis (along), and the level of every other. */
const view = {
  metric: METRICS[0],
  across: 0,
  along: model.factors.length > 1 ? 1 : null,
  held: model.factors.map(() => 0),
  /** The factor whose levels have a chart each in place of the lines. */
  facet: null,
};

/** Most columns of the heat map whose numbers can be read. */
const MOST_COLUMNS = 20;

/** With many levels: the y axis has the factor of most levels, of those that are no numbers if there is one; the x axis the next. */
if (model.multiples) {
  const isWords = (factor) => factor.levels.length > 2 && factor.levels.some((level) => Number.isNaN(parseFloat(level)));
  const weight = (place) => model.factors[place].levels.length + (isWords(model.factors[place]) ? 1e6 : 0);
  const places = model.factors.map((_, place) => place).sort((a, b) => weight(b) - weight(a));
  view.along = places[0];
  view.across = places.slice(1).sort((a, b) => model.factors[b].levels.length - model.factors[a].levels.length)[0];
}

const levelOf = (factor, place) => model.factors[factor].levels[place];
const isHeld = (factor) => factor !== view.across && factor !== view.along;

/** The cells that agree with the held level of every factor that is not shown. */
function cellsAt(shown) {
  return model.cells.filter((cell) => model.factors.every((_, factor) => shown.includes(factor) || cell.levels[factor] === view.held[factor]));
}

/** The levels of the factors that are not shown, as words. */
function heldText(shown) {
  const held = model.factors.flatMap((factor, place) => (shown.includes(place) || factor.levels.length < 2 ? [] : [` at ${factor.name} ${levelOf(place, view.held[place])}`]));
  return held.join(',');
}

/** The factors along the x axis of the heat map: with many levels all that the y axis does not have, if their combinations fit. */
function mapFactors() {
  const others = model.factors.map((_, place) => place).filter((place) => place !== view.along && model.factors[place].levels.length > 1);
  const columns = others.reduce((count, place) => count * model.factors[place].levels.length, 1);
  if (!model.multiples || isNarrow() || columns > MOST_COLUMNS) return [view.across];
  return [view.across, ...others.filter((place) => place !== view.across)];
}

/** Each combination of levels of some factors, the last one changing first. */
function combinations(factors) {
  return factors.reduce((all, factor) => all.flatMap((one) => model.factors[factor].levels.map((_, level) => [...one, level])), [[]]);
}

const isGrid = () => model.map;

/** The value of the present metric in a cell. */
const numberOf = (cell) => cell.numbers[view.metric.place];

function valueOf(cell) {
  const estimate = numberOf(cell);
  return estimate ? estimate[0] : null;
}

function tellCell(cell) {
  const rows = [[cell.label], [view.metric.name, withInterval(numberOf(cell), view.metric.kind)]];
  if (view.metric.id !== 'goodput_per_s' && cell.goodput) rows.push(['Goodput', withInterval(cell.goodput, 'rate')]);
  rows.push(['Verdict', cell.shown]);
  if (cell.thin[view.metric.place]) rows.push(['Note', cell.thin[view.metric.place]]);
  return rows;
}

/** The place of a value between the lowest and the highest, 0 to 1. */
function scaleOf(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (!(high > low)) return () => (high > 0 ? 0.35 : 0);
  if (low > 0 && high / low > LOG_FROM_RATIO) return (value) => Math.log(value / low) / Math.log(high / low);
  return (value) => (value - low) / (high - low);
}

/** Light to strong in one hue: blue where more is better, brown where more is worse, grey where it is neither. */
function heatColour(position) {
  const ends = (isDark()
    ? { more: [[29, 48, 65], [138, 205, 255]], less: [[56, 41, 28], [255, 180, 110]], neither: [[44, 47, 50], [205, 210, 214]] }
    : { more: [[232, 241, 248], [10, 76, 133]], less: [[253, 241, 226], [140, 62, 4]], neither: [[240, 241, 242], [70, 78, 86]] })[view.metric.wish];
  return blend(ends[0], ends[1], position);
}

/** Slanted lines over a square, clipped to it by arithmetic. */
function hatch(x, y, width, height, colour) {
  const lines = [];
  for (let offset = 7; offset < width + height; offset += 8) {
    const x1 = Math.min(offset, width);
    const y1 = Math.max(0, offset - width);
    const x2 = Math.max(0, offset - height);
    const y2 = Math.min(offset, height);
    lines.push({
      type: 'line', silent: true,
      shape: { x1: x + x1, y1: y + y1, x2: x + x2, y2: y + y2 },
      style: { stroke: colour, lineWidth: 1, opacity: 0.33 },
    });
  }
  return lines;
}

function square(cell, position, [x, y], [width, height]) {
  const box = { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2 };
  const fill = heatColour(position);
  const ink = inkOn(fill);
  const text = (words, down, size, weight) => ({
    type: 'text', silent: true,
    style: { text: words, x, y: y + down, fill: ink, font: `${weight} ${size}px ${FONT}`, align: 'center', verticalAlign: 'middle', width: width - 4, overflow: 'truncate' },
  });
  const children = [{ type: 'rect', shape: { ...box, r: 3 }, style: { fill: css(fill) } }];
  if (!cell.believed) children.push(...hatch(box.x, box.y, box.width, box.height, ink));
  if (width >= 30) {
    const marked = !cell.believed && height >= 40 && width >= 64;
    const value = valueOf(cell);
    const shown = value === null ? '–' : NUMBER[view.metric.kind](value);
    // The label of the chart has the unit.
    children.push(text(width < 64 ? shown.replace('/s', '') : shown, marked ? -8 : 0, width < 64 ? 11 : 13, 600));
    if (marked) children.push(text(cell.verdict, 10, 10.5, 400));
  }
  return { type: 'group', children };
}

function heatMap(look) {
  const across = mapFactors();
  const cells = cellsAt([...across, view.along]);
  const place = scaleOf(cells.map(valueOf).filter((value) => value !== null));
  const along = view.along;
  const columns = combinations(across);
  const columnOf = (cell) => columns.findIndex((levels) => levels.every((level, at) => cell.levels[across[at]] === level));
  const data = cells.map((cell, index) => [columnOf(cell), along === null ? 0 : cell.levels[along], index]);
  const names = columns.map((levels) => levels.map((level, at) => levelOf(across[at], level)).join('\n'));
  const nameGap = 26 + 15 * (across.length - 1);
  const alongMax = isNarrow() ? 74 : 160;
  const alongWidth = along === null ? 0 : Math.min(alongMax, 7 * Math.max(...model.factors[along].levels.map((level) => level.length)));
  return {
    grid: { left: along === null || model.multiples ? 8 : 26, right: 8, top: 32, ...(along === null ? { height: 110 } : { bottom: nameGap }), containLabel: true },
    tooltip: tooltip(look, { trigger: 'item' }, (one) => tellCell(cells[one.data[2]])),
    xAxis: axis(look, {
      type: 'category', data: names, name: across.map((factor) => model.factors[factor].name).join(', below it '),
      nameLocation: 'middle', nameGap, splitLine: { show: false }, axisLine: { show: false },
      axisLabel: model.multiples ? { interval: 0, hideOverlap: false, lineHeight: 15 } : levelLabels('heat', names),
    }),
    yAxis: axis(look, {
      type: 'category', data: along === null ? [''] : model.factors[along].levels, name: along === null || model.multiples ? '' : model.factors[along].name,
      inverse: model.multiples, axisLabel: { ...(model.multiples ? { interval: 0, hideOverlap: false } : {}), width: alongMax, overflow: 'truncate' },
      nameLocation: 'middle', nameGap: Math.max(30, alongWidth + 14), splitLine: { show: false }, axisLine: { show: false },
    }),
    series: [{
      type: 'custom', data, encode: { x: 0, y: 1 },
      renderItem: (_, api) => {
        const cell = cells[api.value(2)];
        const value = valueOf(cell);
        return square(cell, value === null ? 0 : place(value), api.coord([api.value(0), api.value(1)]), api.size([1, 1]));
      },
    }],
  };
}

/** The value axis of lines and bars: from nothing, or logarithmic where values lie far apart. */
function valueAxis(look, cells, vertical) {
  const values = cells.flatMap((cell) => numberOf(cell) || []);
  const positive = values.filter((value) => value > 0);
  const log = view.metric.kind !== 'share' && positive.length === values.length && Math.max(...positive) / Math.min(...positive) > LOG_FROM_RATIO;
  const name = view.metric.label + (log ? ' (log scale)' : '');
  return axis(look, {
    type: log ? 'log' : 'value', ...(log ? decades(values) : { min: Math.min(0, ...values) }), name,
    ...(vertical ? { nameLocation: 'end', nameTextStyle: { align: 'left', color: look.soft, fontSize: 12 } } : { nameLocation: 'middle', nameGap: 28 }),
    axisLabel: { formatter: (value) => short(NUMBER[view.metric.kind](value)) },
  });
}

function pointOf(cell, x) {
  const believed = cell.believed;
  return { value: [x, valueOf(cell)], cell, symbol: believed ? 'circle' : 'emptyDiamond', symbolSize: believed ? 7 : 10 };
}

/** A line over the levels of the x axis, with its intervals; smaller in facets. */
function levelSeries(cells, name, colour, isSmall, type = 'solid') {
  const own = [...cells].sort((a, b) => a.levels[view.across] - b.levels[view.across]);
  const ends = own.filter((cell) => numberOf(cell).length === 3).map((cell) => [cell.levels[view.across], ...numberOf(cell).slice(1)]);
  const point = (cell) => ({ ...pointOf(cell, cell.levels[view.across]), ...(isSmall ? { symbolSize: cell.believed ? 5 : 7 } : {}) });
  return [
    { type: 'line', name, color: colour, data: own.map(point), lineStyle: { width: isSmall ? 1.6 : 2, type } },
    whiskers(ends, colour, name, false),
  ];
}

/** The levels that have a line each, and the series of some cells. */
const lineGroups = () => (view.along === null || view.along === view.facet ? [null] : model.factors[view.along].levels.map((_, place) => place));
const lineName = (group) => (group === null ? view.metric.name : `${model.factors[view.along].name} ${levelOf(view.along, group)}`);

function seriesOfLines(cells, look, isSmall) {
  return lineGroups().flatMap((group, place) => {
    const own = cells.filter((cell) => (group === null || cell.levels[view.along] === group) && valueOf(cell) !== null);
    return levelSeries(own, lineName(group), look.series[place % look.series.length], isSmall, place < 8 ? 'solid' : 'dashed');
  });
}

/** Below the legend. */
const LINE_FACETS = { least: 190, top: 40 };

function factorLines(look) {
  const groups = lineGroups();
  const cells = cellsAt([view.across, view.along, view.facet]);
  const xAxis = axis(look, {
    type: 'category', data: model.factors[view.across].levels, name: model.factors[view.across].name, nameLocation: 'middle', nameGap: 26, splitLine: { show: false },
    axisLabel: levelLabels('lines', model.factors[view.across].levels, view.facet === null ? 1 : facetColumns('lines', model.factors[view.facet].levels.length, LINE_FACETS.least)),
  });
  const shared = {
    legend: legend(look, { show: groups.length > 1, type: groups.length > 8 && !printing ? 'scroll' : 'plain', data: groups.map(lineName) }),
    tooltip: tooltip(look, { trigger: 'item' }, (one) => (one.data.cell ? tellCell(one.data.cell) : null)),
  };
  if (view.facet !== null) {
    const factor = model.factors[view.facet];
    const panels = factor.levels.map((level, place) => ({
      title: `${factor.name} ${level}`, series: seriesOfLines(cells.filter((cell) => cell.levels[view.facet] === place), look, true),
    }));
    return { ...facetOption('lines', look, panels, { ...LINE_FACETS, xAxis: { ...xAxis, name: '' }, yAxis: sharedAxis(look, cells).axis }), ...shared };
  }
  const isOneRow = groups.length > 8 && !printing;
  const top = groups.length < 2 ? 34 : isOneRow ? 56 : Math.max(56, belowLegend('lines', groups.map(lineName), true));
  return {
    ...shared,
    grid: { left: 8, right: 16, top, bottom: 26, containLabel: true },
    xAxis,
    yAxis: valueAxis(look, cells, true),
    series: seriesOfLines(cells, look, false),
  };
}

function bars(look) {
  const cells = [...model.cells].reverse();
  const ends = cells.flatMap((cell, place) => (numberOf(cell) && numberOf(cell).length === 3 ? [[place, ...numberOf(cell).slice(1)]] : []));
  return {
    grid: { left: 16, right: 20, top: 24, bottom: 30, containLabel: true },
    tooltip: tooltip(look, { trigger: 'item' }, (one) => (one.data.cell ? tellCell(one.data.cell) : null)),
    yAxis: axis(look, { type: 'category', data: cells.map((cell) => cell.label), splitLine: { show: false }, axisLabel: { width: 180, overflow: 'truncate' } }),
    xAxis: { ...valueAxis(look, cells, false), type: 'value', min: 0, max: undefined },
    series: [
      {
        type: 'bar', barMaxWidth: 20,
        data: cells.map((cell) => ({
          value: valueOf(cell), cell,
          itemStyle: cell.believed ? { color: look.series[0] } : { color: 'transparent', borderColor: look.series[1], borderType: 'dashed', borderWidth: 1.5 },
          label: { show: !cell.believed, position: 'insideLeft', color: look.soft, formatter: () => cell.verdict },
        })),
      },
      whiskers(ends, look.ink, 'interval', true),
    ],
  };
}

function drawFactors() {
  // What was zoomed into was another chart.
  ['heat', 'lines', 'multiples'].forEach((id) => windows.delete(id));
  const grid = isGrid();
  const pair = byId('metric-panel');
  const row = grid && view.along === null;
  // Scaling curves have their own section, which replaces the lines.
  const lines = byId('lines');
  pair.classList.toggle('single', !grid || row || !lines);
  if (lines) lines.closest('figure').hidden = !grid;
  const what = view.metric.label + (grid ? heldText([...mapFactors(), view.along]) : '');
  if (grid) {
    byId('heat-label').textContent = `${what}; hatched cells are not reliable`;
    if (row) byId('heat').style.height = '190px';
    if (model.multiples) byId('heat').style.height = `${110 + 32 * model.factors[view.along].levels.length}px`;
    draw('heat', heatMap);
    if (lines) {
      const height = view.facet === null ? '' : `${facetsHeight('lines', model.factors[view.facet].levels.length, LINE_FACETS)}px`;
      lines.style.height = height;
      draw('lines', factorLines);
    }
    drawMultiples();
    return;
  }
  byId('heat-label').textContent = `${what}, with 95 % intervals over trials; dashed bars are not reliable`;
  byId('heat').style.height = `${Math.max(130, 80 + 30 * model.cells.length)}px`;
  draw('heat', bars);
}

/** Tabs as the ARIA practices have them: one stop, arrows move, the panel follows. */
function metricTabs() {
  const list = byId('metric-tabs');
  const panel = byId('metric-panel');
  const buttons = METRICS.map((metric) => make('button', { type: 'button', id: `tab-${metric.place}` }, metric.name));
  const select = (place, focus) => {
    view.metric = METRICS[place];
    buttons.forEach((button, other) => {
      button.setAttribute('aria-selected', String(other === place));
      button.tabIndex = other === place ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', buttons[place].id);
    if (focus) buttons[place].focus();
    drawFactors();
  };
  buttons.forEach((button, place) => {
    button.setAttribute('role', 'tab');
    button.setAttribute('aria-controls', 'metric-panel');
    button.addEventListener('click', () => select(place, false));
    button.addEventListener('keydown', (event) => {
      const last = buttons.length - 1;
      const to = { ArrowRight: place === last ? 0 : place + 1, ArrowLeft: place === 0 ? last : place - 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      select(to, true);
    });
  });
  list.append(...buttons);
  select(0, false);
}

function chooser(label, options, chosen, onChange) {
  const select = make('select', {}, ...options.map((text, place) => make('option', { value: String(place), selected: place === chosen }, text)));
  select.addEventListener('change', () => onChange(Number(select.value)));
  return make('label', {}, label, select);
}

/** Selectors of the factors on the x axis and the y axis, and of the level of every other; none with fewer than two factors. */
function factorChoice() {
  const box = byId('factor-choice');
  if (!isGrid() || model.factors.length < 2) return;
  const names = model.factors.map((factor) => factor.name);
  const again = () => { factorChoice(); drawFactors(); };
  const swapWith = (which, other) => (to) => {
    if (view[other] === to) view[other] = view[which];
    view[which] = to;
    again();
  };
  const splits = byId('lines') ? facetFactors((place) => place !== view.across) : [];
  if (!splits.some(([, place]) => place === view.facet)) view.facet = null;
  const facet = splits.length ? [facetChooser([['none', null], ...splits], view.facet, (to) => { view.facet = to; again(); })] : [];
  const isShown = (place) => place === view.facet || model.multiples && (mapFactors().includes(place) && place === colourFactor());
  const held = model.factors.flatMap((factor, place) => (isHeld(place) && factor.levels.length > 1 && !isShown(place)
    ? [chooser(factor.name, factor.levels, view.held[place], (to) => { view.held[place] = to; again(); })]
    : []));
  box.replaceChildren(
    chooser('x axis', names, view.across, swapWith('across', 'along')),
    chooser('y axis', names, view.along, swapWith('along', 'across')),
    ...facet,
    ...held,
  );
}
