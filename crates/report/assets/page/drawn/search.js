'use strict';
/* Capacity search: every level that was tried and the metric of a condition; what held, what failed, the fitted level as a band. */

const searchView = { condition: 0 };

/** Evidence of a trial → its symbol; grey without evidence. */
const SYMBOLS = { holds: 'circle', fails: 'path://M-5,-4 L-4,-5 L0,-1 L4,-5 L5,-4 L1,0 L5,4 L4,5 L0,1 L-4,5 L-5,4 L-1,0 Z' };

/** The level with its unit, as in the tables. */
const searchLevel = (level) => loadLevel(model.search.maximize, level);

/** The interval of the level that half of the trials hold. */
function answerBand(search, colour) {
  if (search.fitted === null) return undefined;
  const [, low, high] = search.fitted;
  return { silent: true, itemStyle: { color: colour, opacity: 0.22 }, data: [[{ xAxis: low }, { xAxis: high }]] };
}

/** A line at the highest holding level; ≥ where the system may hold more. */
function answerLine(search, colour, limit, look) {
  const data = [];
  if (search.holds !== null) data.push({ xAxis: search.holds, lineStyle: { color: colour, width: 2 }, label: { formatter: `${search.is_lower_bound ? '≥ ' : ''}${searchLevel(search.holds)}`, color: look.ink, position: 'end', distance: [0, 4] } });
  if (limit) data.push(limit);
  return { silent: true, symbol: 'none', animation: false, data };
}

function searchOption(look) {
  const condition = model.search.conditions[searchView.condition];
  const format = NUMBER[condition.kind];
  const number = (step) => step[2][searchView.condition];
  const values = [...model.search.cells.flatMap((search) => search.steps.map(number)).filter((value) => value !== null), condition.limit];
  const positive = values.every((value) => value > 0);
  const wide = positive && Math.max(...values) / Math.min(...values) > LOG_FROM_RATIO;
  const levels = model.search.cells.flatMap((search) => search.steps.map((step) => step[1]));
  const limit = {
    yAxis: condition.limit, lineStyle: { color: look.soft, type: 'dashed', width: 1.5 },
    label: { formatter: condition.text, position: 'insideStartTop', color: look.soft, fontSize: 12 },
  };
  return {
    grid: { left: 8, right: 24, top: 46, bottom: 28, containLabel: true },
    legend: legend(look, { show: model.search.cells.length > 1, icon: 'circle', itemHeight: 10 }),
    tooltip: tooltip(look, { trigger: 'item' }, (point) => {
      const step = point.data && point.data.step;
      if (!step) return null;
      return [[point.seriesName], ['level', searchLevel(step[1])], ['trial', String(step[0])], ['connections', step[4] === null ? '–' : String(step[4])], [condition.name, number(step) === null ? '–' : format(number(step))], ['evidence', step[3]]];
    }),
    xAxis: axis(look, {
      type: 'log', min: Math.min(...levels) / 1.15, max: Math.max(...levels) * 1.15, name: `level tried, ${model.search.maximize === 'rate' ? 'requests/s' : model.search.maximize}`,
      nameLocation: 'middle', nameGap: 27, axisLabel: { formatter: (value) => short(plain(value)), customValues: levelTicks(levels) },
    }),
    yAxis: axis(look, {
      type: wide ? 'log' : 'value', ...(wide ? decades(values) : { min: positive ? undefined : 0 }),
      axisLabel: { formatter: (value) => short(format(value)) },
    }),
    series: model.search.cells.map((search, place) => {
      const colour = look.series[place % look.series.length];
      return {
        type: 'scatter', name: search.label, color: colour, symbolSize: 12,
        markArea: answerBand(search, colour),
        markLine: answerLine(search, colour, place === 0 ? limit : null, look),
        data: search.steps.filter((step) => number(step) !== null).map((step) => ({
          value: [step[1], wide ? Math.max(number(step), 1e-9) : number(step)], step,
          symbol: SYMBOLS[step[3]] || 'diamond',
          itemStyle: step[3] in SYMBOLS ? { opacity: step[3] === 'holds' ? 0.8 : 1 } : { color: look.faint },
        })),
      };
    }),
  };
}

/** The levels themselves, thinned out if they are too close to be read. */
function levelTicks(levels) {
  const sorted = [...new Set(levels)].sort((a, b) => a - b);
  const apart = Math.max((sorted[sorted.length - 1] / sorted[0]) ** (1 / 14), 1.08);
  const kept = [];
  sorted.forEach((level) => { if (!kept.length || level / kept[kept.length - 1] >= apart) kept.push(level); });
  return kept;
}

function searchChoice() {
  const box = byId('search-choice');
  const { conditions } = model.search;
  const first = conditions.findIndex((condition) => condition.kind === 'time');
  const choose = (place) => {
    searchView.condition = place;
    const names = conditions.map((condition) => condition.text);
    box.replaceChildren(...(names.length > 1 ? [chooser('condition', names, place, choose)] : []));
    draw('search-levels', searchOption);
  };
  choose(Math.max(first, 0));
}
