// What a process counts, and how all workers of a component show it together.
'use strict';

// Times of the last second, from which a quantile is taken; more than these are not kept.
const TIMES_MAX = 5_000;
const TIMES_OF_MS = 1_000;

class Meters {
  constructor() {
    this.counts = { refused: 0, timed_out: 0, retried: 0, late_replies: 0, returned: 0, not_confirmed: 0 };
    this.waiting = 0;
    this.confirms = [];
  }

  confirmed(ms) {
    if (this.confirms.length < TIMES_MAX) this.confirms.push({ at: Date.now(), ms });
  }

  // What a worker tells its parent.
  told() {
    const since = Date.now() - TIMES_OF_MS;
    this.confirms = this.confirms.filter((one) => one.at >= since);
    const times = this.confirms.map((one) => one.ms).sort((a, b) => a - b);
    const quantile = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))] / 1000;
    return {
      counts: this.counts,
      waiting: this.waiting,
      confirms: times.length ? { 0.5: quantile(0.5), 0.99: quantile(0.99) } : { 0.5: 0, 0.99: 0 },
    };
  }
}

// In Prometheus' text form: counts and gauges are sums over workers, quantiles those of the slowest worker.
function shown(workers) {
  const lines = ['# TYPE shop_calls_total counter'];
  const outcomes = new Map();
  const quantiles = new Map();
  let waiting = 0;
  for (const { counts, waiting: of, confirms } of workers) {
    waiting += of;
    for (const [outcome, count] of Object.entries(counts)) outcomes.set(outcome, (outcomes.get(outcome) || 0) + count);
    for (const [share, s] of Object.entries(confirms)) quantiles.set(share, Math.max(quantiles.get(share) || 0, s));
  }
  for (const [outcome, count] of outcomes) lines.push(`shop_calls_total{outcome="${outcome}"} ${count}`);
  lines.push('# TYPE shop_calls_waiting gauge', `shop_calls_waiting ${waiting}`);
  lines.push('# HELP shop_confirm_seconds From publishing to the confirm of the broker, over the last second.');
  lines.push('# TYPE shop_confirm_seconds gauge');
  for (const [share, s] of quantiles) lines.push(`shop_confirm_seconds{quantile="${share}"} ${s}`);
  return `${lines.join('\n')}\n`;
}

module.exports = { Meters, shown };
