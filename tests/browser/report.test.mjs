// The report in a real browser: drawn, alone, readable everywhere, and safe.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';

import { cleanUp, launch, open, reportPath, seeded } from './open.mjs';

/** No machine is busy for so long that a chart is not drawn. */
const DRAWN_WITHIN_MS = 120_000;

let browser;
let report;

before(async () => {
  browser = await launch();
  report = reportPath();
});

after(async () => {
  await browser?.close();
  cleanUp();
});

/** Every chart that is shown, with what was drawn in it: marks stand for data, by their colour, and are longer than a
 * legend's samples. */
const charts = (page) => page.evaluate(() => {
  const style = getComputedStyle(document.documentElement);
  // On paper the charts have the light page's colours, which the style sheet has too, under its first rule.
  const light = [...document.styleSheets[0].cssRules].find((rule) => rule.selectorText === ':root').style;
  const colours = new Set([1, 2, 3, 4, 5, 6, 7, 8].flatMap((place) => [style, light].map((from) => from.getPropertyValue(`--s${place}`).trim())));
  return [...document.querySelectorAll('figure.chart:not([hidden])')].map((figure) => {
    const svg = figure.querySelector('svg');
    const box = svg?.getBoundingClientRect();
    // Shaded phases have the line's colour as an outline of no width, and a fill of their own; a legend's box is a
    // black one that is not seen.
    const isMark = (path) => {
      const [stroke, fill] = [path.getAttribute('stroke'), path.getAttribute('fill') ?? 'none'];
      return colours.has(fill) || (fill.startsWith('rgb(') && fill !== 'rgb(0,0,0)') || (colours.has(stroke) && ['none', 'transparent'].includes(fill));
    };
    // A line reaches across; whiskers and samples in a legend do not. The chart of effects has points (drawn as circles of radius 1, and scaled), and no legend.
    // So have comparisons, which a line in no series' colour goes through.
    const hasPoints = figure.querySelector('#effects-levels, #reference-chart, [id^=compare-]');
    const least = figure.querySelector('#lines, [id^=curve-]:not(#curve-kinds)') ? 150 : hasPoints ? 6 : 60;
    return {
      name: figure.querySelector('figcaption').textContent,
      marks: svg ? [...svg.querySelectorAll('path')].filter((path) => isMark(path) && path.getTotalLength() > least).length : 0,
      texts: svg ? svg.querySelectorAll('text').length : 0,
      width: box?.width ?? 0,
      height: box?.height ?? 0,
    };
  });
});

function assertDrawn(drawn, atLeast) {
  assert.ok(drawn.length >= atLeast, `${drawn.length} charts shown, at least ${atLeast} expected`);
  for (const chart of drawn) {
    assert.ok(chart.marks >= 1 && chart.texts >= 2, `not drawn: ${JSON.stringify(chart)}`);
    assert.ok(chart.width > 150 && chart.height > 80, `too small: ${JSON.stringify(chart)}`);
  }
}

/** The charts, once they are drawn: the page draws them anew in a frame after its layout has changed. */
async function drawnCharts(page, atLeast) {
  for (const until = Date.now() + DRAWN_WITHIN_MS; ;) {
    const drawn = await charts(page);
    try {
      assertDrawn(drawn, atLeast);
      return drawn;
    } catch (problem) {
      if (Date.now() > until) throw problem;
      await page.waitForTimeout(50);
    }
  }
}

