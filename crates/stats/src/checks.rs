//! The checks of one trial (method rules 5, 8 and 9): facts in, reasons and remarks out, each with its numbers.
//!
//! Which limit holds in which load model, and why, is in docs/design/0003-verdicts.md.

use crate::{
    Reason, Verdict,
    backlog::backlog_grows,
    facts::{LoadModel, RunningTotals, TrialFacts},
    steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, steady},
    words::{count, number, percent, time_us},
};

/// CPU of the busiest worker thread.
const BUSY_REMARK: f64 = 0.80;
const BUSY_LIMIT: f64 = 0.95;
/// Lag against the median response time.
const LAG_SHARE: f64 = 0.10;
/// The kernel's timer slack (50 µs) and a wake-up: what no sleeping generator avoids.
const LAG_FLOOR_US: f64 = 100.0;
/// Requests answered against requests due, in open load.
const ACHIEVED_MIN: f64 = 0.99;
/// Little's law.
const LITTLE_APART: f64 = 0.03;
/// What a histogram of microseconds does not tell apart.
const RESOLUTION_US: f64 = 1.0;
/// Connections open against asked, in the typical interval.
const CONNECTIONS_MIN: f64 = 0.99;
/// How many standard deviations chance may be off.
const CHANCE: f64 = 4.0;

/// What the checks found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// Why the trial is not valid; empty where it is.
    pub reasons: Vec<Reason>,
    /// Worth a line, and no reason to doubt the trial.
    pub remarks: Vec<String>,
}

impl Findings {
    fn reason(&mut self, verdict: Verdict, text: String) {
        self.reasons.push(Reason { verdict, text });
    }
}

/// Runs every check that the facts allow.
#[must_use]
pub fn check(facts: &TrialFacts<'_>) -> Findings {
    let mut found = Findings::default();
    if let Some(why) = &facts.failed {
        found.reason(Verdict::Failed, why.clone());
        return found;
    }
    account_of_requests(facts, &mut found);
    account_of_records(facts, &mut found);
    littles_law(facts, &mut found);
    connections(facts, &mut found);
    engine_cpu(facts, &mut found);
    engine_lag(facts, &mut found);
    keeping_up(facts, &mut found);
    steadiness(facts, &mut found);
    found
}

/// `sent = succeeded + failed + change of in flight`, for both stretches; `due = sent + skipped` for the whole run,
/// at whose end nothing waits any more.
fn account_of_requests(facts: &TrialFacts<'_>, found: &mut Findings) {
    for (stretch, counts) in [
        ("measured phase", &facts.measured),
        ("whole run", &facts.totals),
    ] {
        let fates = i128::from(counts.succeeded)
            + i128::from(counts.failed)
            + i128::from(counts.in_flight_change);
        if i128::from(counts.sent) != fates {
            let text = format!(
                "{stretch}: {} requests sent, but {} succeeded + {} failed + {} in flight = {}",
                count(counts.sent),
                count(counts.succeeded),
                count(counts.failed),
                counts.in_flight_change,
                signed(fates),
            );
            found.reason(Verdict::Inconsistent, text);
        }
    }
    let totals = &facts.totals;
    let planned = u128::from(totals.sent) + u128::from(totals.skipped);
    if facts.model == LoadModel::Open && u128::from(totals.due) != planned {
        let text = format!(
            "whole run: {} requests fell due, but {} sent + {} skipped = {}",
            count(totals.due),
            count(totals.sent),
            count(totals.skipped),
            count(planned),
        );
        found.reason(Verdict::Inconsistent, text);
    }
}

/// `sent = accepted + rejected + unknown`, `accepted = delivered + missing`, and nothing missing.
fn account_of_records(facts: &TrialFacts<'_>, found: &mut Findings) {
    let Some(ledger) = &facts.ledger else { return };
    let add = |parts: &[u64]| parts.iter().map(|part| u128::from(*part)).sum::<u128>();
    let mut equation = |whole: u64, name: &str, parts: [(u64, &str); 3]| {
        let sum = add(&parts.map(|part| part.0));
        if u128::from(whole) != sum {
            let named: Vec<String> = parts
                .iter()
                .filter(|part| !part.1.is_empty())
                .map(|(part, name)| format!("{} {name}", count(*part)))
                .collect();
            let text = format!(
                "records: {} {name}, but {} = {}",
                count(whole),
                named.join(" + "),
                count(sum)
            );
            found.reason(Verdict::Inconsistent, text);
        }
    };
    let (accepted, rejected) = ((ledger.accepted, "accepted"), (ledger.rejected, "rejected"));
    equation(
        ledger.sent,
        "sent",
        [accepted, rejected, (ledger.unknown, "unknown")],
    );
    equation(
        ledger.accepted,
        "accepted",
        [
            (ledger.delivered, "delivered"),
            (ledger.missing, "missing"),
            (0, ""),
        ],
    );
    equation(
        facts.totals.records_succeeded,
        "in requests that succeeded",
        [
            (ledger.accepted, "accepted by the ledger"),
            (0, ""),
            (0, ""),
        ],
    );
    if ledger.unexpected > 0 {
        let text = format!(
            "records: {} found in the store that were rejected or never sent",
            count(ledger.unexpected)
        );
        found.reason(Verdict::Inconsistent, text);
    }
    if ledger.missing > 0 {
        let keys: Vec<String> = ledger
            .missing_keys
            .iter()
            .map(ToString::to_string)
            .collect();
        let first = if keys.is_empty() {
            String::new()
        } else {
            format!("; first keys: {}", keys.join(", "))
        };
        let text = format!(
            "{} of {} accepted records are not in the store{first}",
            count(ledger.missing),
            count(ledger.accepted)
        );
        found.reason(Verdict::Incomplete, text);
    }
}

