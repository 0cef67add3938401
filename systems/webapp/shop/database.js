// The connections to PostgreSQL of one process.
'use strict';

const pg = require('pg');

const BIGINT = 20;
// Numbers of rows and cents; none of them comes near what a double cannot hold.
pg.types.setTypeParser(BIGINT, Number);

// `more`: settings of the driver beyond these.
function connect({ db, timeoutMs }, more = {}) {
  const pool = new pg.Pool({
    host: db.host,
    port: db.port,
    user: 'shop',
    database: 'shop',
    password: db.password,
    max: db.connections,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    // The server may be gone without a word; nobody waits longer than this for it.
    query_timeout: timeoutMs + 1000,
    ...more,
  });
  // An idle connection that is lost is replaced when the next one is needed.
  pool.on('error', (problem) => console.error(`a connection to PostgreSQL is lost: ${problem.message}`));
  return pool;
}

module.exports = { connect };