function assertQuiet(seen) {
  assert.deepEqual(seen.errors, [], 'console and page are without errors');
  assert.deepEqual(seen.requests, [], 'no request leaves the file');
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

for (const [name, options] of Object.entries({
  'on a laptop': {},
  'on a phone': { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  'in the dark': { colorScheme: 'dark' },
})) {
  test(`${name}: every chart is drawn, nothing is fetched, nothing overflows`, async () => {
    const { context, page, seen } = await open(browser, report, options);
    await drawnCharts(page, 5);
    assert.equal(await overflow(page), 0, 'no horizontal scrolling of the page');
    assertQuiet(seen);
    await context.close();
  });
}

test('every number can be shown on every chart without an error', async () => {
  const { context, page, seen } = await open(browser, report);
  for (const tab of await page.$$('[role=tab]')) {
    await tab.click();
    assert.equal(await tab.getAttribute('aria-selected'), 'true');
    await drawnCharts(page, 5);
  }
  for (const tick of await page.$$('#spectrum-cells input')) await tick.click();
  for (const label of ['cell', 'trial', 'x axis', 'y axis']) {
    const select = page.locator('.choose label', { hasText: new RegExp(`^${label}`) }).locator('select').first();
    if (await select.count() === 0) continue;
    const options = await select.locator('option').count();
    for (let place = 0; place < options; place += 1) await select.selectOption(String(place));
  }
  const heat = page.locator('#heat');
  if (await heat.isVisible()) {
    const box = await heat.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  }
  assertQuiet(seen);
  await context.close();
});

test('numbers are written by the rule of the report', async () => {
  const { context, page, seen } = await open(browser, report);
  const table = JSON.parse(readFileSync(new URL('../../crates/report/tests/numbers.json', import.meta.url), 'utf8'));
  const shown = await page.evaluate((rows) => rows.map(({ unit, value, ends }) => {
    if (['users', 'connections'].includes(unit)) return loadLevel(unit, value);
    if (unit === 'rate_level') return loadLevel('rate', value);
    return withInterval([value, ...(ends ?? [])], unit);
  }), table);
  assert.deepEqual(shown, table.map((row) => row.text));
  assertQuiet(seen);
  await context.close();
});

test('what was killed is marked in every chart over time, and nowhere else', async () => {
  const { context, page, seen } = await open(browser, seeded('killed'));
  const labels = () => page.$$eval('[id^=time-].plot', (plots) => plots.map((plot) => [...plot.querySelectorAll('svg text')]
    .map((text) => text.textContent).filter((text) => /kill of|ready again/.test(text))));
  const cell = page.locator('#time-choice label', { hasText: /^cell/ }).locator('select');
  const options = await cell.locator('option').allTextContents();
  for (const [place, option] of options.entries()) {
    await cell.selectOption(String(place));
    const expected = option === 'victim=gateway' ? ['kill of gateway-0', 'ready again'] : [];
    const found = await labels();
    assert.ok(found.length >= 4, `${found.length} charts`);
    for (const chart of found) assert.deepEqual(chart, expected, option);
  }
  assert.equal(options.length, 2);
  assert.equal(await page.locator('#table-faults tbody tr').count(), 1);
  assertQuiet(seen);
  await context.close();
});

test('a load that fell has its phase in every chart over time, and the instant of recovery where there is one', async () => {
  const { context, page, seen } = await open(browser, seeded('overload'));
  const labels = () => page.$$eval('[id^=time-].plot', (plots) => plots.map((plot) => [...plot.querySelectorAll('svg text')]
    .map((text) => text.textContent).filter((text) => /^recover/.test(text)).sort()));
  const cell = page.locator('#time-choice label', { hasText: /^cell/ }).locator('select');
  const options = await cell.locator('option').allTextContents();
  for (const [place, option] of options.entries()) {
    await cell.selectOption(String(place));
    const expected = option === 'rate=200' ? ['recovery'] : ['recovered', 'recovery'];
    const found = await labels();
    assert.ok(found.length >= 4, `${found.length} charts`);
    for (const chart of found) assert.deepEqual(chart, expected, option);
  }
  assert.equal(options.length, 4);
  assert.equal(await page.locator('#table-recovery tbody tr').count(), 4);
  assert.equal(await page.locator('nav a[href="#recovery"]').count(), 1);
  assertQuiet(seen);
  await context.close();
});

test('the dark page is dark, the button switches it, charts follow', async () => {
  const { context, page, seen } = await open(browser, report, { colorScheme: 'dark' });
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const ink = () => page.$eval('#spectrum svg text', (text) => text.getAttribute('fill') ?? getComputedStyle(text).fill);
  const light = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) > 384;
  const [darkBack, darkInk] = [await back(), await ink()];
  assert.ok(!light(darkBack), darkBack);
  await page.click('#theme');
  assert.ok(light(await back()));
  assert.notEqual(await ink(), darkInk, 'the charts changed their colours');
  assertQuiet(seen);
  await context.close();
});

test('on paper: light, no buttons, charts within the sheet, and the page comes back as it was', async () => {
  const { context, page, seen } = await open(browser, report, { colorScheme: 'dark', viewport: { width: 720, height: 1000 } });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  for (const hidden of ['.bar', '.tabs', '.chips']) assert.ok(!(await page.locator(hidden).first().isVisible()), hidden);
  const drawn = await drawnCharts(page, 5);
  assert.ok(drawn.every((chart) => chart.width <= 720), JSON.stringify(drawn));
  const pdf = await page.pdf({ format: 'A4' });
  assert.ok(pdf.length > 20_000, 'the sheet has something on it');
  await page.emulateMedia({ media: 'screen' });
  await drawnCharts(page, 5);
  assertQuiet(seen);
  await context.close();
});

/** RFC 4180, as far as our own table goes. */
function rowsOf(csv) {
  const rows = [[]];
  let field = '';
  let quoted = false;
  for (let at = 0; at < csv.length; at += 1) {
    const c = csv[at];
    if (quoted && c === '"' && csv[at + 1] === '"') { field += '"'; at += 1; }
    else if (c === '"') quoted = !quoted;
    else if (!quoted && (c === ',' || c === '\n')) {
      rows.at(-1).push(field);
      field = '';
      if (c === '\n') rows.push([]);
    } else field += c;
  }
  return rows.slice(0, -1);
}

test('with scripts off the tables say everything', async () => {
  const { context, page, seen } = await open(browser, report, { javaScriptEnabled: false });
  const csv = rowsOf(readFileSync(join(dirname(report), 'tables.csv'), 'utf8')).map((row) => row.map((field) => field.trim()));
  const texts = (selector) => page.locator(selector).evaluateAll((rows) => rows.map((row) => [...row.children].map((square) => square.textContent.trim())));
  const table = [...await texts('#table-every thead tr'), ...await texts('#table-every tbody tr')];
  assert.ok(csv.length > 1, 'tables.csv has trials');
  assert.deepEqual(table, csv, 'every number of tables.csv stands in the page');
  for (const id of ['cells', 'spectrum', 'bottlenecks', 'resources', 'verdicts', 'trials']) {
    assert.ok(await page.locator(`#table-${id} tbody tr`).count() > 0, `table ${id} has rows`);
    assert.ok(await page.locator(`#table-${id}`).isVisible(), `table ${id} is seen`);
  }
  const series = await page.locator('details.series table').count();
  const measured = csv.slice(1).filter((row) => row[csv[0].indexOf('goodput_per_s')] !== '').length;
  assert.equal(series, measured, 'every measured trial has its table over time');
  assert.ok((await page.locator('h1').textContent()).length > 0);
  assert.ok((await page.locator('.answer').textContent()).length > 20);
  for (const hidden of ['figure.chart', '.tabs', '#theme']) assert.ok(!(await page.locator(hidden).first().isVisible()), hidden);
  assert.equal(await overflow(page), 0);
  assertQuiet(seen);
  await context.close();
});

test('the keyboard reaches tabs, choices and tables', async () => {
  const { context, page, seen } = await open(browser, report);
  const reached = new Set();
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => {
      const at = document.activeElement;
      return at.getAttribute('role') ?? at.tagName.toLowerCase();
    }));
  }
  for (const wanted of ['a', 'button', 'tab', 'select', 'input', 'region']) assert.ok(reached.has(wanted), `${wanted} of ${[...reached]}`);
  await page.focus('[role=tab][aria-selected=true]');
  const names = await page.$$eval('[role=tab]', (tabs) => tabs.map((tab) => tab.textContent));
  for (const [key, expected] of [['ArrowRight', names[1]], ['End', names.at(-1)], ['ArrowRight', names[0]], ['ArrowLeft', names.at(-1)], ['Home', names[0]]]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), expected, key);
    assert.equal(await page.textContent('[role=tab][aria-selected=true]'), expected, key);
  }
  assert.equal(await page.$$eval('[role=tab][tabindex="0"]', (tabs) => tabs.length), 1, 'one stop for all tabs');
  assertQuiet(seen);
  await context.close();
});

