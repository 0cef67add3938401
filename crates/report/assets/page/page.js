'use strict';
/* The page's own small things: its data, elements, numbers as people read them, light and dark. */

document.documentElement.classList.add('js');

const model = JSON.parse(document.getElementById('model').textContent);
const byId = (id) => document.getElementById(id);

/** An element with its text; texts from the study never become markup. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties || {});
  element.append(...children);
  return element;
}

/** Three significant digits, as in the tables. */
function three(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size >= 0.0995 ? value.toFixed(3) : value.toFixed(4);
}

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

function share(value) {
  const percent = value * 100;
  return percent > 0 && percent < 0.001 ? '< 0.001 %' : three(percent) + ' %';
}

/** Shorter for an axis: `10 ms`, not `10.0 ms`. */
const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');

/** A point with its interval: `12.3k (11.9k – 12.8k)`. */
function withInterval(estimate, format) {
  if (!estimate) return 'no number';
  const [point, low, high] = estimate;
  return low === undefined ? format(point) : `${format(point)} (${format(low)} – ${format(high)})`;
}

let printing = false;

function isDark() {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

/** The page's colours as the style sheet has them now; charts on paper take those of the light page. */
function colours() {
  const root = document.documentElement;
  const chosen = root.dataset.theme;
  if (printing) root.dataset.theme = 'light';
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue('--' + name).trim();
  const found = {
    ink: read('ink'), soft: read('soft'), faint: read('faint'), line: read('line'), card: read('card'), band: read('band'), bad: read('bad'),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((place) => read('s' + place)),
  };
  if (printing) {
    if (chosen) root.dataset.theme = chosen; else delete root.dataset.theme;
  }
  return found;
}

/** Between two colours given as [r, g, b]; share from 0 to 1. */
function blend(from, to, share) {
  return from.map((part, place) => Math.round(part + (to[place] - part) * share));
}

const css = (rgb) => `rgb(${rgb.join(',')})`;

/** Black or white, whichever is easier to read on it (relative luminance, WCAG 2). */
function inkOn(rgb) {
  const [r, g, b] = rgb.map((part) => {
    const one = part / 255;
    return one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? '#101315' : '#ffffff';
}