/// Mean in flight = answers per second × mean time in flight. The two sides come from different books: the left one is
/// kept while requests fly, the right one when they land.
fn littles_law(facts: &TrialFacts<'_>, found: &mut Findings) {
    let measured = &facts.measured;
    let answered = measured.succeeded + measured.failed;
    if answered == 0 || measured.seconds <= 0.0 {
        return;
    }
    // Failures are timed from due: in open load that is not the time in flight, so many of them hide this check.
    if facts.model == LoadModel::Open && share(measured.failed, answered) > 0.01 {
        return;
    }
    let time_us = float(measured.succeeded) * facts.service_mean_us.unwrap_or(0.0)
        + float(measured.failed) * facts.failed_mean_us.unwrap_or(0.0);
    let mean_us = time_us / float(answered);
    let per_s = float(answered) / measured.seconds;
    let expected = per_s * mean_us / 1e6;
    let in_flight = facts.engine.in_flight_mean;
    // Requests that reach over an end of the stretch count in full on one side only.
    let ends = mean_us / 1e6 / measured.seconds;
    let allowed = LITTLE_APART + ends + RESOLUTION_US / mean_us.max(RESOLUTION_US);
    let apart = (in_flight - expected).abs() / in_flight.max(expected).max(f64::MIN_POSITIVE);
    if apart > allowed {
        let text = format!(
            "Little's law: {} in flight on average, but {}/s × {} = {} ({} apart; {} allowed)",
            number(in_flight),
            number(per_s),
            crate::words::time_us(mean_us),
            number(expected),
            percent(apart),
            percent(allowed),
        );
        found.reason(Verdict::Inconsistent, text);
    }
}

fn connections(facts: &TrialFacts<'_>, found: &mut Findings) {
    let engine = &facts.engine;
    let (asked, typical, fewest) = (
        engine.connections_asked,
        engine.connections_open_median,
        engine.connections_open_min,
    );
    if float(typical) < CONNECTIONS_MIN * float(asked) {
        let text = format!(
            "{} connections asked for, {} open in the typical interval",
            count(asked),
            count(typical)
        );
        found.reason(Verdict::Inconsistent, text);
    } else if fewest < asked {
        found.remarks.push(format!(
            "{} of {} connections open at the least",
            count(fewest),
            count(asked)
        ));
    }
}

fn engine_cpu(facts: &TrialFacts<'_>, found: &mut Findings) {
    let busy = facts.engine.busy_share;
    if busy >= BUSY_LIMIT {
        let text = format!(
            "the generator's busiest worker used {} of its CPU; it, not the system, was the limit",
            percent(busy)
        );
        found.reason(Verdict::InstrumentLimited, text);
    } else if busy >= BUSY_REMARK {
        found.remarks.push(format!(
            "the generator's busiest worker used {} of its CPU; from {} on the trial would not count",
            percent(busy),
            percent(BUSY_LIMIT)
        ));
    }
}

/// How late the generator itself was. In closed load a turn of its loop over everything in flight is a batch and not
/// lateness: answers to a pipeline arrive together and are sent on together.
fn engine_lag(facts: &TrialFacts<'_>, found: &mut Findings) {
    let Some(p50) = facts.response_p50_us else {
        return;
    };
    let engine = &facts.engine;
    let batch = match facts.model {
        LoadModel::Closed => {
            engine.in_flight_mean / f64::from(engine.workers.max(1)) * engine.cpu_us_per_request
        }
        LoadModel::Open | LoadModel::Users => 0.0,
    };
    let allowed = (LAG_SHARE * p50).max(LAG_FLOOR_US).max(batch);
    let lag = engine.lag_p99_us;
    if lag > allowed {
        let text = format!(
            "the generator was late: p99 of its lag is {}, {} of the median response time of {} ({} allowed)",
            time_us(lag),
            percent(lag / p50.max(RESOLUTION_US)),
            time_us(p50),
            time_us(allowed),
        );
        found.reason(Verdict::InstrumentLimited, text);
    } else if lag > LAG_SHARE * p50 {
        found.remarks.push(format!(
            "p99 of the generator's lag is {}, {} of the median response time of {}: {}",
            time_us(lag),
            percent(lag / p50.max(RESOLUTION_US)),
            time_us(p50),
            if lag <= LAG_FLOOR_US {
                "as fine as its timers go"
            } else {
                "one turn over all that is in flight"
            },
        ));
    }
}

