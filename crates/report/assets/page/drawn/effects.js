'use strict';
/* Main effects: every level as a ratio to the first level of its factor, with its interval, on a log axis. */

/** Pixels for each level (on a phone its name takes two lines), and for the axis with its name. */
const effectRow = () => (isNarrow() ? 36 : 26);
const EFFECT_AROUND = 74;

/** The levels in the order of the tables, the last one lowest on the axis; the first level of a factor is 1 by definition. */
function effectRows(outcome) {
  const rows = model.effects.factors.flatMap((factor, place) => factor.levels.map((level, number) => ({
    factor, place, level, ratio: number === 0 ? [1] : outcome.ratios[place][number - 1], isFirst: number === 0, share: outcome.shares[place],
  })));
  return rows.reverse();
}

/** 1, 2 and 5 of each power of ten around the values; powers alone where they lie far apart, more where they lie close. */
function ratioTicks(values) {
  // An end without a bound has no place on the axis.
  const bounded = values.filter((value) => value !== null && value > 0);
  const [low, high] = bounded.length ? [Math.min(...bounded) / 1.1, Math.max(...bounded) * 1.1] : [0.5, 2];
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(10 ** power);
  const fine = high / low > 1.9 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.7, 2, 3, 5, 7, 8, 8.5, 9, 9.5];
  const steps = high / low > 200 ? [1] : high / low > 6 ? [1, 2, 5] : fine;
  const ticks = powers.flatMap((power) => steps.map((step) => step * power));
  return { min: low, max: high, ticks: ticks.filter((tick) => tick >= low && tick <= high) };
}

const timesOf = (value) => short(NUMBER.ratio(value));

/** Pixels that the longest name takes, within reason. */
function effectNames(rows) {
  const long = (row) => (isNarrow() ? Math.max(row.factor.name.length, row.level.length) : row.factor.name.length + row.level.length + 1);
  return Math.min(isNarrow() ? 110 : 260, 8 + 6.6 * Math.max(...rows.map(long)));
}

function tellLevel(row) {
  return [
    [`${row.factor.name} ${row.level}`],
    [`ratio to ${row.factor.levels[0]}`, row.isFirst ? '1, by definition' : withInterval(row.ratio, 'ratio')],
    [`${row.factor.name}'s share of the variation`, row.share],
  ];
}

function effectOption(outcome) {
  const rows = effectRows(outcome);
  const scale = ratioTicks(rows.flatMap((row) => row.ratio));
  return (look) => {
    const colour = (row) => look.series[row.place % look.series.length];
    const whisker = (factor, place) => whiskers(
      rows.flatMap((row, at) => (row.place === place && row.ratio.length === 3 ? [[at, row.ratio[1], row.ratio[2]]] : [])),
      look.series[place % look.series.length], factor.name, true,
    );
    return {
      grid: { left: 20, right: 24, top: 8, bottom: 28, containLabel: true },
      tooltip: tooltip(look, { trigger: 'item' }, (point) => (point.data && point.data.row ? tellLevel(point.data.row) : null)),
      yAxis: axis(look, {
        type: 'category', data: rows.map((row) => `${row.factor.name}${isNarrow() ? '\n' : ' '}${row.level}`), splitLine: { show: false },
        axisLabel: { width: effectNames(rows), lineHeight: 15, overflow: 'truncate', interval: 0, hideOverlap: false, color: look.ink },
      }),
      xAxis: axis(look, {
        type: 'log', min: scale.min, max: scale.max, name: 'ratio to the first level (log scale)', nameLocation: 'middle', nameGap: 28,
        axisLabel: { formatter: timesOf, customValues: scale.ticks }, axisTick: { show: false, customValues: scale.ticks },
        splitLine: { show: false },
      }),
      series: [
        ...model.effects.factors.map(whisker),
        {
          type: 'scatter', symbolSize: 10, z: 5,
          markLine: { silent: true, symbol: 'none', animation: false, label: { show: false }, lineStyle: { color: look.faint, type: 'dashed', width: 1.5 }, data: [{ xAxis: 1 }] },
          data: rows.map((row, at) => ({
            value: [row.ratio[0], at], row,
            itemStyle: { color: row.isFirst ? look.card : colour(row), borderColor: colour(row), borderWidth: row.isFirst ? 2 : 0 },
          })),
        },
      ],
    };
  };
}

function effectsChoice() {
  const box = byId('effects-choice');
  if (!box) return;
  const { outcomes, first } = model.effects;
  byId('effects-levels').style.height = `${EFFECT_AROUND + effectRow() * effectRows(outcomes[first]).length}px`;
  const choose = (place) => {
    box.replaceChildren(chooser('outcome', outcomes.map((outcome) => outcome.name), place, choose));
    byId('effects-levels-label').textContent = `${outcomes[place].name}: each level as a ratio to the first level of its factor, with 95 % intervals`;
    draw('effects-levels', effectOption(outcomes[place]));
  };
  choose(first);
}