test('what cannot be seen is said', async () => {
  const { context, page } = await open(browser, report);
  assert.equal(await page.locator('h1').count(), 1);
  assert.deepEqual(await page.$$eval('table', (tables) => tables.filter((table) => !table.caption?.textContent).length), 0, 'every table has a caption');
  assert.deepEqual(await page.$$eval('.plot', (plots) => plots.filter((plot) => !document.getElementById(plot.getAttribute('aria-labelledby'))).length), 0, 'every chart has a label');
  assert.deepEqual(await page.$$eval('select, input', (controls) => controls.filter((control) => !control.labels.length).length), 0, 'every control has a label');
  const ids = await page.$$eval('[id]', (elements) => elements.map((element) => element.id));
  assert.equal(new Set(ids).size, ids.length, 'every id is used once');
  await context.close();
});

/** Contrast of text with the page behind it (WCAG 2), for what carries meaning. */
for (const colorScheme of ['light', 'dark']) {
  test(`${colorScheme}: text is told from what is behind it`, async () => {
    const { context, page } = await open(browser, report, { colorScheme });
    const low = await page.evaluate(() => {
      const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
      const luminance = (rgb) => {
        const [r, g, b] = rgb.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = parse(getComputedStyle(at).backgroundColor);
          if (colour.length < 4 || colour[3] === 1) return colour.slice(0, 3);
        }
        return [255, 255, 255];
      };
      return ['p', 'dt', 'dd', 'small', 'td', 'th', 'caption', 'figcaption', '.badge', '.thin', '.range', '.bad', 'footer', 'summary', 'button'].flatMap((selector) => {
        const element = document.querySelector(`main ${selector}, ${selector}`);
        if (!element) return [];
        const [a, b] = [luminance(parse(getComputedStyle(element).color).slice(0, 3)), luminance(behind(element))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        return ratio < 4.5 ? [`${selector}: ${ratio.toFixed(2)}`] : [];
      });
    });
    assert.deepEqual(low, []);
    await context.close();
  });
}

