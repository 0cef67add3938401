// What the customers' service does. It knows no transport.
'use strict';

const { createHmac, scrypt, timingSafeEqual } = require('node:crypto');
const { promisify } = require('node:util');
const { answer, refusal } = require('../answers');
const { SCRYPT } = require('../passwords');

const derive = promisify(scrypt);
const COLUMNS = 'id, name, town';

module.exports = {
  async 'customers.login'({ db, settings }, { body: { name, password } }) {
    const found = await db.query({
      name: 'login',
      text: `SELECT ${COLUMNS}, salt, hash FROM customers WHERE name = $1`,
      values: [name],
    });
    const customer = found.rows[0];
    const hash = await derive(password, customer ? customer.salt : 'nobody', SCRYPT.length, SCRYPT);
    if (!customer || !timingSafeEqual(hash, customer.hash)) return refusal(401, 'name or password is wrong');
    const { id, town } = customer;
    return answer(201, { token: token(id, settings.tokenSecret), customer: { id, name, town } });
  },

  async 'customers.me'({ db, settings }, { token }) {
    const id = customerOf(token, settings.tokenSecret);
    const found = id && (await customer(db, id));
    return found ? answer(200, found) : refusal(401, 'log in first');
  },

  // Whose token it is; the customer must still be there.
  async 'customers.check'({ db, settings }, { token }) {
    const id = customerOf(token, settings.tokenSecret);
    const found = id && (await customer(db, id));
    return found ? answer(200, { customer: id }) : refusal(401, 'log in first');
  },
};

async function customer(db, id) {
  const found = await db.query({ name: 'customer', text: `SELECT ${COLUMNS} FROM customers WHERE id = $1`, values: [id] });
  return found.rows[0];
}

function token(id, secret) {
  return `${id}.${createHmac('sha256', secret).update(String(id)).digest('base64url')}`;
}

function customerOf(text, secret) {
  const id = /^([0-9]{1,15})\./.exec(text || '')?.[1];
  if (!id) return null;
  const expected = Buffer.from(token(id, secret));
  const given = Buffer.from(text);
  return given.length === expected.length && timingSafeEqual(given, expected) ? Number(id) : null;
}
