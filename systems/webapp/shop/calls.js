// The shop's public calls, from openapi.json: which method and path is which action of which service. Both transports
// take what may be asked from here, and check what was asked by it, so that neither can drift from the document.
'use strict';

const Ajv = require('ajv/dist/2020');
const document = require('./openapi.json');

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];
const ajv = new Ajv({ strict: false, coerceTypes: false });
const ajvOfTexts = new Ajv({ strict: false, coerceTypes: true, useDefaults: true });
ajv.addSchema(document, 'shop');

function resolved(part) {
  if (!part || !part.$ref) return part;
  return part.$ref.slice(2).split('/').reduce((place, name) => place[name], document);
}

function bodyCheck(operation, path, method) {
  if (!operation.requestBody) return null;
  const pointer = `shop#/paths/${path.replace(/~/g, '~0').replace(/\//g, '~1')}/${method}/requestBody/content/application~1json/schema`;
  return ajv.compile({ $ref: encodeURI(pointer) });
}

// Parameters of path and query come as texts.
function parametersCheck(operation) {
  const parameters = (operation.parameters || []).map(resolved);
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.schema]));
  const required = parameters.filter((parameter) => parameter.required).map((parameter) => parameter.name);
  return ajvOfTexts.compile({ type: 'object', properties, required });
}

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
      bodyCheck: bodyCheck(operation, path, method),
      parametersCheck: parametersCheck(operation),
    });
  }
}
const byAction = new Map(calls.map((call) => [call.action, call]));

// What is wrong with the input of a public call; null where nothing is. Parameters become numbers where they are.
function mistake(action, input) {
  const call = byAction.get(action);
  if (!call) return null;
  if (!call.parametersCheck(input.parameters)) return told('parameter', call.parametersCheck.errors[0]);
  if (call.bodyCheck && !call.bodyCheck(input.body)) return told('body', call.bodyCheck.errors[0]);
  return null;
}

function told(what, error) {
  return `${what}${error.instancePath.replaceAll('/', '.')} ${error.message}`;
}

module.exports = { calls, document, mistake };
