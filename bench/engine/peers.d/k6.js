// k6 -e URL=… -e CONNECTIONS=… -e SECONDS=… [-e RATE=…] [-e MOST=…]
// Without RATE every VU sends as fast as it is answered; with it, k6 starts iterations at that rate and takes more VUs, up to
// MOST, while answers are late. Bodies are thrown away, which is k6 at its cheapest.
import http from 'k6/http';

const connections = Number(__ENV.CONNECTIONS);
const duration = `${__ENV.SECONDS}s`;

const closed = { executor: 'constant-vus', vus: connections, duration, gracefulStop: '5s' };
const open = {
  executor: 'constant-arrival-rate',
  rate: Number(__ENV.RATE),
  timeUnit: '1s',
  duration,
  preAllocatedVUs: connections,
  maxVUs: Number(__ENV.MOST || 2000),
  gracefulStop: '5s',
};

export const options = {
  discardResponseBodies: true,
  scenarios: { load: __ENV.RATE ? open : closed },
  summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
};

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  const time = data.metrics.http_req_duration.values;
  const failed = data.metrics.http_req_failed;
  return {
    stdout: JSON.stringify({
      // http_req_failed counts failures as its "passes".
      succeeded: failed.values.fails,
      dropped: data.metrics.dropped_iterations ? data.metrics.dropped_iterations.values.count : 0,
      latency_ms: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'].map((name) => time[name]),
    }),
  };
}