test('hostile texts stay text', async () => {
  const { context, page, seen } = await open(browser, seeded('hostile'), { viewport: { width: 390, height: 844 } });
  assert.equal(await overflow(page), 0, 'long words do not widen the page');
  for (const tab of await page.$$('[role=tab]')) await tab.click();
  for (const id of ['#heat', '#lines', '#spectrum', '#time-rate']) {
    const plot = page.locator(id);
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    for (const [x, y] of [[0.35, 0.35], [0.7, 0.6], [0.4, 0.7]]) await page.mouse.move(box.x + box.width * x, box.y + box.height * y, { steps: 4 });
  }
  assert.notEqual(await page.title(), 'broken');
  assert.equal(await page.locator('img, main script, main b > b').count(), 0, 'nothing became markup');
  assert.ok((await page.textContent('h1')).includes('</script>'), 'the text is shown as it is');
  assert.ok((await page.textContent('.failure pre')).includes('<img'), 'so is the log');
  assertQuiet(seen);
  await context.close();
});

// Over a factor whose levels are numbers there are curves in place of the lines.
for (const [study, lines, atLeast] of [['one-factor', false, 9], ['three-factors', false, 16], ['single', false, 4], ['cut', true, 5], ['transports', false, 16]]) {
  test(`${study}: another shape of study is drawn too`, async () => {
    const { context, page, seen } = await open(browser, seeded(study));
    await drawnCharts(page, atLeast);
    assert.equal(await page.locator('#lines').isVisible(), lines, 'lines over factors without curves');
    assert.equal(await page.locator('#factor-choice select').count(), { 'one-factor': 0, 'three-factors': 3, single: 0, cut: 3, transports: 2 }[study]);
    assert.equal(await overflow(page), 0);
    assertQuiet(seen);
    await context.close();
  });
}

test('curves: both axes can be chosen, reference results are drawn, every kind of failure has its bar', async () => {
  const { context, page, seen } = await open(browser, seeded('transports'));
  const texts = (id) => page.locator(`${id} svg text`).evaluateAll((all) => all.map((one) => one.textContent));
  assert.deepEqual((await texts('#curve-0')).filter((text) => ['rest', 'rabbitmq', 'reference'].includes(text)), ['rest', 'rabbitmq', 'reference']);
  assert.ok(!(await texts('#curve-2')).includes('reference'), 'p99 has no reference result');
  // 55k to 2.6k: more than a decade, so logarithmic by itself; users are not.
  assert.ok((await texts('#curve-0')).includes('log scale'));
  assert.ok(!(await texts('#curve-0')).some((text) => text.startsWith('users (log')));
  assert.equal(await page.locator('#curves-choice select').count(), 2);
  await page.locator('#curves-choice select').nth(0).selectOption({ label: 'logarithmic' });
  assert.ok((await texts('#curve-0')).includes('users (log scale)'));
  await page.locator('#curves-choice select').nth(1).selectOption({ label: 'linear' });
  assert.ok(!(await texts('#curve-0')).includes('log scale'));
  for (const kind of ['timed out', 'status 503', 'reset']) assert.ok((await texts('#curve-kinds')).includes(kind), kind);
  for (const level of ['50', '100', '150', '200', '250', '300']) assert.ok((await texts('#curve-0')).includes(level), level);
  assertQuiet(seen);
  await context.close();
});

