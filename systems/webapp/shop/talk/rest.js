// The shop over HTTP: services serve their actions as paths, and call each other's.
'use strict';

const { Pool } = require('undici');
const { calls } = require('../calls');
const { insisting, timedOut, unreachable } = require('./failure');

// Calls that only services make.
const INTERNAL = [
  { action: 'customers.check', method: 'GET', path: '/internal/sessions/current' },
  { action: 'catalogue.reserve', method: 'POST', path: '/internal/reservations' },
  { action: 'catalogue.release', method: 'POST', path: '/internal/releases' },
];
const internal = new Map(INTERNAL.map((call) => [call.action, call]));

class Rest {
  constructor(settings, meters) {
    this.settings = settings;
    this.meters = meters;
    this.pools = {};
    this.turns = {};
    for (const [service, addresses] of Object.entries(settings.services)) {
      this.turns[service] = 0;
      this.pools[service] = addresses.map(
        (address) =>
          new Pool(`http://${address}`, { connections: settings.pool, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 }),
      );
    }
  }

  // What a service's action answers: `{ status, body }`.
  async call(action, { token, body }) {
    const { method, path } = internal.get(action);
    const headers = { 'content-type': 'application/json' };
    if (token) headers.authorization = `Bearer ${token}`;
    const sent = { method, path, headers, body: method === 'GET' ? undefined : JSON.stringify(body) };
    const { status, text } = await this.ask(action.split('.')[0], sent);
    return { status, body: JSON.parse(text) };
  }

  // Sends a request to the next replica of a service, for as long as a call may take.
  ask(service, request) {
    return insisting(this.settings, this.meters, () => this.once(service, request));
  }

  async once(service, request) {
    const pools = this.pools[service];
    this.turns[service] = (this.turns[service] + 1) % pools.length;
    const pool = pools[this.turns[service]];
    this.meters.waiting += 1;
    try {
      const signal = AbortSignal.timeout(this.settings.timeoutMs);
      const response = await pool.request({ ...request, signal });
      const text = await response.body.text();
      return { status: response.statusCode, text };
    } catch (problem) {
      if (problem.name !== 'TimeoutError') throw unreachable(service, problem.code || problem.message);
      this.meters.counts.timed_out += 1;
      throw timedOut(service, this.settings.timeoutMs);
    } finally {
      this.meters.waiting -= 1;
    }
  }

  async close() {
    const pools = Object.values(this.pools).flat();
    await Promise.allSettled(pools.map((pool) => pool.destroy()));
  }
}

// The paths of a service: each is one of its actions.
function pathsOf(service) {
  const own = ({ action }) => action.startsWith(`${service}.`);
  return [...calls, ...INTERNAL].filter(own);
}

module.exports = { Rest, pathsOf };
