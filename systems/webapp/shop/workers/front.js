// What a worker of the front does: over REST it is a gateway, which hands requests on by method and path; over RabbitMQ a web
// edge, which publishes them as events and answers when the reply comes.
'use strict';

const { calls, document } = require('../calls');
const web = require('../web');

function described(app) {
  app.get('/openapi.json', async () => document);
  return app;
}

async function gateway(all, meters) {
  const { Rest } = require('../talk/rest');
  const rest = new Rest(all, meters);
  const app = described(web.server());
  const admitted = web.admission(all, meters);
  for (const { service, method, path } of calls) {
    app.route({ method, url: path, handler: admitted((request, reply) => handOn(rest, service, request, reply)) });
  }
  await app.listen({ port: all.port, host: all.listen });
  return async () => {
    await app.close();
    await rest.close();
  };
}

const HANDED_ON = ['authorization', 'content-type'];

async function handOn(rest, service, request, reply) {
  const names = HANDED_ON.filter((name) => request.headers[name]);
  const headers = Object.fromEntries(names.map((name) => [name, request.headers[name]]));
  const { status, text } = await rest.ask(service, { method: request.method, path: request.raw.url, headers, body: request.body });
  return web.sendText(reply, status, text);
}

async function edge(all, meters) {
  const { RabbitMq } = require('../talk/rabbitmq');
  const bus = new RabbitMq(all, meters);
  await bus.open(null);
  const app = described(web.server());
  const admitted = web.admission(all, meters);
  for (const { action, method, path } of calls) {
    const handler = async (request, reply) => {
      const { status, text } = await bus.ask(action, web.input(request));
      return web.sendText(reply, status, text);
    };
    app.route({ method, url: path, handler: admitted(handler) });
  }
  await app.listen({ port: all.port, host: all.listen });
  return async (atMostMs) => {
    await app.close();
    await bus.close(atMostMs);
  };
}

module.exports = { rest: gateway, rabbitmq: edge };
