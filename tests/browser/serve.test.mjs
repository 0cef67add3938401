// waggle serve in a real browser: the list, a run that goes on, comparisons, histories and notes; light, dark, on a phone, by keyboard.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { launch } from './open.mjs';
import { Folder, end, serve, target } from './served.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Nothing here takes longer, on any machine. */
const WAIT_MS = 180_000;
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
/** The level changes at the fifteenth run. */
const TIMES = [...Array(20).keys()].map((run) => (run < 14 ? 10 : 13));

let browser;
let folder;
let served;
let loaded;

before(async () => {
  browser = await launch();
  folder = new Folder(TIMES);
  loaded = await target(folder, { repeat: 50 });
  served = await serve(folder, '--allow-run', 'studies');
});

after(async () => {
  await browser?.close();
  await served?.end();
  loaded?.end();
  folder?.remove();
});

/** Opens a page in a context of its own; `seen` collects errors and requests that leave the server. */
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const seen = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) seen.push(message.text()); });
  page.on('pageerror', (error) => seen.push(String(error)));
  page.on('request', (request) => { if (!request.url().startsWith(served.url) && !request.url().startsWith('data:')) seen.push(request.url()); });
  await page.goto(served.url + path);
  return { context, page, seen };
}

/** What axe finds; a page's policy lets nothing else in, so axe comes by the debugger. */
async function violations(page) {
  await page.evaluate(AXE);
  const result = await page.evaluate(() => window.axe.run());
  return result.violations.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).join(' ')}`);
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
const runNames = (page) => page.locator('#runs td.name > a').allTextContents();
const newest = async (page) => (await runNames(page))[0];

for (const [name, options] of Object.entries({ light: {}, dark: { colorScheme: 'dark' }, 'on a phone': PHONE, 'without scripts': { javaScriptEnabled: false } })) {
  test(`${name}: every page is whole, without errors, and accessible`, async () => {
    const { context, page, seen } = await open('/', options);
    const [last, other] = await runNames(page);
    const paths = ['/', `/runs/${last}`, `/runs/${last}/report`, `/compare?first=${other}&second=${last}`, '/history?study=nightly', '/studies', '/studies/form?study=small.yaml', '/queue', '/nothing'];
    for (const path of paths) {
      const answer = await page.goto(served.url + path);
      assert.equal(answer.status(), path === '/nothing' ? 404 : 200, path);
      assert.equal(await overflow(page), 0, `${path}: no horizontal scrolling of the page`);
      assert.equal(await page.locator('h1').count(), 1, path);
      if (options.javaScriptEnabled !== false) assert.deepEqual(await violations(page), [], path);
    }
    const missing = /the server responded with a status of 404/;
    assert.deepEqual(seen.filter((text) => !missing.test(text)), []);
    await context.close();
  });
}

test('the list is filtered and sorted by the address, and the pick of two is kept', async () => {
  const { context, page, seen } = await open('/');
  assert.equal((await runNames(page)).length, TIMES.length);
  assert.match(await page.locator('tr.refused').textContent(), /half-written.*half written: it has no run\.json/);
  await page.getByLabel('Words').fill('nightly 20260105');
  await page.getByRole('button', { name: 'Filter' }).click();
  assert.match(page.url(), /q=nightly/);
  await page.goto(`${served.url}/?state=not+readable`);
  assert.deepEqual(await runNames(page), []);
  await page.goto(`${served.url}/`);
  await page.getByRole('link', { name: 'run', exact: true }).click();
  const names = await runNames(page);
  assert.deepEqual(names, [...names].sort());
  assert.equal(await page.locator('th[aria-sort=ascending]').textContent(), 'run');
  await page.locator('input[name=first]').nth(2).check();
  await page.locator('input[name=second]').nth(0).check();
  await page.getByLabel('Study').selectOption('nightly');
  await page.getByRole('button', { name: 'Filter' }).click();
  assert.equal(await page.locator('input[name=first]:checked').getAttribute('value'), names[2]);
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/\/compare\?/);
  assert.equal(await page.locator('h1').textContent(), 'Is B worse than A?');
  const text = await page.textContent('main');
  // Runs of one second differ by a number behind the same name.
  const place = (name) => text.search(new RegExp(`${name}(?!-?\\d)`));
  assert.ok(place(names[2]) >= 0 && place(names[2]) < place(names[0]), `${names[2]} is A`);
  await page.getByRole('link', { name: 'waggle' }).click();
  await page.waitForURL(`${served.url}/`);
  assert.deepEqual(seen, []);
  await context.close();
});

test('a change of the history leads to its runs, and a note that accepts it closes it', async () => {
  const { context, page, seen } = await open('/history?study=nightly');
  assert.match(await page.locator('.answer').textContent(), /Something became worse/);
  const first = page.locator('#table-changes tbody tr').first();
  await first.locator('a[href^="/compare"]').click();
  assert.match(await page.locator('h1').textContent(), /worse than/);
  await page.goBack();
  const run = await first.locator('td a[href^="/runs/"]').nth(1).textContent();
  await first.locator('td a[href^="/runs/"]').nth(1).click();
  await page.getByRole('textbox', { name: /^Note/ }).fill('new disk & <b>other</b> cable');
  await page.getByLabel(/^Accept/).check();
  await page.getByRole('button', { name: 'Add the note' }).click();
  assert.match(await page.locator('.notes').textContent(), /new disk & <b>other<\/b> cable.*accepts/s);
  assert.deepEqual(await violations(page), []);
  await page.goto(`${served.url}/history?study=nightly`);
  assert.match(await page.locator('.answer').textContent(), /Nothing is worse than before/);
  assert.match(await page.locator('#table-runs').textContent(), /new disk & <b>other<\/b> cable/);
  await page.goto(`${served.url}/runs/${run}/report`);
  assert.match(await page.locator('#table-notes').textContent(), /new disk/);
  // A note on one metric, from the row of its change.
  await page.goto(`${served.url}/history?study=nightly`);
  await page.locator('#table-changes tbody tr a[href*="?metric="]').last().click();
  const about = await page.getByLabel('About').inputValue();
  assert.match(about, /^[a-z_.0-9]+$/);
  await page.getByRole('textbox', { name: /^Note/ }).fill('another index');
  await page.getByRole('button', { name: 'Add the note' }).click();
  assert.match(await page.locator('.notes').textContent(), new RegExp(`another index.*about ${about}`, 's'));
  assert.deepEqual(await violations(page), []);
  await page.goto(`${served.url}/history?study=nightly`);
  assert.match(await page.locator('#table-changes tbody tr').last().textContent(), /another index/);
  assert.deepEqual(seen, []);
  await context.close();
});

/** Loads the page again, twice a second, until something is there. */
async function reloadUntilShown(page, wanted) {
  for (let count = 0; await wanted.count() === 0; count += 1) {
    assert.ok(count < 360, `${wanted} is not there after three minutes`);
    await setTimeout(500);
    await page.reload();
  }
}

test('a run of the command line is seen live to its end', async () => {
  const run = folder.spawn('run', 'studies/small.yaml', '--quiet');
  const { context, page, seen } = await open('/');
  await reloadUntilShown(page, page.locator('.badge.running'));
  await page.locator('tr', { hasText: 'running' }).locator('td.name > a').click();
  await page.waitForURL(/\/runs\//);
  const trials = join(folder.path, 'runs', decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)), 'trials');
  await page.getByRole('link', { name: 'Live view' }).click();
  await page.waitForSelector('#live-cells');
  assert.equal(await page.locator('#live-cells tbody tr').count(), 2);
  await page.locator('#live .spark path').first().waitFor({ state: 'attached' });
  assert.deepEqual(await violations(page), []);
  const before = await page.locator('.live-head').first().textContent();
  await page.waitForFunction((text) => document.querySelector('.live-head')?.textContent !== text, before);
  // The second trial that ends from now on began while it was followed.
  const ended = () => (existsSync(trials) ? readdirSync(trials).filter((entry) => !entry.startsWith('.')).length : 0);
  const wanted = ended() + 2;
  for (let count = 0; ended() < wanted; count += 1) {
    assert.ok(count < 360, 'no trial ends within three minutes');
    await setTimeout(500);
  }
  run.kill('SIGINT');
  await page.waitForSelector('html[data-ended=true]');
  assert.match(await page.locator('#live').textContent(), /Ended with exit code 130/);
  assert.equal(await page.locator('#live-status').textContent(), 'The run has ended.');
  await end(run);
  await page.locator('.eyebrow a').click();
  await page.getByRole('link', { name: 'Report' }).click();
  assert.match(await page.textContent('main'), /one process on this machine followed the run meanwhile/);
  assert.deepEqual(seen, []);
  await context.close();
});

test('a study is planned, started, watched, stopped, and run again', async () => {
  const { context, page, seen } = await open('/studies');
  await page.getByRole('link', { name: 'small' }).click();
  await page.getByLabel('connections').selectOption('2');
  await page.getByLabel('Repetitions').selectOption('quick');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  assert.match(await page.locator('pre').textContent(), /connections=2/);
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(`${served.url}/queue`);
  const ended = (how) => page.getByRole('heading', { name: how });
  await reloadUntilShown(page, ended(/exit code/));
  await page.getByRole('link', { name: /^Run small-/ }).first().click();
  await page.getByRole('link', { name: 'Run again and compare' }).click();
  assert.equal(await page.getByLabel('connections').inputValue(), '2');
  await page.getByLabel('Repetitions').selectOption('whole');
  await page.getByRole('button', { name: 'Show the plan' }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  const stop = page.getByRole('button', { name: 'Stop' });
  await reloadUntilShown(page, stop);
  assert.deepEqual(await violations(page), []);
  await stop.click();
  await reloadUntilShown(page, ended(/exit code 130/));
  assert.deepEqual(seen, []);
  await context.close();
});

test('the keyboard reaches filters, picks and links, and the theme stays on the next page', async () => {
  const { context, page, seen } = await open('/', { colorScheme: 'light' });
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  const reached = new Set();
  for (let step = 0; step < 40; step += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.name || document.activeElement.className || document.activeElement.tagName.toLowerCase()));
  }
  for (const wanted of ['q', 'study', 'first', 'second', 'sort', 'scroll runs']) assert.ok(reached.has(wanted), `${wanted} of ${[...reached]}`);
  await page.locator('input[name=first]').first().focus();
  await page.keyboard.press('Space');
  assert.ok(await page.locator('input[name=first]').first().isChecked());
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.click('#theme');
  const dark = await back();
  assert.notEqual(dark, light);
  const run = (await runNames(page)).find((name) => name.startsWith('nightly'));
  for (const path of [`/runs/${run}`, `/runs/${run}/report`, '/history?study=nightly']) {
    await page.goto(served.url + path);
    assert.equal(await back(), dark, path);
    assert.ok(await page.locator('#theme').isVisible(), path);
  }
  assert.deepEqual(seen, []);
  await context.close();
});
