//! The system: whether it kept up, and whether it had one level (method rule 5).

use super::{ACHIEVED_MIN, CHANCE, Findings, SteadinessTest, float, share};
use crate::{
    SteadyBins, Verdict,
    backlog::backlog_grows,
    facts::{LoadCourse, LoadModel, RunningTotals, TrialFacts},
    sample::size,
    silence,
    steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, steady},
    words::{count, number, percent, time_us},
};

/// Silences shorter than this are not worth a line.
const SILENCE_MIN_S: f64 = 0.2;
/// Nor are those that are no longer than so many mean service times: few and slow requests leave gaps.
const SILENCE_IN_SERVICE_TIMES: f64 = 5.0;
/// The measured phase has no one level where one silence takes so much of it, or all of them together so much.
const SILENCE_SHARE: f64 = 0.20;
const SILENCES_SHARE: f64 = 0.50;

/// Due against answered, and backlogs that grow.
pub(super) fn keeping_up(facts: &TrialFacts<'_>, found: &mut Findings) {
    let measured = &facts.measured;
    let answered = measured.succeeded.saturating_add(measured.failed);
    if facts.model == LoadModel::Open && measured.due > 0 {
        // Those under way for the first time are no backlog: as many as a steady load has in flight.
        let filled = float(u64::try_from(measured.in_flight_change).unwrap_or(0))
            .min(facts.engine.in_flight_mean.max(0.0));
        let left = float(measured.due) - float(answered) - filled;
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
    }
    if facts.is_disturbed() || facts.course == LoadCourse::Stages {
        // What waited while something was down is what was to be seen; `not_judged` says so.
        return;
    }
    grows("requests waiting for their answer", &facts.answers, found);
    grows(
        "records accepted and not yet in the store",
        &facts.delivery,
        found,
    );
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

/// A system that is disturbed on purpose has no one level, and its silence and what piles up meanwhile are what was to be seen.
fn not_judged(facts: &TrialFacts<'_>, found: &mut Findings) {
    found.remarks.push(format!(
        "steadiness and backlogs were not judged: {}",
        facts.disturbances.join(", ")
    ));
}

/// The measured phase is tested itself. A warm-up that ended at its limit is therefore a reason only where that test
/// could not be made.
pub(super) fn steadiness(facts: &TrialFacts<'_>, found: &mut Findings) {
    if facts.is_disturbed() {
        found.steadiness = SteadinessTest::Disturbed;
        return not_judged(facts, found);
    }
    if facts.course == LoadCourse::Stages {
        found.steadiness = SteadinessTest::StagedLoad;
        let remark = "steadiness was not tested: the load changes by its stages";
        return found.remarks.push(remark.to_owned());
    }
    found.steadiness = SteadinessTest::Tested;
    let warm_up = "the warm-up ended at its limit, before the system was steady";
    let bins = SteadyBins {
        least_change_of_times: super::BESIDE_BOUND * facts.time_bound_us.unwrap_or(0.0),
        ..facts.bins
    };
    match steady(&bins) {
        Steadiness::Unsteady {
            what,
            shape,
            at_bin,
            from,
            to,
        } => {
            let when = match shape {
                Shape::Step => format!(
                    "at {} s of the measured phase",
                    number(facts.bins_from_s + size(at_bin) * facts.bin_s)
                ),
                Shape::Drift => "over the measured phase, bit by bit".to_owned(),
            };
            let text = format!(
                "{} went from {} to {} {when}",
                name(what),
                level(what, from),
                level(what, to)
            );
            found.reason(Verdict::Unsteady, text);
        }
        Steadiness::TooShort if facts.warm_up_steady == Some(false) => {
            found.reason(
                Verdict::Unsteady,
                format!("{warm_up}, and the measured phase is too short to test"),
            );
        }
        Steadiness::TooShort => {
            found.steadiness = SteadinessTest::TooFewIntervals;
            found.remarks.push(format!(
                "steadiness was not tested: it takes at least {MIN_STEADY_BINS} intervals"
            ));
        }
        Steadiness::Steady if facts.warm_up_steady == Some(false) => {
            found
                .remarks
                .push(format!("{warm_up}; the measured phase was"));
        }
        Steadiness::Steady => {}
    }
}

/// Nothing succeeded for a while, though it was waited for. The rate over the phase then says how much of the phase the
/// silence took, and not what the system does.
pub(super) fn silence(facts: &TrialFacts<'_>, found: &mut Findings) {
    let Some(silence) = silence::silence(facts.served) else {
        return;
    };
    let usual_s = facts.service_mean_us.unwrap_or(0.0) / 1e6;
    if silence.longest_s < SILENCE_MIN_S.max(SILENCE_IN_SERVICE_TIMES * usual_s) {
        return;
    }
    let until = if silence.to_the_end {
        ", until its end"
    } else {
        ""
    };
    let in_all = if silence.in_all_s > silence.longest_s {
        format!("; with all such stretches {} s", number(silence.in_all_s))
    } else {
        String::new()
    };
    let text = format!(
        "no request succeeded for {} s of {} s, from {} s of the measured phase on{until}, while answers were waited for{in_all}",
        number(silence.longest_s),
        number(silence.phase_s),
        number(silence.from_s),
    );
    let is_large = silence.longest_s >= SILENCE_SHARE * silence.phase_s
        || silence.in_all_s >= SILENCES_SHARE * silence.phase_s;
    if is_large && !facts.is_disturbed() {
        found.reason(Verdict::Unsteady, text);
    } else {
        found.remarks.push(text);
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
