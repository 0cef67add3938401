// A component of the shop: one process that starts its workers, shows what they count, and ends with them.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const { Meters, shown } = require('./meters');

// A worker that has not told by then what it counts is shown with what it told before.
const TELL_AT_MOST_MS = 250;
// What a worker may take to finish what it has begun.
const CLOSE_AT_MOST_MS = 5_000;

// `settings`: of the component; `work`: loads what a worker does, by transport: a function that makes it, which is ready when the
// promise is kept, and gives its `close`. The process above loads none of it: libraries take most of the time of a start.
function run(settings, work) {
  if (cluster.isPrimary) lead(settings);
  else toil(settings, work);
}

function lead({ workers, listen, operationsPort }) {
  const told = new Map();
  let isEnding = false;
  cluster.on('message', (worker, message) => told.set(worker.id, message));
  cluster.on('exit', (worker, code, signal) => {
    if (!isEnding) {
      console.error(`a worker ended (${signal || code})`);
      process.exitCode = 1;
      end('SIGKILL');
    }
    if (!Object.keys(cluster.workers).length) process.exit();
  });
  const end = (signal) => {
    isEnding = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill(signal);
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => end('SIGTERM'));
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  const operations = http.createServer(async (request, response) => {
    if (request.url === '/metrics') {
      await Promise.all(Object.values(cluster.workers).map(asked));
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      return response.end(shown([...told.values()]));
    }
    const isReady = told.size === workers;
    response.statusCode = request.url !== '/readyz' ? 404 : isReady ? 200 : 503;
    response.end(isReady ? 'ready\n' : 'starting\n');
  });
  operations.listen(operationsPort, listen);
}

// Asks a worker for what it counts, and waits until it has told.
function asked(worker) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      worker.off('message', told);
      resolve();
    }, TELL_AT_MOST_MS);
    const told = () => {
      clearTimeout(timer);
      resolve();
    };
    worker.once('message', told);
    // One that is just ending does not tell any more.
    worker.send('tell', () => {});
  });
}

async function toil(settings, work) {
  const meters = new Meters();
  let close = async () => {};
  let isEnding = false;
  const end = async () => {
    if (isEnding) return;
    isEnding = true;
    await Promise.race([close(CLOSE_AT_MOST_MS), new Promise((resolve) => setTimeout(resolve, CLOSE_AT_MOST_MS))]);
    process.exit();
  };
  process.on('SIGTERM', end);
  // An interrupt of the terminal is for the one above, which says what is to be done.
  process.on('SIGINT', () => {});
  process.on('disconnect', end);
  try {
    close = await work()[settings.transport](settings, meters);
  } catch (problem) {
    console.error(problem);
    process.exit(1);
  }
  const tell = () => process.connected && process.send(meters.told());
  // The first time it says that it is ready.
  tell();
  process.on('message', tell);
}

module.exports = { run };
