// What clients talk to: over REST a gateway, which hands requests on by method and path; over RabbitMQ a web edge, which
// publishes them as events and answers when the reply comes.
'use strict';

const { calls, document } = require('./calls');
const settings = require('./settings');
const web = require('./web');
const { run } = require('./component');

function described(app) {
  app.get('/openapi.json', async () => document);
  return app;
}

async function gateway(all, meters) {
  const { Rest } = require('./talk/rest');
  const rest = new Rest(all, meters);
  const app = described(web.server(all, meters));
  // Bodies go on as they came.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => done(null, body));
  for (const { service, method, path } of calls) {
    app.route({ method, url: path, handler: (request, reply) => handOn(rest, service, request, reply) });
  }
  await app.listen({ port: all.port, host: '127.0.0.1' });
  return async () => {
    await app.close();
    await rest.close();
  };
}

const HANDED_ON = ['authorization', 'content-type'];

async function handOn(rest, service, request, reply) {
  const names = HANDED_ON.filter((name) => request.headers[name]);
  const headers = Object.fromEntries(names.map((name) => [name, request.headers[name]]));
  const { status, type, text } = await rest.ask(service, { method: request.method, path: request.raw.url, headers, body: request.body });
  if (status === 503) reply.header('retry-after', '1');
  return reply.code(status).header('content-type', type).send(text);
}

async function edge(all, meters) {
  const { RabbitMq } = require('./talk/rabbitmq');
  const bus = new RabbitMq(all, meters);
  await bus.open(null);
  const app = described(web.server(all, meters));
  for (const { action, method, path } of calls) {
    const handler = async (request, reply) => web.send(reply, await bus.call(action, web.input(request)));
    app.route({ method, url: path, handler });
  }
  await app.listen({ port: all.port, host: '127.0.0.1' });
  return async (atMostMs) => {
    await app.close();
    await bus.close(atMostMs);
  };
}

const common = { ...settings.common(), ...settings.listening() };
if (common.transport === 'rest') run({ ...common, ...settings.calling() }, gateway);
else run({ ...common, ...settings.messaging() }, edge);
