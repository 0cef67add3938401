// GET /random?num=N with Express: a JSON list of N random numbers, each as a string of six digits.
'use strict';

const cluster = require('node:cluster');
const { availableParallelism } = require('node:os');

const { BACKLOG, LISTEN, PORT, TUNED, WORKERS } = process.env;
if (TUNED === 'true') process.env.NODE_ENV = 'production';
const express = require('express');

const workers = Number(WORKERS ?? (TUNED === 'true' ? availableParallelism() : 1));
const app = express();

function random() {
  return String(Math.floor(Math.random() * 1_000_000)).padStart(6, '0');
}

app.get('/random', (request, response) => {
  const num = request.query.num ?? '10';
  if (!/^\d{1,6}$/.test(num) || Number(num) > 100_000) {
    response.status(400).send('num is a number from 0 to 100000');
    return;
  }
  response.json(Array.from({ length: Number(num) }, random));
});

if (workers > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  cluster.on('exit', () => process.exit(1));
} else {
  // Without a backlog of its own Node.js takes 511.
  app.listen(Number(PORT), LISTEN, BACKLOG && Number(BACKLOG), (error) => {
    if (error) throw error;
  });
}