/// Offered against achieved, and backlogs that grow.
fn keeping_up(facts: &TrialFacts<'_>, found: &mut Findings) {
    let measured = &facts.measured;
    let answered = measured.succeeded + measured.failed;
    if facts.model == LoadModel::Open && measured.due > 0 {
        let left = float(measured.due) - float(answered);
        let chance = CHANCE * (facts.engine.in_flight_mean.max(0.0) + 1.0).sqrt();
        if left > (1.0 - ACHIEVED_MIN) * float(measured.due) + chance {
            let text = format!(
                "{} requests fell due and {} were answered ({}; {} is the least), {} were skipped",
                count(measured.due),
                count(answered),
                percent(share(answered, measured.due)),
                percent(ACHIEVED_MIN),
                count(measured.skipped),
            );
            found.reason(Verdict::Overloaded, text);
        }
        offered(facts, found);
    }
    grows("requests waiting for their answer", &facts.answers, found);
    grows(
        "records accepted and not yet in the store",
        &facts.delivery,
        found,
    );
}

/// Fewer requests fell due than were asked for: the generator's own clockwork did not hold the rate.
fn offered(facts: &TrialFacts<'_>, found: &mut Findings) {
    let Some(per_s) = facts.offered_per_s else {
        return;
    };
    let offered = per_s * facts.measured.seconds;
    let due = float(facts.measured.due);
    // Poisson arrivals: the count varies by its root.
    if (offered - due).abs() > (1.0 - ACHIEVED_MIN) * offered + CHANCE * offered.max(0.0).sqrt() {
        let text = format!(
            "{}/s for {} s were asked for, which is {}, but {} requests fell due",
            number(per_s),
            number(facts.measured.seconds),
            number(offered),
            number(due)
        );
        found.reason(Verdict::InstrumentLimited, text);
    }
}

fn grows(what: &str, totals: &RunningTotals<'_>, found: &mut Findings) {
    if let Some(growth) = backlog_grows(totals.at_s, totals.asked, totals.done) {
        let text = format!(
            "{what} grew from {} to {}, by {}/s at {}/s asked",
            number(growth.from.max(0.0)),
            number(growth.to),
            number(growth.per_s),
            number(growth.asked_per_s),
        );
        found.reason(Verdict::Overloaded, text);
    }
}

/// The measured phase is tested itself. A warm-up that ended at its limit is therefore a reason only where that test
/// could not be made.
fn steadiness(facts: &TrialFacts<'_>, found: &mut Findings) {
    let warm_up = "the warm-up ended at its limit, before the system was steady";
    match steady(&facts.bins) {
        Steadiness::Unsteady { what, shape, at_bin, from, to } => {
            let when = match shape {
                Shape::Step => format!("at {} s of the measured phase", number(float_bin(at_bin) * facts.bin_s)),
                Shape::Drift => "over the measured phase, bit by bit".to_owned(),
            };
            let text = format!("{} went from {} to {} {when}", name(what), level(what, from), level(what, to));
            found.reason(Verdict::Unsteady, text);
        }
        Steadiness::TooShort if facts.warm_up_steady == Some(false) => {
            found.reason(Verdict::Unsteady, format!("{warm_up}, and the measured phase is too short to test"));
        }
        Steadiness::TooShort => found.remarks.push(format!(
            "steadiness was not tested: fewer than {MIN_STEADY_BINS} intervals in the measured phase"
        )),
        Steadiness::Steady if facts.warm_up_steady == Some(false) => {
            found.remarks.push(format!("{warm_up}; the measured phase was"));
        }
        Steadiness::Steady => {}
    }
}

fn name(what: Series) -> &'static str {
    match what {
        Series::Throughput => "throughput",
        Series::P50 => "median response time",
        Series::P99 => "p99 of response time",
        Series::Cpu => "CPU of the system",
    }
}

fn level(what: Series, value: f64) -> String {
    match what {
        Series::Throughput => format!("{}/s", number(value)),
        Series::P50 | Series::P99 => time_us(value),
        Series::Cpu => format!("{} cores", number(value)),
    }
}

fn signed(value: i128) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}

fn share(part: u64, whole: u64) -> f64 {
    float(part) / float(whole)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one trial are far below 2^52"
)]
fn float(count: u64) -> f64 {
    count as f64
}

fn float_bin(bin: usize) -> f64 {
    crate::sample::size(bin)
}
