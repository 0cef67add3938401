// What the orders' service does. It knows no transport: it calls the other two by the name of an action.
'use strict';

const { answer, refusal } = require('../answers');

const COLUMNS = 'id, customer, product, quantity, total_cents';
const LIST_MAX = 20;

module.exports = {
  async 'orders.place'({ db, call, settings }, { token, body: { product, quantity, reference } }) {
    const who = await call('customers.check', { token });
    if (who.status !== 200) return who;
    if (reference && settings.deduplicate) {
      const placed = await byReference(db, reference);
      if (placed) return answer(201, placed);
    }
    const taken = await call('catalogue.reserve', { body: { product, quantity } });
    if (taken.status !== 200) return taken;
    const { customer } = who.body;
    const total = taken.body.price_cents * quantity;
    try {
      return answer(201, await insert(db, settings, [customer, product, quantity, total], reference));
    } catch (problem) {
      // What was taken for nothing goes back. Where nobody knows whether the order stands, it does not: a stock that is short sells
      // nothing twice.
      if (isRefused(problem)) await call('catalogue.release', { body: { product, quantity } }).catch(() => {});
      const placed = settings.deduplicate && problem.code === DUPLICATE && (await byReference(db, reference));
      if (placed) return answer(201, placed);
      throw problem;
    }
  },

  async 'orders.order'({ db, call }, { token, parameters: { id } }) {
    const who = await call('customers.check', { token });
    if (who.status !== 200) return who;
    const found = await db.query({
      name: 'order',
      text: `SELECT ${COLUMNS} FROM orders WHERE id = $1 AND customer = $2`,
      values: [id, who.body.customer],
    });
    return found.rowCount ? answer(200, found.rows[0]) : refusal(404, `you have no order ${id}`);
  },

  async 'orders.list'({ db, call }, { token }) {
    const who = await call('customers.check', { token });
    if (who.status !== 200) return who;
    const found = await db.query({
      name: 'orders',
      text: `SELECT ${COLUMNS} FROM orders WHERE customer = $1 ORDER BY id DESC LIMIT ${LIST_MAX}`,
      values: [who.body.customer],
    });
    return answer(200, { orders: found.rows });
  },
};

// What PostgreSQL calls a row that stands there already.
const DUPLICATE = '23505';

// PostgreSQL has said no, and not only been lost (08) or stopped (57) in the middle.
function isRefused(problem) {
  return /^[0-9A-Z]{5}$/.test(problem.code || '') && !/^(08|57)/.test(problem.code);
}

async function byReference(db, { run, key }) {
  const found = await db.query({
    name: 'by-reference',
    text: `SELECT ${COLUMNS} FROM orders WHERE run = $1 AND key = $2 ORDER BY id LIMIT 1`,
    values: [run, key],
  });
  return found.rows[0];
}

async function insert(db, settings, [customer, product, quantity, total], reference) {
  const { run = null, key = null, sent = null } = reference || {};
  const placed = await db.query({
    name: 'place',
    text: `INSERT INTO orders (customer, product, quantity, total_cents, run, key, sent, once)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING ${COLUMNS}`,
    values: [customer, product, quantity, total, run, key, sent, settings.deduplicate && key !== null ? true : null],
  });
  return placed.rows[0];
}
