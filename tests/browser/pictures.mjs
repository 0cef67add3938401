// Takes a picture of each page of waggle serve, in light, dark and on a phone: node pictures.mjs FOLDER. scripts/serve-pictures calls it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { launch } from './open.mjs';
import { Folder, end, serve, target } from './served.mjs';

const [to] = process.argv.slice(2);
const WAIT_MS = 180_000;
const LOOKS = {
  light: { viewport: { width: 1200, height: 760 } },
  dark: { viewport: { width: 1200, height: 760 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 760 }, isMobile: true, hasTouch: true },
};
/** The level changes at the fifteenth run. */
const TIMES = [...Array(20).keys()].map((run) => (run < 14 ? 10 : 13));

const folder = new Folder(TIMES);
const loaded = await target(folder, { repeat: 50 });
const served = await serve(folder, '--allow-run', 'studies');
writeFileSync(join(folder.path, 'token'), 'a-token-of-this-picture-alone\n');
const guarded = await serve(folder, '--token-file', 'token');
const browser = await launch();
try {
  await takePast();
  const run = folder.spawn('run', 'studies/small.yaml', '--quiet');
  try {
    await takeRunning();
  } finally {
    await end(run);
  }
  await takeLaunch();
} finally {
  await browser.close();
  await guarded.end();
  await served.end();
  loaded.end();
  folder.remove();
}

/** Leads to a page. */
function opener(path, server = served) {
  return (page) => page.goto(server.url + path);
}

/** A page in each look: `open` leads to it. */
async function take(name, open) {
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(WAIT_MS);
    const page = await context.newPage();
    await open(page);
    await page.screenshot({ path: join(to, `${name}-${look}.png`) });
    await context.close();
  }
}

/** The pages of runs that have ended. */
async function takePast() {
  const page = await browser.newPage();
  await page.goto(`${served.url}/`);
  const names = await page.locator('#runs td.name > a').allTextContents();
  await page.goto(`${served.url}/history?study=nightly`);
  const change = await page.locator('#table-changes tbody a[href*="?metric="]').first().getAttribute('href');
  const changed = change.split('?')[0];
  await page.goto(served.url + change);
  await page.getByRole('textbox', { name: /^Note/ }).fill('New disk: it is slower, and stays.');
  await page.getByRole('button', { name: 'Add the note' }).click();
  await page.waitForURL(/#notes$/);
  await page.close();
  await take('serve-list', opener('/'));
  await take('serve-run', opener(`/runs/${names[0]}`));
  await take('serve-note', async (shown) => {
    await shown.goto(served.url + change);
    await shown.locator('.note-form button').scrollIntoViewIfNeeded();
  });
  await take('serve-report', opener(`${changed}/report`));
  await take('serve-compare', opener(`/compare?first=${names.at(-1)}&second=${names[0]}`));
  await take('serve-history', opener('/history?study=nightly'));
  await take('serve-login', opener('/', guarded));
}

/** The live view, some trials after the start. */
async function takeRunning() {
  const page = await browser.newPage();
  const link = page.locator('tr', { hasText: 'running' }).locator('td.name > a');
  for (let count = 0; await link.count() === 0; count += 1) {
    if (count === 60) throw new Error('the run has not begun after a minute');
    await setTimeout(1_000);
    await page.goto(`${served.url}/`);
  }
  const path = `${await link.getAttribute('href')}/live`;
  await page.close();
  await setTimeout(20_000);
  await take('serve-live', async (shown) => {
    await shown.goto(served.url + path);
    // Between two trials there is nothing to draw.
    await shown.locator('#live .spark path[d*="L"]').first().waitFor({ state: 'attached' });
  });
}

/** The form of a study, its plan, and the queue. */
async function takeLaunch() {
  const form = '/studies/form?study=small.yaml';
  await take('serve-form', opener(form));
  const plan = async (page) => {
    await page.goto(served.url + form);
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.locator('pre').first().waitFor();
  };
  await take('serve-plan', plan);
  const page = await browser.newPage();
  await plan(page);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/queue$/);
  await setTimeout(5_000);
  await take('serve-queue', opener('/queue'));
  await page.goto(`${served.url}/queue`);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.close();
}
