// GET /random?num=N with Fastify: a JSON list of N random numbers, each as a string of six digits.
'use strict';

const cluster = require('node:cluster');
const { availableParallelism } = require('node:os');
const fastify = require('fastify');

const { BACKLOG, LISTEN, PORT, TUNED, WORKERS } = process.env;
const workers = Number(WORKERS ?? (TUNED === 'true' ? availableParallelism() : 1));

function random() {
  return String(Math.floor(Math.random() * 1_000_000)).padStart(6, '0');
}

// Of the type integer, spaces and hexadecimal numbers would be valid, too.
const schema = {
  querystring: {
    type: 'object',
    properties: { num: { type: 'string', pattern: '^([0-9]{1,5}|100000)$', default: '10' } },
  },
};
// With the schema of an answer Fastify compiles a function that writes it.
if (TUNED === 'true') schema.response = { 200: { type: 'array', items: { type: 'string' } } };

const app = fastify();
app.get('/random', { schema }, async (request) => Array.from({ length: Number(request.query.num) }, random));

if (workers > 1 && cluster.isPrimary) {
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  cluster.on('exit', () => process.exit(1));
} else {
  // Without a backlog of its own Node.js takes 511.
  app.listen({ port: Number(PORT), host: LISTEN, ...(BACKLOG && { backlog: Number(BACKLOG) }) }).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
