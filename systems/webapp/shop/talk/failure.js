// Why a call between processes has no answer, and what the client is told.
'use strict';

const { refusal } = require('../answers');

class NoAnswer extends Error {
  // `again`: whether it may be asked again.
  constructor(status, message, again = true) {
    super(message);
    this.status = status;
    this.again = again;
  }
}

const timedOut = (whom, ms) => new NoAnswer(504, `${whom} did not answer within ${ms} ms`);
const unreachable = (whom, why) => new NoAnswer(503, `${whom} cannot be reached: ${why}`);

const refused = (whom) => new NoAnswer(503, `${whom} takes no more`, false);

// The answer to a client for something that was thrown; null where it is a defect of the shop.
function answerTo(problem) {
  return problem instanceof NoAnswer ? refusal(problem.status, problem.message) : null;
}

// Calls again where no answer came, after a pause that grows, with chance in it.
const PAUSE_MS = 20;
async function insisting(settings, meters, once) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await once();
    } catch (problem) {
      if (!(problem instanceof NoAnswer && problem.again) || attempt >= settings.retries) throw problem;
      meters.counts.retried += 1;
      const pause = PAUSE_MS * 2 ** attempt * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

module.exports = { answerTo, insisting, refused, timedOut, unreachable };
