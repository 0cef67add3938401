// What the environment says, checked once. Durations are written as waggle writes them: 250ms, 5s.
'use strict';

const UNITS_MS = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

function text(name, fallback) {
  const value = process.env[name] ?? fallback;
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}

function integer(name, least, most) {
  const value = Number(text(name));
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new Error(`${name} must be a whole number from ${least} to ${most}, not ${process.env[name]}`);
  }
  return value;
}

function milliseconds(name) {
  const found = /^([0-9.]+)(us|ms|s|m)$/.exec(text(name));
  if (!found) throw new Error(`${name} must be a duration such as 250ms or 5s, not ${process.env[name]}`);
  return Math.max(1, Math.round(Number(found[1]) * UNITS_MS[found[2]]));
}

function flag(name) {
  const value = text(name);
  if (value !== 'true' && value !== 'false') throw new Error(`${name} must be true or false, not ${value}`);
  return value === 'true';
}

// What only some configurations have stands in the arguments: --NAME=VALUE.
function argument(name) {
  const found = process.argv.find((one) => one.startsWith(`--${name}=`));
  if (!found) throw new Error(`--${name}=… is missing`);
  return found.slice(name.length + 3);
}

function addresses(name) {
  return text(name).split(',');
}

// Without overload protection: how long a call waits, and what an HTTP server takes on, which no client reaches.
const PATIENCE_MS = 60_000;
const IN_FLIGHT_ANY = 1_000_000;

// Of every process of the shop.
function common() {
  const isProtected = flag('SHOP_OVERLOAD_PROTECTION');
  const timeoutMs = milliseconds('SHOP_TIMEOUT');
  const inFlightMax = integer('SHOP_IN_FLIGHT_LIMIT', 1, IN_FLIGHT_ANY);
  const transport = text('SHOP_TRANSPORT');
  return {
    transport,
    listen: text('SHOP_LISTEN'),
    operationsPort: integer('SHOP_OPERATIONS_PORT', 1, 65535),
    workers: integer('SHOP_WORKERS', 1, 64),
    timeoutMs: isProtected ? timeoutMs : PATIENCE_MS,
    retries: integer('SHOP_RETRIES', 0, 10),
    // Over RabbitMQ it is the queues that have a limit.
    inFlightMax: isProtected && transport === 'rest' ? inFlightMax : IN_FLIGHT_ANY,
  };
}

// Of those that others call over HTTP.
function listening() {
  return { listen: text('SHOP_LISTEN'), port: integer('SHOP_PORT', 1, 65535) };
}

// Of those that call over HTTP.
function calling() {
  const of = (service) => addresses(`SHOP_${service.toUpperCase()}`);
  return {
    pool: integer('SHOP_POOL', 1, 10_000),
    services: { catalogue: of('catalogue'), customers: of('customers'), orders: of('orders') },
  };
}

// Of those on RabbitMQ.
function messaging() {
  const isProtected = flag('SHOP_OVERLOAD_PROTECTION');
  const expireEvents = flag('SHOP_EXPIRE_EVENTS');
  const queueLimit = integer('SHOP_QUEUE_LIMIT', 0, 100_000_000);
  return {
    url: `amqp://shop:${encodeURIComponent(text('SHOP_RABBITMQ_PASSWORD'))}@${argument('rabbitmq')}?heartbeat=5`,
    prefetch: integer('SHOP_PREFETCH', 1, 65_535),
    persistent: flag('SHOP_PERSISTENT'),
    confirms: flag('SHOP_CONFIRMS'),
    expireEvents: isProtected && expireEvents,
    queueLimit: isProtected ? queueLimit : 0,
    overflow: text('SHOP_OVERFLOW'),
  };
}

// Of those with the database.
function storing() {
  const [host, port] = text('SHOP_POSTGRESQL').split(':');
  return {
    db: { host, port: Number(port), password: text('SHOP_POSTGRESQL_PASSWORD'), connections: integer('SHOP_DB_POOL', 1, 1000) },
  };
}

// Of services.
function logic() {
  return { tokenSecret: text('SHOP_TOKEN_SECRET'), deduplicate: flag('SHOP_DEDUPLICATE') };
}

module.exports = { calling, common, listening, logic, messaging, storing };
