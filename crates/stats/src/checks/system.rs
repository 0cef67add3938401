//! The system: whether it kept up, and whether it had one level (method rule 5).

use super::findings::{ACHIEVED_MIN, BESIDE_BOUND, CHANCE, Findings, SteadinessTest, float, share};
use crate::{
    Backlog, Change, SteadyBins, SystemFinding, Verdict,
    backlog::backlog_grows,
    facts::{LoadCourse, LoadModel, RunningTotals, TrialFacts},
    sample::size,
    silence,
    steady::{MIN_STEADY_BINS, Shape, Steadiness, steady},
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
            found.reason(
                Verdict::Overloaded,
                SystemFinding::Unanswered {
                    due: measured.due,
                    answered,
                    answered_share: share(answered, measured.due),
                    least_share: ACHIEVED_MIN,
                    skipped: measured.skipped,
                },
            );
        }
    }
    if facts.is_disturbed() || facts.course == LoadCourse::Stages {
        // What waited while something was down is what was to be seen; `not_judged` says so.
        return;
    }
    grows(Backlog::Requests, &facts.answers, found);
    grows(Backlog::Records, &facts.delivery, found);
}

fn grows(what: Backlog, totals: &RunningTotals<'_>, found: &mut Findings) {
    if let Some(growth) = backlog_grows(totals.at_s, totals.asked, totals.done) {
        found.reason(Verdict::Overloaded, SystemFinding::Grew { what, growth });
    }
}

/// A system that is disturbed on purpose has no one level, and its silence and what piles up meanwhile are what was to be seen.
fn not_judged(facts: &TrialFacts<'_>, found: &mut Findings) {
    found.remark(SystemFinding::NotJudged(facts.disturbances.to_vec()));
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
        return found.remark(SystemFinding::Staged);
    }
    found.steadiness = SteadinessTest::Tested;
    let bins = SteadyBins {
        least_change_of_times: BESIDE_BOUND * facts.time_bound_us.unwrap_or(0.0),
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
            let how = match shape {
                Shape::Step => Change::Step {
                    at_s: facts.bins_from_s + size(at_bin) * facts.bin_s,
                },
                Shape::Drift => Change::Drift,
            };
            found.reason(
                Verdict::Unsteady,
                SystemFinding::Changed {
                    what,
                    from,
                    to,
                    how,
                },
            );
        }
        Steadiness::TooShort if facts.warm_up_steady == Some(false) => {
            found.reason(Verdict::Unsteady, SystemFinding::NeverSteady);
        }
        Steadiness::TooShort => {
            found.steadiness = SteadinessTest::TooFewIntervals;
            found.remark(SystemFinding::TooFewIntervals {
                needed: MIN_STEADY_BINS,
            });
        }
        Steadiness::Steady if facts.warm_up_steady == Some(false) => {
            found.remark(SystemFinding::WarmUpUnsteady);
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
    let is_large = silence.longest_s >= SILENCE_SHARE * silence.phase_s
        || silence.in_all_s >= SILENCES_SHARE * silence.phase_s;
    if is_large && !facts.is_disturbed() {
        found.reason(Verdict::Unsteady, SystemFinding::Silent(silence));
    } else {
        found.remark(SystemFinding::Silent(silence));
    }
}
