// The shop's public calls, from openapi.json: which method and path is which action of which service. Both transports
// take what may be asked from here, and checks.js checks what was asked by it, so that neither can drift from the document.
'use strict';

const document = require('./openapi.json');

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

const calls = [];
for (const [path, item] of Object.entries(document.paths)) {
  for (const method of METHODS.filter((name) => item[name])) {
    const operation = item[method];
    calls.push({
      action: operation.operationId,
      service: operation.operationId.split('.')[0],
      method: method.toUpperCase(),
      // As Fastify writes it.
      path: path.replace(/\{(\w+)\}/g, ':$1'),
      operation,
      // Where the operation stands in the document.
      at: `/paths/${path.replace(/~/g, '~0').replace(/\//g, '~1')}/${method}`,
    });
  }
}

module.exports = { calls, document };
