// GET /random?num=N with Node.js alone: a JSON list of N random numbers, each as a string of six digits.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const { availableParallelism } = require('node:os');

const { BACKLOG, LISTEN, PORT, TUNED, WORKERS } = process.env;
const workers = Number(WORKERS ?? (TUNED === 'true' ? availableParallelism() : 1));

function random() {
  return String(Math.floor(Math.random() * 1_000_000)).padStart(6, '0');
}

function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://service');
  if (request.method !== 'GET' || pathname !== '/random') {
    response.writeHead(404).end();
    return;
  }
  const num = searchParams.get('num') ?? '10';
  if (!/^\d{1,6}$/.test(num) || Number(num) > 100_000) {
    response.writeHead(400, { 'Content-Type': 'text/plain' }).end('num is a number from 0 to 100000');
    return;
  }
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(Array.from({ length: Number(num) }, random)));
}

if (workers > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  cluster.on('exit', () => process.exit(1));
} else {
  // Without a backlog of its own Node.js takes 511.
  http.createServer(answer).listen({ port: Number(PORT), host: LISTEN, ...(BACKLOG && { backlog: Number(BACKLOG) }) });
}
