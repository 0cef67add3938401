'use strict';
/* Formatting of numbers, by the rule of src/wording/format.rs: tests/numbers.json checks both. */

/** Before what is below zero. */
const MINUS = '−';

/** If the ends of an interval are further apart, they show only that the trials are too few. */
const ENDS_APART_AT_MOST = 1000;

/** From here on three digits lie before the point. */
const WHOLE_FROM = 99.95;

/** The size with so many decimals; what lies between two of them exactly goes to the even one. */
function fixed(size, decimals) {
  const shown = size.toFixed(decimals);
  const [kept, rest] = [size.toFixed(decimals + 30).slice(0, -30), size.toFixed(decimals + 30).slice(-30)];
  const isTie = /^50*$/.test(rest) && /[02468]\.?$/.test(kept);
  return isTie ? kept.replace(/\.$/, '') : shown;
}

const withSign = (value, size) => (value < 0 ? MINUS : '') + size;

/** Three significant digits: `12.3`, `1.24`, `812`, `0`. */
function three(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return '–';
  if (size === 0) return '0';
  const decimals = [WHOLE_FROM, 9.995, 0.9995, 0.09995, 0.009995, 0.0009995].findIndex((from) => size >= from);
  return withSign(value, decimals < 0 ? size.toExponential(2) : fixed(size, decimals));
}

/** A count, or a number as a person set it: `3,250`, `12.5`. */
function amount(value) {
  const size = Math.abs(value);
  const isWhole = Number.isInteger(value) || size >= WHOLE_FROM;
  if (!isWhole || !(size < 1e15)) return three(value);
  return withSign(value, fixed(size, 0).replace(/\B(?=(\d{3})+$)/g, ','));
}

/** `812`, `12.3k`, `4.56M`. */
function plain(value) {
  const size = Math.abs(value);
  if (size >= 999.5e6) return three(value / 1e9) + 'G';
  if (size >= 999.5e3) return three(value / 1e6) + 'M';
  if (size >= 999.5) return three(value / 1e3) + 'k';
  return three(value);
}

function timeOf(us) {
  const size = Math.abs(us);
  if (size >= 600e6) return three(us / 60e6) + ' min';
  if (size >= 999.5e3) return three(us / 1e6) + ' s';
  if (size >= 999.5) return three(us / 1e3) + ' ms';
  return three(us) + ' µs';
}

function bytesOf(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [scaled, unit] = [value, 0];
  while (Math.abs(scaled) >= 999.5 && unit + 1 < units.length) [scaled, unit] = [scaled / 1024, unit + 1];
  return `${three(scaled)} ${units[unit]}`;
}

/** `12.3 %`, and finer just below the whole; never 0 % or 100 % for another value. */
function share(value) {
  const percent = value * 100;
  if (percent > 0 && percent < 0.001) return '< 0.001 %';
  if (percent >= 99.995 && percent < 100) return '> 99.99 %';
  return `${percent >= 98.5 && percent < 100 ? fixed(percent, 2) : three(percent)} %`;
}

/** Two decimals around 1, two digits where it is small. */
function factorOf(ratio) {
  if (ratio >= 99.5) return fixed(ratio, 0);
  if (ratio >= 9.95) return fixed(ratio, 1);
  if (ratio >= 0.0995) return fixed(ratio, 2);
  if (ratio >= 0.00995) return fixed(ratio, 3);
  if (ratio >= 0.000995) return fixed(ratio, 4);
  return ratio > 0 ? ratio.toExponential(1) : '0';
}

const perSecond = (text) => `${text}/s`;

/** How a number is written, by what it is counted in. */
const NUMBER = {
  plain, time: timeOf, share, rate: (value) => perSecond(plain(value)), count: amount, bytes: bytesOf,
  byte_rate: (value) => perSecond(bytesOf(value)), ratio: (value) => `${factorOf(value)}×`, points: (value) => `${three(100 * value)} points`,
};

/** The ends of an interval: `1.10 – 1.30 ms`; each end of a ratio may be missing, the lower one as 0. */
function endsOf(low, high, kind) {
  if (kind === 'ratio') {
    if (high === null) return low > 0 ? `${factorOf(low)} or more` : 'unknown';
    return low > 0 ? `${factorOf(low)} – ${factorOf(high)}` : `${factorOf(high)} or less`;
  }
  if (kind === 'points') return `${three(100 * low)} – ${three(100 * high)}`;
  if (low > 0 && high / low > ENDS_APART_AT_MOST) return 'more than 1000-fold';
  const [from, to] = [low, high].map(NUMBER[kind]);
  const unit = (text) => (text.includes(' ') ? text.slice(text.indexOf(' ')) : null);
  // A unit stands once where both ends have the same.
  const isSame = unit(from) !== null && unit(from) === unit(to);
  return `${isSame ? from.slice(0, from.indexOf(' ')) : from} – ${to}`;
}

/** A point with its interval: `12.3k (11.9k – 12.8k)`. */
function withInterval(estimate, kind) {
  if (!estimate) return 'no value';
  const [point, low, high] = estimate;
  const text = NUMBER[kind](point);
  return low === undefined ? text : `${text} (${endsOf(low, high, kind)})`;
}

/** A level of the load with its unit: `3,250/s`, `40 users`, `1 user`. */
function loadLevel(kind, level) {
  const number = amount(level);
  if (kind === 'rate') return perSecond(number);
  return `${number} ${number === '1' ? kind.replace(/s$/, '') : kind}`;
}

/** Shorter for an axis: `10 ms`, not `10.0 ms`. */
const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