test('curves: a level of nothing stands apart on a log axis', async () => {
  const { context, page, seen } = await open(browser, seeded('zero'));
  await drawnCharts(page, 9);
  const texts = () => page.locator('#curve-0 svg text').evaluateAll((all) => all.map((one) => one.textContent));
  for (const told of ['linger (log scale, 0 apart)', '0', '1ms', '100ms', '1s']) assert.ok((await texts()).includes(told), `${told} of ${await texts()}`);
  await page.locator('#curves-choice select').nth(0).selectOption({ label: 'linear' });
  assert.ok((await texts()).includes('linger') && (await texts()).includes('1s'));
  assertQuiet(seen);
  await context.close();
});

test('comparisons: who is ahead is drawn and told, and stands in a table without scripts', async () => {
  const path = seeded('transports');
  const { context, page, seen } = await open(browser, path);
  const texts = await page.locator('#compare-0-0 svg text').evaluateAll((all) => all.map((one) => one.textContent));
  for (const told of ['rest ahead', 'rabbitmq ahead', 'no difference found', 'ratio (log scale)']) assert.ok(texts.includes(told), `${told} of ${texts}`);
  await page.locator('#compare-0-0').hover();
  assertQuiet(seen);
  await context.close();
  // A level without an interval has a mark of its own; one without any success has none, and stands in the words above.
  const unsure = await open(browser, seeded('refused'));
  const told = await unsure.page.locator('#compare-0-0 svg text').evaluateAll((all) => all.map((one) => one.textContent));
  assert.ok(told.includes('no interval'), `${told}`);
  assert.ok((await unsure.page.locator('section[aria-labelledby=comparison] .more').textContent()).includes('rest had no success at 300'));
  await drawnCharts(unsure.page, 16);
  assertQuiet(unsure.seen);
  await unsure.context.close();
  const without = await open(browser, path, { javaScriptEnabled: false });
  assert.ok((await without.page.locator('section[aria-labelledby=comparison] .more').textContent()).includes('The lead changes between 200 and 250.'));
  assert.equal(await without.page.locator('#table-comparison tbody tr').count(), 6);
  assert.equal(await without.page.locator('#table-curves tbody tr').count(), 12);
  assert.equal(await overflow(without.page), 0);
  await without.context.close();
});

/** What part of the axis of time is shown; `undefined`: all of it. */
const shownTime = (page) => page.evaluate(() => (windows.get('time') || {}).x);

test('zoom: by the mouse, the wheel and the keyboard, in all charts over time at once', async () => {
  const { context, page, seen } = await open(browser, report);
  const plot = page.locator('#time-rate');
  await plot.scrollIntoViewIfNeeded();
  const drag = async (from, to) => {
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
  };
  await drag(0.3, 0.6);
  const [from, to] = await shownTime(page);
  assert.ok(from > 0 && to > from, `${from} to ${to}`);
  await page.waitForFunction(() => ['time-rate', 'time-cpu'].every((id) => drawn.get(id).chart.getOption().xAxis[0].min > 0));
  await plot.dblclick({ position: { x: 300, y: 90 } });
  assert.equal(await shownTime(page), undefined, 'a double click shows the whole');
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -100);
  assert.equal(await shownTime(page), undefined, 'the wheel alone scrolls the page');
  await plot.scrollIntoViewIfNeeded();
  const again = await plot.boundingBox();
  await page.mouse.move(again.x + again.width / 2, again.y + again.height / 2);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -100);
  await page.keyboard.up('Control');
  await page.waitForFunction(() => windows.get('time'));
  const bar = page.locator('figure:has(#time-rate) .tools');
  await bar.locator('button').first().focus();
  await page.keyboard.press('0');
  assert.equal(await shownTime(page), undefined);
  await page.keyboard.press('+');
  const zoomed = await shownTime(page);
  await page.waitForFunction(() => drawn.get('time-rate').chart.getOption().xAxis[0].min > 0);
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
  const moved = await shownTime(page);
  assert.ok(moved[0] > zoomed[0] && Math.abs((moved[1] - moved[0]) - (zoomed[1] - zoomed[0])) < 1e-6, `${zoomed} to ${moved}`);
  assertQuiet(seen);
  await context.close();
});

