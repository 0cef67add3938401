// Chromium and the reports to open: what every test here starts from.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { chromium } from 'playwright-core';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
/** Nothing in a page that is one file takes longer. */
const WAIT_MS = 180_000;

/** A missing browser is a failure, never a skip. */
export async function launch() {
  if (!existsSync(CHROMIUM)) throw new Error(`no Chromium at ${CHROMIUM}; install Debian's chromium or name one in CHROMIUM`);
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: WAIT_MS });
}

const made = [];

/** The path of a seeded report, written by the crate's example. */
export function seeded(study) {
  const folder = mkdtempSync(join(tmpdir(), `waggle-report-${study}-`));
  made.push(folder);
  // `cargo xtask test` has built the example and names it, so that nothing is built while other tests run.
  const program = process.env.WAGGLE_SEEDED_REPORT;
  const [command, ...before] = program ? [program] : ['cargo', 'run', '--quiet', '--package', 'waggle-report', '--example', 'seeded_report'];
  execFileSync(command, [...before, join(folder, 'run'), study], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  return join(folder, 'run', 'report.html');
}

export function cleanUp() {
  made.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true }));
}

/** The report the tests look at: REPORT, or the seeded ingest study. */
export const reportPath = () => (process.env.REPORT ? resolve(process.env.REPORT) : seeded('ingest'));

/** Opens a report in a context of its own; `seen` collects errors and requests that leave the file. */
export async function open(browser, path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  const seen = { errors: [], requests: [] };
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) seen.errors.push(message.text()); });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('request', (request) => {
    const to = request.url();
    if (to !== url && !to.startsWith('data:')) seen.requests.push(to);
  });
  await page.goto(url);
  if (options.javaScriptEnabled !== false) {
    // A script that ended with an error will never be ready.
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'true' || document.readyState === 'complete');
    assert.deepEqual(seen.errors, [], 'the page starts without errors');
    await page.waitForSelector('html[data-ready="true"]');
  }
  return { context, page, seen };
}
