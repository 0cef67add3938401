// What the catalogue does. It knows no transport.
'use strict';

const { answer, refusal } = require('../answers');

const COLUMNS = 'id, name, text, price_cents, stock';

module.exports = {
  async 'catalogue.products'({ db }, { parameters: { page, size } }) {
    const found = await db.query({
      name: 'products',
      text: `SELECT ${COLUMNS} FROM products ORDER BY id LIMIT $1 OFFSET $2`,
      values: [size, (page - 1) * size],
    });
    return answer(200, { page, products: found.rows });
  },

  async 'catalogue.product'({ db }, { parameters: { id } }) {
    const found = await db.query({ name: 'product', text: `SELECT ${COLUMNS} FROM products WHERE id = $1`, values: [id] });
    return found.rowCount ? answer(200, found.rows[0]) : refusal(404, `there is no product ${id}`);
  },

  // Takes pieces out of the stock.
  async 'catalogue.reserve'({ db }, { body: { product, quantity } }) {
    const taken = await db.query({
      name: 'reserve',
      text: 'UPDATE products SET stock = stock - $2 WHERE id = $1 AND stock >= $2 RETURNING price_cents',
      values: [product, quantity],
    });
    if (taken.rowCount) return answer(200, { price_cents: taken.rows[0].price_cents });
    const found = await db.query({ name: 'exists', text: 'SELECT 1 FROM products WHERE id = $1', values: [product] });
    return found.rowCount
      ? refusal(409, `there are fewer than ${quantity} of product ${product}`)
      : refusal(404, `there is no product ${product}`);
  },

  // Puts them back, where an order did not come about.
  async 'catalogue.release'({ db }, { body: { product, quantity } }) {
    await db.query({
      name: 'release',
      text: 'UPDATE products SET stock = stock + $2 WHERE id = $1',
      values: [product, quantity],
    });
    return answer(200, {});
  },
};