test('zoom: two fingers zoom, one moves, and the page still scrolls', async () => {
  const { context, page, seen } = await open(browser, report, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
  const plot = page.locator('#time-rate');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  const client = await context.newCDPSession(page);
  const touch = (type, xs) => client.send('Input.dispatchTouchEvent', {
    type, touchPoints: xs.map((x, id) => ({ x: box.x + box.width * x, y: box.y + box.height / 2, id })),
  });
  await touch('touchStart', [0.45, 0.6]);
  for (const apart of [0.05, 0.1, 0.15, 0.2]) await touch('touchMove', [0.45 - apart, 0.6 + apart]);
  await touch('touchEnd', []);
  await page.waitForFunction(() => windows.get('time'));
  const [from, to] = await shownTime(page);
  assert.ok(from > 0 && to > from, `${from} to ${to}`);
  assert.equal(await plot.evaluate((element) => getComputedStyle(element).touchAction), 'pan-y');
  assertQuiet(seen);
  await context.close();
});

test('pictures: any chart as SVG and PNG, with its title, and no request', async () => {
  const { context, page, seen } = await open(browser, report, { acceptDownloads: true });
  for (const id of ['spectrum', 'time-rate', 'heat']) {
    for (const kind of ['SVG', 'PNG']) {
      const button = page.locator(`figure:has(#${id}) .tools button[aria-label="Save as ${kind}"]`);
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      const bytes = readFileSync(await download.path());
      assert.ok(download.suggestedFilename().endsWith(`.${kind.toLowerCase()}`));
      if (kind === 'PNG') {
        assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
        assert.ok(bytes.readUInt32BE(16) > 1000 && bytes.length > 10_000, `${id}: ${bytes.length} bytes`);
      } else {
        const text = bytes.toString();
        assert.ok(!text.includes('parsererror') && text.includes('<path'), id);
        assert.ok(text.includes(await page.textContent(`#${id}-label`).then((label) => label.split(' ')[0])), 'its title is in it');
      }
    }
  }
  assertQuiet(seen);
  await context.close();
});

test('facets: lines, distributions and time series are split, on the same axes', async () => {
  const { context, page, seen } = await open(browser, seeded('cut'));
  const grids = (id) => page.evaluate((name) => drawn.get(name).chart.getOption().grid.length, id);
  await page.locator('#factor-choice label', { hasText: /^facets/ }).locator('select').selectOption({ index: 1 });
  assert.ok(await grids('lines') > 1);
  await page.locator('#spectrum-choice select').selectOption({ index: 1 });
  assert.ok(await grids('spectrum') > 1);
  const facets = page.locator('#time-choice label', { hasText: /^facets/ }).locator('select');
  await facets.selectOption({ label: 'a trial of each cell' });
  assert.ok(await grids('time-rate') > 1);
  const tops = await page.evaluate(() => drawn.get('time-rate').chart.getOption().yAxis.map((axis) => axis.max));
  assert.equal(new Set(tops).size, 1, 'all have the same axis');
  await page.locator('#time-choice label', { hasText: /^facets/ }).locator('select').selectOption({ label: 'none' });
  assert.equal(await grids('time-rate'), 1);
  assertQuiet(seen);
  await context.close();
});

for (const javaScriptEnabled of [true, false]) {
  test(`pages of trials: a link leads to one, and back, scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
    const { context, page, seen } = await open(browser, report, { javaScriptEnabled });
    const link = page.locator('#table-trials tbody a').first();
    const id = (await link.getAttribute('href')).slice(1);
    assert.ok(!(await page.locator(`#${id}`).isVisible()));
    await link.click();
    await page.locator(`#${id}`).waitFor({ state: 'visible' });
    assert.ok(!(await page.locator('#table-trials').isVisible()), 'it is alone');
    assert.equal(await page.locator('article.page:visible').count(), 1);
    if (javaScriptEnabled) {
      await page.waitForFunction((place) => document.getElementById(place).querySelector('#time-rate svg path'), id);
    }
    await page.locator(`#${id} .turn a`).first().click();
    await page.locator('#table-trials').waitFor({ state: 'visible' });
    assert.ok(!(await page.locator(`#${id}`).isVisible()));
    if (javaScriptEnabled) assert.equal(await page.locator('section[aria-labelledby=time] #time-rate').count(), 1, 'the charts are back');
    assertQuiet(seen);
    await context.close();
  });
}
