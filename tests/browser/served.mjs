// waggle serve over a folder of runs that waggle import makes, and a server to load: what every test of served pages starts from.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
// `cargo xtask test` has built it.
const WAGGLE = process.env.WAGGLE ?? join(ROOT, 'target/debug/waggle');
const FIRST_RUN_MS = 1_767_225_600_000;
const DAY_MS = 86_400_000;

/** A folder of runs of one study, of which requests take `times` ms, a run each, and a study in `studies`. */
export class Folder {
  constructor(times) {
    this.path = mkdtempSync(join(tmpdir(), 'waggle-serve-'));
    this.environment = {
      ...process.env, XDG_CACHE_HOME: join(this.path, 'cache'), XDG_STATE_HOME: join(this.path, 'state'),
    };
    mkdirSync(join(this.path, 'runs'));
    mkdirSync(join(this.path, 'runs/half-written'));
    writeFileSync(join(this.path, 'runs/half-written/study.yaml'), '');
    mkdirSync(join(this.path, 'studies'));
    times.forEach((ms, day) => this.import(ms, day));
  }

  import(ms, day) {
    const files = [0, 1, 2].map((trial) => {
      const start = FIRST_RUN_MS + day * DAY_MS + trial * 60_000;
      const noise = (request) => 1 + 0.04 * Math.sin(7 * request + 3 * trial + 11 * day);
      const rows = [...Array(60).keys()].map((request) => `${start + 2 * ms * request},${(ms * noise(request)).toFixed(3)},200`);
      const file = `${day}-${trial}.csv`;
      writeFileSync(join(this.path, file), `begun,took,code\n${rows.join('\n')}\n`);
      return file;
    });
    const columns = ['start=begun:ms', 'duration=took:ms', 'status=code'].flatMap((column) => ['--column', column]);
    this.waggle('import', 'csv', ...files, ...columns, '--name', 'nightly');
  }

  waggle(...words) {
    return execFileSync(WAGGLE, words, { cwd: this.path, env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  spawn(...words) {
    return spawn(WAGGLE, words, { cwd: this.path, env: this.environment, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  remove() {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Ends a process as Ctrl-C does, and waits for it. */
export async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  await ended;
}

/** waggle serve of the folder, at a free port. */
export async function serve(folder, ...flags) {
  const child = folder.spawn('serve', 'runs', '--listen', '127.0.0.1:0', ...flags);
  const lines = createInterface({ input: child.stderr });
  const [line] = await once(lines, 'line');
  const url = line.match(/http:\/\/[^/]+/)[0];
  return { child, url, end: () => end(child) };
}

/** A server that answers every request, and a study of it in the folder. */
export async function target(folder, { repeat = 2, measure = '3s' } = {}) {
  const server = createServer((request, answer) => answer.end('hello'));
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  writeFileSync(join(folder.path, 'studies/small.yaml'), `study: small
question: How fast are two connections?
system: { url: 'http://127.0.0.1:${server.address().port}' }
factors: { connections: [1, 2] }
load:
  model: closed
  connections: \${connections}
  request: { name: hello, get: / }
schedule: { warm_up: 1s, measure: ${measure}, repeat: ${repeat} }
`);
  return { end: () => { server.closeAllConnections(); server.close(); } };
}
