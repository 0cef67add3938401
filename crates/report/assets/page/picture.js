'use strict';
/* The toolbar of each chart: zoom, and the chart as a picture with its title, as SVG or PNG. */

/** Of a picture, in CSS pixels; a PNG has twice as many dots. */
const PICTURE = { margin: 16, line: 20, least: 560, scale: 2 };
const SVG = 'http://www.w3.org/2000/svg';

const TOOLS = [
  ['in', '+', 'Zoom in'], ['out', '−', 'Zoom out'], ['left', '◂', 'Move left'], ['right', '▸', 'Move right'], ['whole', '⤢', 'Show the whole'],
  ['svg', 'SVG', 'Save as SVG'], ['png', 'PNG', 'Save as PNG'],
];

const captionOf = (entry) => byId(`${entry.id}-label`);

/** One stop for the keyboard, arrows between the buttons; `+`, `-` and `0` zoom. */
function addTools(entry) {
  const caption = captionOf(entry);
  if (!caption) return;
  const buttons = TOOLS.map(([name, sign, title]) => make('button', { type: 'button', title, textContent: sign }));
  const bar = make('div', { className: 'tools' }, ...buttons);
  bar.setAttribute('role', 'toolbar');
  entry.buttons = buttons;
  buttons.forEach((button, place) => {
    const [name, , title] = TOOLS[place];
    button.setAttribute('aria-label', title);
    button.tabIndex = place === 0 ? 0 : -1;
    button.addEventListener('click', () => { if (button.getAttribute('aria-disabled') !== 'true') useTool(entry, name); });
  });
  bar.addEventListener('keydown', (event) => {
    const shown = buttons.filter((button) => !button.hidden);
    const place = shown.indexOf(document.activeElement);
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = shown[(to + shown.length) % shown.length];
      buttons.forEach((button) => { button.tabIndex = button === next ? 0 : -1; });
      next.focus();
    } else if (ZOOM_KEYS[event.key] && entry.zoomable) {
      event.preventDefault();
      ZOOM_STEPS[ZOOM_KEYS[event.key]](entry);
    }
  });
  caption.before(bar);
  listenToMouse(entry);
  listenToTouch(entry);
}

function useTool(entry, name) {
  if (name === 'svg' || name === 'png') savePicture(entry, name); else ZOOM_STEPS[name](entry);
}

/** Buttons of what the chart can do now. */
function showTools(entry) {
  if (!entry.buttons) return;
  const isZoomed = Object.keys(windowOf(entry)).length > 0;
  entry.element.classList.toggle('zooms', entry.zoomable);
  entry.buttons[0].parentElement.setAttribute('aria-label', `Zoom and picture: ${captionOf(entry).textContent}`);
  entry.buttons.forEach((button, place) => {
    const [name] = TOOLS[place];
    const isZoom = name in ZOOM_STEPS;
    button.hidden = isZoom && !entry.zoomable;
    if (isZoom && name !== 'in') button.setAttribute('aria-disabled', String(!isZoomed));
  });
  const shown = entry.buttons.filter((button) => !button.hidden);
  if (!shown.some((button) => button.tabIndex === 0)) shown[0].tabIndex = 0;
}

/** Text in lines of so many letters. */
function inLines(text, letters) {
  return text.split(/\s+/).reduce((lines, word) => {
    const last = lines[lines.length - 1];
    if (last !== undefined && last.length + word.length < letters) lines[lines.length - 1] = `${last} ${word}`; else lines.push(word);
    return lines;
  }, []);
}

function svgElement(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...children);
  return element;
}

/** The title of a picture: of charts over time only the first one names its trial on the page. */
function pictureTitle(entry) {
  const title = captionOf(entry).textContent;
  return entry.id.startsWith('time-') && entry.id !== 'time-rate' ? `${title}: ${shownTrials()}` : title;
}

/** The chart as it is shown, below its title, with its legend: what one sees without the page. */
function pictureOf(entry) {
  const look = colours();
  const [width, height] = [Math.max(PICTURE.least, entry.element.clientWidth), entry.element.clientHeight];
  picturing = true;
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption(optionOf(entry));
  picturing = false;
  // Its style is for the mouse, and the page's policy refuses it.
  const text = chart.renderToSVGString().replace(/<style[\s\S]*?<\/style>/g, '');
  const inner = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  chart.dispose();
  const lines = inLines(pictureTitle(entry), width / 7.2);
  const source = `${model.study} · waggle`;
  const whole = [width + 2 * PICTURE.margin, height + PICTURE.line * (lines.length + 1) + 2.5 * PICTURE.margin];
  const write = (words, line, size, weight, fill) => svgElement('text', {
    x: PICTURE.margin, y: line, 'font-family': FONT, 'font-size': size, 'font-weight': weight, fill,
  }, words);
  inner.setAttribute('x', PICTURE.margin);
  inner.setAttribute('y', PICTURE.margin + PICTURE.line * lines.length + 6);
  const svg = svgElement(
    'svg', { xmlns: SVG, width: whole[0], height: whole[1], viewBox: `0 0 ${whole[0]} ${whole[1]}` },
    svgElement('rect', { width: whole[0], height: whole[1], fill: look.card }),
    ...lines.map((words, place) => write(words, PICTURE.margin + PICTURE.line * (place + 0.75), 14, 600, look.ink)),
    document.importNode(inner, true),
    write(source, whole[1] - PICTURE.margin, 11, 400, look.soft),
  );
  return { svg: new XMLSerializer().serializeToString(svg), width: whole[0], height: whole[1] };
}

/** A file's name from words: `goodput-over-connections`. */
const fileName = (words) => words.toLowerCase().replace(/[^a-z0-9.]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 140) || 'chart';

function save(blob, name) {
  const link = make('a', { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function savePicture(entry, kind) {
  const { svg, width, height } = pictureOf(entry);
  const name = `${fileName(`${model.study} ${pictureTitle(entry)}`)}.${kind}`;
  if (kind === 'svg') {
    save(new Blob([svg], { type: 'image/svg+xml' }), name);
    return;
  }
  const image = new Image();
  image.addEventListener('load', () => {
    const canvas = make('canvas', { width: Math.round(width * PICTURE.scale), height: Math.round(height * PICTURE.scale) });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, name), 'image/png');
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
