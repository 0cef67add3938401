// Asks a shop that is up for everything openapi.json describes, and checks each answer by it: its status must stand there,
// and its body must be as the schema of that status says. `contract HOST:PORT`; prints a line for each call and ends with 1
// where one is not as described.
'use strict';

const Ajv = require('ajv/dist/2020');
const { Pool } = require('undici');
const document = require('./openapi.json');

const ajv = new Ajv({ strict: false });
ajv.addSchema(document, 'shop');
const shop = new Pool(`http://${process.argv[2]}`);
const JSON_TYPE = { 'content-type': 'application/json' };
const REFERENCE = { run: 'contract', key: '100000000000000007', sent: '1700000000000000001' };

let failures = 0;

function told(name, problem) {
  console.log(`${problem ? 'not as described' : 'fine'}: ${name}${problem ? `: ${problem}` : ''}`);
  if (problem) failures += 1;
}

// The schema of an answer; null where the status does not stand in the document.
function schemaOf(method, path, status) {
  const place = ['paths', path, method, 'responses', String(status)];
  const found = place.reduce((part, name) => part?.[name], document);
  if (!found) return null;
  const pointer = found.$ref ? found.$ref.slice(1) : `/${place.map((name) => name.replace(/\//g, '~1')).join('/')}`;
  return { $ref: encodeURI(`shop#${pointer}/content/application~1json/schema`) };
}

// Asks, and checks the answer; gives its body.
async function ask(method, path, expected, { at = path, token, body, raw } = {}) {
  const headers = token ? { ...JSON_TYPE, authorization: `Bearer ${token}` } : JSON_TYPE;
  const sent = raw ?? (body && JSON.stringify(body));
  const answer = await shop.request({ method: method.toUpperCase(), path: at, headers: sent || token ? headers : {}, body: sent });
  const text = await answer.body.text();
  const name = `${method} ${at} → ${answer.statusCode}`;
  const schema = schemaOf(method, path, answer.statusCode);
  if (answer.statusCode !== expected) told(name, `${expected} was expected, with ${text}`);
  else if (!schema) told(name, 'the document has no such status');
  else if (!ajv.validate(schema, JSON.parse(text))) told(name, `${ajv.errorsText()} in ${text}`);
  else told(name);
  return JSON.parse(text);
}

async function main() {
  await ask('get', '/products', 200);
  await ask('get', '/products', 200, { at: '/products?page=2&size=3' });
  await ask('get', '/products', 400, { at: '/products?page=0' });
  await ask('get', '/products', 400, { at: '/products?size=many' });
  await ask('get', '/products/{id}', 200, { at: '/products/1' });
  await ask('get', '/products/{id}', 404, { at: '/products/1000000' });
  await ask('get', '/products/{id}', 400, { at: '/products/first' });
  await ask('post', '/sessions', 401, { body: { name: 'customer-1', password: 'no' } });
  await ask('post', '/sessions', 401, { body: { name: 'nobody', password: 'secret' } });
  await ask('post', '/sessions', 400, { body: { name: 'customer-1' } });
  await ask('post', '/sessions', 400, { raw: '{"name":' });
  const { token } = await ask('post', '/sessions', 201, { body: { name: 'customer-2', password: 'secret' } });
  await ask('get', '/customers/me', 200, { token });
  await ask('get', '/customers/me', 401, { token: `${token}x` });
  await ask('get', '/customers/me', 401);
  await ask('post', '/orders', 401, { body: { product: 1, quantity: 1 } });
  await ask('post', '/orders', 400, { token, body: { product: 1, quantity: 0 } });
  await ask('post', '/orders', 400, { token, body: { product: 1, quantity: 1, gift: true } });
  await ask('post', '/orders', 404, { token, body: { product: 1000000, quantity: 1 } });
  const order = await ask('post', '/orders', 201, { token, body: { product: 5, quantity: 2, reference: REFERENCE } });
  const at = `/orders/${order.id}`;
  const again = await ask('get', '/orders/{id}', 200, { at, token });
  if (JSON.stringify(again) !== JSON.stringify(order)) told(at, `${JSON.stringify(order)} was placed, ${JSON.stringify(again)} stands there`);
  await ask('get', '/orders/{id}', 401, { at });
  await ask('get', '/orders/{id}', 404, { at: '/orders/1000000', token });
  await ask('get', '/orders/{id}', 400, { at: '/orders/last', token });
  const { orders } = await ask('get', '/orders', 200, { token });
  if (orders[0]?.id !== order.id) told('/orders', `the order placed last is ${order.id}, the first of the list ${orders[0]?.id}`);
  await ask('get', '/orders', 401);
}

main()
  .catch((problem) => told('the shop', problem.message))
  .finally(() => {
    shop.destroy();
    process.exitCode = failures ? 1 : 0;
  });
