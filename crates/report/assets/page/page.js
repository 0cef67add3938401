'use strict';
/* Shared by all scripts of the page: its data, elements, light and dark. */

document.documentElement.classList.add('js');

const model = JSON.parse(document.getElementById('model').textContent);
const byId = (id) => document.getElementById(id);

/** An element with its text; texts from the study never become markup. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties || {});
  element.append(...children);
  return element;
}

let printing = false;
/** While a chart is made into a picture, which has its legend in it. */
let picturing = false;

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
