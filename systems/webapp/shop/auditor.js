// Beside the shop, not part of it: makes the tables and fills them before the services start, shows what stands in
// PostgreSQL of the orders that carry a reference, and what PostgreSQL counts.
'use strict';

const http = require('node:http');
const { scryptSync } = require('node:crypto');
const { connect } = require('./database');
const settings = require('./settings');
const { SCRYPT } = require('./passwords');

const PRODUCTS = 1_000;
const CUSTOMERS = 1_000;
const STOCK = 1_000_000_000;
const LIMIT_MAX = 100_000;
const CONNECTIONS = 2;
const QUERY_AT_MOST_MS = 10_000;

const { db } = settings.storing();
const { port, listen } = settings.listening();
// Sizes as texts, as PostgreSQL sends them: keys are longer than what a double holds.
const pool = connect(
  { db: { ...db, connections: CONNECTIONS }, timeoutMs: QUERY_AT_MOST_MS },
  { types: { getTypeParser: () => (value) => value } },
);

const TABLES = `
  CREATE TABLE products (
    id bigint PRIMARY KEY, name text NOT NULL, text text NOT NULL, price_cents bigint NOT NULL, stock bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE customers (
    id bigint PRIMARY KEY, name text NOT NULL UNIQUE, town text NOT NULL, salt text NOT NULL, hash bytea NOT NULL
  );
  CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer bigint NOT NULL, product bigint NOT NULL, quantity bigint NOT NULL, total_cents bigint NOT NULL,
    run text, key bigint, sent bigint, once boolean,
    made xid8 NOT NULL DEFAULT pg_current_xact_id()
  );
  CREATE INDEX ON orders (customer, id);
  CREATE INDEX ON orders (made);
  CREATE INDEX ON orders (run, key);
  CREATE UNIQUE INDEX ON orders (run, key) WHERE once`;

// PostgreSQL takes connections before it takes commands; and it may be there from an earlier life.
const PREPARE_AT_MOST_MS = 20_000;
const PREPARE_AGAIN_MS = 100;

async function prepared() {
  const until = Date.now() + PREPARE_AT_MOST_MS;
  for (;;) {
    try {
      const found = await pool.query("SELECT to_regclass('orders') IS NOT NULL AS there");
      if (found.rows[0].there === 'f') await prepare();
      return;
    } catch (problem) {
      if (Date.now() >= until) throw problem;
      await new Promise((resolve) => setTimeout(resolve, PREPARE_AGAIN_MS));
    }
  }
}

async function prepare() {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await fill(client);
    await client.query('COMMIT');
    await client.query('ANALYZE');
  } catch (problem) {
    await client.query('ROLLBACK').catch(() => {});
    throw problem;
  } finally {
    client.release();
  }
}

async function fill(client) {
  await client.query(TABLES);
  await client.query(
    `INSERT INTO products SELECT n, 'Product ' || n, repeat('What there is to say of it. ', 4), 100 + n * 37 % 9900, $1
     FROM generate_series(1, $2::bigint) AS n`,
    [STOCK, PRODUCTS],
  );
  // One salt and password for all: no customer of this shop has anything to hide.
  const hash = scryptSync('secret', 'salt', SCRYPT.length, SCRYPT);
  await client.query(
    `INSERT INTO customers SELECT n, 'customer-' || n, 'Town ' || n % 50, 'salt', $1 FROM generate_series(1, $2::bigint) AS n`,
    [hash, CUSTOMERS],
  );
}

// Orders with a reference, in the order in which they were found; a line's place in it is its offset.
const lines = [];
let seenUpTo = '0';
// When the PostgreSQL was started in which they were found.
let life = null;

// Adds the orders of transactions that ended since. One that began earlier may still be under way: only those are looked
// at before which nothing is open any more, so that none is passed over.
async function look() {
  const found = await pool.query({
    name: 'orders',
    text: `WITH edge AS (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xmin)
           SELECT run, key, sent, edge.xmin AS upto, pg_postmaster_start_time() AS life FROM edge
           LEFT JOIN orders ON made >= $1::xid8 AND made < edge.xmin AND run IS NOT NULL ORDER BY made, id`,
    values: [seenUpTo],
  });
  if (life !== null && life !== found.rows[0].life) {
    // Another life: what stood in the one before may be gone, so all is found anew.
    lines.length = 0;
    seenUpTo = '0';
    life = found.rows[0].life;
    return look();
  }
  life = found.rows[0].life;
  for (const { run, key, sent } of found.rows) if (run !== null) lines.push(`"run":"${run}","key":${key},"time":${sent}}\n`);
  seenUpTo = found.rows[0].upto;
}

// One look at a time; whoever comes meanwhile waits for the next one.
let looking = Promise.resolve();
function looked() {
  looking = looking.catch(() => {}).then(look);
  return looking;
}

async function orders(query) {
  const number = (name, fallback) => {
    const value = Number(query.get(name) ?? fallback);
    return Number.isInteger(value) && value >= 0 ? value : fallback;
  };
  const offset = number('offset', 0);
  const limit = Math.min(number('limit', LIMIT_MAX), LIMIT_MAX);
  await looked();
  return lines.slice(offset, offset + limit).map((line, place) => `{"offset":${offset + place},${line}`).join('');
}

async function metrics() {
  const found = await pool.query(
    `SELECT numbackends, xact_commit, xact_rollback, deadlocks,
       (SELECT count(*) FROM pg_stat_activity WHERE datname = 'shop' AND state = 'active') AS active,
       (SELECT sum($1 - stock) FROM products) - (SELECT coalesce(sum(quantity), 0) FROM orders) AS astray
     FROM pg_stat_database WHERE datname = 'shop'`,
    [STOCK],
  );
  const row = found.rows[0];
  return [
    `postgresql_connections ${row.numbackends}`,
    `postgresql_connections_active ${row.active}`,
    `postgresql_commits_total ${row.xact_commit}`,
    `postgresql_rollbacks_total ${row.xact_rollback}`,
    `postgresql_deadlocks_total ${row.deadlocks}`,
    `shop_stock_astray ${row.astray}\n`,
  ].join('\n');
}

async function answer(request) {
  const { pathname, searchParams } = new URL(request.url, 'http://auditor');
  if (pathname === '/readyz') return [200, 'ready\n'];
  if (pathname === '/orders') return [200, await orders(searchParams)];
  if (pathname === '/metrics') return [200, await metrics()];
  return [404, `there is no ${pathname}\n`];
}

async function main() {
  await prepared();
  const server = http.createServer((request, response) => {
    answer(request)
      .catch((problem) => [503, `${problem.message}\n`])
      .then(([status, text]) => {
        response.statusCode = status;
        response.end(text);
      });
  });
  server.listen(port, listen);
  const end = () => {
    server.close();
    server.closeIdleConnections();
    pool.end().finally(() => process.exit());
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
}

main().catch((problem) => {
  console.error(problem);
  process.exit(1);
});
