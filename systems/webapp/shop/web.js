// A server of HTTP as every process of the shop has it.
'use strict';

const fastify = require('fastify');
const { answer, refusal } = require('./answers');
const { answerTo } = require('./talk/failure');

const BODY_MAX_BYTES = 64 * 1024;
const RETRY_AFTER_S = '1';

// `settings.inFlightMax`: more requests than this at once are refused.
function server({ inFlightMax }, meters) {
  const app = fastify({ bodyLimit: BODY_MAX_BYTES, keepAliveTimeout: 75_000, forceCloseConnections: 'idle', exposeHeadRoutes: false });
  let inFlight = 0;
  app.decorateRequest('isCounted', false);
  app.addHook('onRequest', async (request, reply) => {
    if (inFlight >= inFlightMax) {
      meters.counts.refused += 1;
      return send(reply, refusal(503, 'too much is under way'));
    }
    inFlight += 1;
    request.isCounted = true;
    return undefined;
  });
  const over = (request) => {
    if (request.isCounted) inFlight -= 1;
    request.isCounted = false;
  };
  app.addHook('onResponse', async (request) => over(request));
  app.addHook('onRequestAbort', async (request) => over(request));
  app.setErrorHandler((problem, request, reply) => send(reply, told(problem)));
  app.setNotFoundHandler((request, reply) => send(reply, refusal(404, `there is no ${request.method} ${request.url}`)));
  return app;
}

// What a client is told of something that was thrown.
function told(problem) {
  const known = answerTo(problem);
  if (known) return known;
  if (problem.statusCode >= 400 && problem.statusCode < 500) return refusal(problem.statusCode, problem.message);
  console.error(problem);
  return refusal(500, 'a mistake of the shop; see its log');
}

function send(reply, { status, body }) {
  if (status === 503) reply.header('retry-after', RETRY_AFTER_S);
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}

// What was asked, as actions take it.
function input(request) {
  const { authorization = '' } = request.headers;
  const token = authorization.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : null;
  return { token, parameters: { ...request.query, ...request.params }, body: request.body };
}

module.exports = { answer, input, send, server };
