// A server of HTTP as every process of the shop has it.
'use strict';

const fastify = require('fastify');
const { refusal } = require('./answers');
const { answerTo } = require('./talk/failure');

const BODY_MAX_BYTES = 64 * 1024;
const RETRY_AFTER_S = '1';

function server() {
  const app = fastify({ bodyLimit: BODY_MAX_BYTES, keepAliveTimeout: 75_000, forceCloseConnections: 'idle', exposeHeadRoutes: false });
  // Bodies stay texts: who acts on one reads it, and whoever hands it on does not.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => done(null, body));
  app.setErrorHandler((problem, request, reply) => send(reply, told(problem)));
  app.setNotFoundHandler((request, reply) => send(reply, refusal(404, `there is no ${request.method} ${request.url}`)));
  return app;
}

// Handlers of which no more than `inFlightMax` are at work at once; beyond that requests are refused. A client that goes away takes
// nothing off: what was begun for it is still under way.
function admission({ inFlightMax }, meters) {
  let inFlight = 0;
  return (handler) => async (request, reply) => {
    if (inFlight >= inFlightMax) {
      meters.counts.refused += 1;
      return send(reply, refusal(503, 'too much is under way'));
    }
    inFlight += 1;
    try {
      return await handler(request, reply);
    } finally {
      inFlight -= 1;
    }
  };
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
  return sendText(reply, status, JSON.stringify(body));
}

function sendText(reply, status, text) {
  if (status === 503) reply.header('retry-after', RETRY_AFTER_S);
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text);
}

// What was asked, as actions take it; the body as it came.
function input(request) {
  const { authorization = '' } = request.headers;
  const token = authorization.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : null;
  return { token, parameters: { ...request.query, ...request.params }, body: request.body };
}

module.exports = { admission, input, send, sendText, server };
