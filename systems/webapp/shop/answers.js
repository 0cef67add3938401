// What an action gives: a status as HTTP has it, and a body.
'use strict';

function answer(status, body) {
  return { status, body };
}

function refusal(status, error) {
  return { status, body: { error } };
}

module.exports = { answer, refusal };
