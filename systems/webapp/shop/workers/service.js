// What a worker of one of the shop's services does, on either transport.
'use strict';

const { checksOf } = require('../checks');
const { connect } = require('../database');
const { refusal } = require('../answers');
const { answerTo } = require('../talk/failure');
const web = require('../web');

const service = process.argv[2];
const actions = require(`../logic/${service}`);
const mistake = checksOf(service);

// Carries out actions: what was asked is checked, what goes wrong becomes an answer.
function carrying(context) {
  return async (action, asked) => {
    const input = { ...asked, body: read(asked.body) };
    if (input.body === NO_JSON) return refusal(400, 'body is not JSON');
    const wrong = mistake(action, input);
    if (wrong) return refusal(400, wrong);
    try {
      return await actions[action](context, input);
    } catch (problem) {
      const known = answerTo(problem);
      if (known) return known;
      console.error(problem);
      if (isLate(problem)) return refusal(504, 'the database did not answer in time');
      return isOfDatabase(problem) ? refusal(503, 'the database cannot be asked') : refusal(500, 'a mistake of the shop; see its log');
    }
  };
}

const NO_JSON = Symbol('no JSON');

// A body that came from outside is a text still.
function read(body) {
  if (typeof body !== 'string') return body;
  try {
    return JSON.parse(body);
  } catch {
    return NO_JSON;
  }
}

// The server cancelled the statement, or the driver gave it up.
const CANCELLED = '57014';
function isLate(problem) {
  return problem.code === CANCELLED || /timeout/i.test(problem.message);
}

// Errors of the connection have a code of the system, those of the server's state one that begins so.
function isOfDatabase(problem) {
  return /^(ECONN|EPIPE|ETIMEDOUT|08|53|57)/.test(problem.code || '') || /terminated/i.test(problem.message);
}

async function overHttp(all, meters) {
  const { Rest, pathsOf } = require('../talk/rest');
  const rest = new Rest(all, meters);
  const db = connect(all);
  const carryOut = carrying({ db, settings: all, call: (action, input) => rest.call(action, input) });
  const app = web.server();
  const admitted = web.admission(all, meters);
  for (const { action, method, path } of pathsOf(service)) {
    const handler = async (request, reply) => web.send(reply, await carryOut(action, web.input(request)));
    app.route({ method, url: path, handler: admitted(handler) });
  }
  await app.listen({ port: all.port, host: all.listen });
  return async () => {
    await app.close();
    await rest.close();
    await db.end();
  };
}

async function overRabbitMq(all, meters) {
  const { RabbitMq } = require('../talk/rabbitmq');
  const bus = new RabbitMq(all, meters);
  const db = connect(all);
  const carryOut = carrying({ db, settings: all, call: (action, input) => bus.call(action, input) });
  await bus.open({ service, actions: Object.keys(actions), carryOut });
  return async (atMostMs) => {
    await bus.close(atMostMs);
    await db.end();
  };
}

module.exports = { rest: overHttp, rabbitmq: overRabbitMq };
