'use strict';
/* Tables: sorted by a click on a head, and searched. Without scripts they are as they were written. */

/** Rows from which on a table has a field for searching. */
const SEARCH_FROM = 12;

const SIZES = {
  k: 1e3, M: 1e6, G: 1e9, 'µs': 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, '%': 0.01,
  B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4,
};

/** The text of a field without what is in smaller letters. */
function mainText(field) {
  const copy = field.cloneNode(true);
  copy.querySelectorAll('small, .sr, svg').forEach((part) => part.remove());
  return copy.textContent.trim();
}

/** The number that a text begins with, in the unit behind it; null: it begins with none. */
function numberIn(text) {
  const found = /^[<>≤≥~]?\s*([-−]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([A-Za-zµ%]*)/.exec(text);
  if (!found) return null;
  const size = Number(found[1].replace('−', '-').replace(/,/g, ''));
  return Number.isFinite(size) ? size * (SIZES[found[2]] || 1) : null;
}

/** What a field is sorted by: a number if the column is one of numbers. */
function sortKey(field, isNumber) {
  const text = mainText(field);
  if (!isNumber) return text;
  return text === '' ? 0 : numberIn(text);
}

/** What has no value is last, whatever the direction. */
function compareKeys(a, b, direction) {
  const isMissing = (key) => key === null || key === '' || key === '–';
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  return direction * order;
}

/** A third click on a head restores the order in which the rows were written. */
function sortBy(table, written, place) {
  const heads = [...table.tHead.rows[0].cells];
  const next = { none: 'ascending', ascending: 'descending', descending: 'none' }[heads[place].getAttribute('aria-sort') || 'none'];
  heads.forEach((head, other) => {
    if (other === place && next !== 'none') head.setAttribute('aria-sort', next);
    else head.removeAttribute('aria-sort');
  });
  const direction = next === 'descending' ? -1 : 1;
  const keyed = written.map((row) => ({ row, key: next === 'none' ? null : sortKey(row.cells[place], heads[place].classList.contains('n')) }));
  if (next !== 'none') keyed.sort((a, b) => compareKeys(a.key, b.key, direction));
  table.tBodies[0].append(...keyed.map((one) => one.row));
}

function makeSortable(table) {
  const written = [...table.tBodies[0].rows];
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = make('button', { type: 'button', className: 'sort' });
    button.append(...head.childNodes);
    button.addEventListener('click', () => sortBy(table, written, place));
    head.append(button);
  });
}

/** Shows the rows that contain every word. */
function makeSearchable(table) {
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const field = make('input', { type: 'search' });
  const count = make('output', {});
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !words.every((word) => texts[place].includes(word));
      if (!row.hidden) shown += 1;
    });
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : '';
  });
  const caption = table.caption ? table.caption.textContent : '';
  field.setAttribute('aria-label', `Search in the table: ${caption}`);
  const box = make('div', { className: 'find' }, make('label', {}, 'Search ', field), count);
  table.closest('.scroll').before(box);
}

function prepareTables() {
  document.querySelectorAll('.thin > .sr').forEach((reason) => { reason.parentElement.title = reason.textContent.trim().slice(1, -1); });
  document.querySelectorAll('.scroll > table').forEach((table) => {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 3) return;
    makeSortable(table);
    if (body.rows.length >= SEARCH_FROM) makeSearchable(table);
  });
}
