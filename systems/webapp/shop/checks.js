// Checks what public calls are given, by openapi.json.
'use strict';

const Ajv = require('ajv/dist/2020');
const { calls, document } = require('./calls');

const ajv = new Ajv({ strict: false, coerceTypes: false });
const ajvOfTexts = new Ajv({ strict: false, coerceTypes: true, useDefaults: true });
ajv.addSchema(document, 'shop');

function resolved(part) {
  if (!part || !part.$ref) return part;
  return part.$ref.slice(2).split('/').reduce((place, name) => place[name], document);
}

function bodyCheck({ operation, at }) {
  if (!operation.requestBody) return null;
  return ajv.compile({ $ref: encodeURI(`shop#${at}/requestBody/content/application~1json/schema`) });
}

// Parameters of path and query come as texts.
function parametersCheck({ operation }) {
  const parameters = (operation.parameters || []).map(resolved);
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.schema]));
  const required = parameters.filter((parameter) => parameter.required).map((parameter) => parameter.name);
  return ajvOfTexts.compile({ type: 'object', properties, required });
}

// For the public calls of a service: a function of an action and its input that says what is wrong with it, null where nothing is.
// Parameters become numbers where they are. What only services call is not checked.
function checksOf(service) {
  const own = calls.filter((call) => call.service === service);
  const checks = new Map(own.map((call) => [call.action, { body: bodyCheck(call), parameters: parametersCheck(call) }]));
  return (action, input) => {
    const check = checks.get(action);
    if (!check) return null;
    if (!check.parameters(input.parameters)) return told('parameter', check.parameters.errors[0]);
    if (check.body && !check.body(input.body)) return told('body', check.body.errors[0]);
    return null;
  };
}

function told(what, error) {
  return `${what}${error.instancePath.replaceAll('/', '.')} ${error.message}`;
}

module.exports = { checksOf };
