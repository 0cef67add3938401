//! The system: whether it kept up, and whether it had one level (method rule 5).

use crate::{
    arithmetic::sample::size,
    judgement::{
        checks::findings::{
            ACHIEVED_MIN, CHANCE, Findings, SEARCH_BOUND_SHARE, SteadinessTest, float, share,
        },
        finding::{Backlog, Change, FullInFlight, SystemFinding},
        verdict::Verdict,
    },
    over_time::{
        backlog::backlog_grows,
        stall::{Stall, stalls as find_stalls},
        steady::{MIN_STEADY_BINS, Shape, Steadiness, SteadyBins, steady},
        trial_facts::{LoadModel, LoadProfile, RunningTotals, TrialFacts},
    },
};

/// Two steps of a histogram of microseconds: a smaller change of a time is none.
const TIME_RESOLUTION_US: f64 = 2.0;
/// All requests that may be in flight are if the mean is at least this share of them.
const FULL_MIN: f64 = 0.9;
/// The measured phase is not steady if the longest stall takes this share of it, or if all stalls together do.
const LONGEST_STALL_SHARE: f64 = 0.20;
const ALL_STALLS_SHARE: f64 = 0.50;

/// Due against answered, and backlogs that grow.
pub(super) fn backlogs(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let measured = &facts.measured;
    let answered = measured.succeeded.saturating_add(measured.failed);
    if facts.model == LoadModel::Open && measured.due > 0 {
        // A steady load has some in flight: what it took to get there is no backlog. What the warm-up left in flight is there
        // already.
        let mean = facts.generator.in_flight_mean.max(0.0);
        let filled = float(u64::try_from(measured.in_flight_change).unwrap_or(0))
            .min((mean - facts.in_flight_start).max(0.0));
        let left = float(measured.due) - float(answered) - filled;
        let chance = CHANCE * (facts.generator.in_flight_mean.max(0.0) + 1.0).sqrt();
        if left > (1.0 - ACHIEVED_MIN) * float(measured.due) + chance {
            findings.reason(
                Verdict::Overloaded,
                SystemFinding::Unanswered {
                    due: measured.due,
                    answered,
                    answered_share: share(answered, measured.due),
                    least_share: ACHIEVED_MIN,
                    skipped: measured.skipped,
                },
            );
            if let Some(full) = full_in_flight(facts, answered) {
                findings.remark(SystemFinding::FullInFlight(full));
            }
        }
        let surplus = answered.saturating_sub(measured.due);
        if float(surplus) > (1.0 - ACHIEVED_MIN) * float(measured.due) + chance {
            findings.remark(SystemFinding::LeftFromWarmUp {
                requests: surplus,
                succeeded_more: measured.succeeded > measured.due,
            });
        }
    }
    if facts.has_faults()
        || facts.profile == LoadProfile::Stages
        || facts.model == LoadModel::Clients
    {
        // A backlog during a fault is expected; `report_faults` says that it is not judged.
        return;
    }
    check_growth(Backlog::Requests, &facts.answers, findings);
    check_growth(Backlog::Records, &facts.delivery, findings);
}

/// Whether as many requests were in flight as may be.
fn full_in_flight(facts: &TrialFacts<'_>, answered: u64) -> Option<FullInFlight> {
    let max = facts.generator.in_flight_max?;
    let mean = facts.generator.in_flight_mean;
    let is_full = mean >= FULL_MIN * float(max) && answered > 0 && facts.measured.seconds > 0.0;
    is_full.then(|| FullInFlight {
        max,
        mean,
        answered_per_s: float(answered) / facts.measured.seconds,
    })
}

fn check_growth(what: Backlog, totals: &RunningTotals<'_>, findings: &mut Findings) {
    if let Some(growth) = backlog_grows(totals.at_s, totals.asked, totals.done) {
        findings.reason(Verdict::Overloaded, SystemFinding::Grew { what, growth });
    }
}

/// A system with injected faults is not steady, and its stalls and backlogs are expected.
fn report_faults(facts: &TrialFacts<'_>, findings: &mut Findings) {
    findings.remark(SystemFinding::NotJudged(facts.faults.to_vec()));
}

/// The measured phase is tested itself, so a warm-up that ended at its limit is a reason only if that test could not be made.
pub(super) fn steadiness(facts: &TrialFacts<'_>, findings: &mut Findings) {
    if facts.has_faults() {
        findings.steadiness = SteadinessTest::Faults;
        return report_faults(facts, findings);
    }
    if facts.profile == LoadProfile::Stages {
        findings.steadiness = SteadinessTest::StagedLoad;
        return findings.remark(SystemFinding::Staged);
    }
    if facts.model == LoadModel::Clients {
        findings.steadiness = SteadinessTest::EndingLoad;
        return findings.remark(SystemFinding::Ending);
    }
    findings.steadiness = SteadinessTest::Tested;
    let bins = SteadyBins {
        min_time_change: (SEARCH_BOUND_SHARE * facts.time_bound_us.unwrap_or(0.0))
            .max(TIME_RESOLUTION_US)
            .max(facts.bins.min_time_change),
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
            findings.reason(
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
            findings.reason(Verdict::Unsteady, SystemFinding::NeverSteady);
        }
        Steadiness::TooShort => {
            findings.steadiness = SteadinessTest::TooFewIntervals;
            findings.remark(SystemFinding::TooFewIntervals {
                needed: MIN_STEADY_BINS,
            });
        }
        Steadiness::Steady if facts.warm_up_steady == Some(false) => {
            findings.remark(SystemFinding::WarmUpUnsteady);
        }
        Steadiness::Steady => {}
    }
}

/// Nothing succeeded for a while although requests were pending. The mean rate of a long stall depends on its length, and not on what
/// the system does. In a shorter one it is what the system does; but a closed load sends nothing meanwhile, so that its times lack
/// those who would have arrived.
pub(super) fn stalls(facts: &TrialFacts<'_>, findings: &mut Findings) {
    let spans = find_stalls(facts.served, facts.service_mean_us);
    let phase_s = facts.served.iter().map(|interval| interval.seconds).sum();
    let Some(stall) = Stall::new(&spans, phase_s) else {
        return;
    };
    let is_large =
        stall.longest_s >= LONGEST_STALL_SHARE * phase_s || stall.ratio() >= ALL_STALLS_SHARE;
    let waits_for_answers = matches!(facts.model, LoadModel::Closed | LoadModel::Users);
    // What clients wait for is what they are to show: each has its timeout.
    let is_judged = !facts.has_faults() && facts.model != LoadModel::Clients;
    if is_large && is_judged {
        findings.reason(Verdict::Unsteady, SystemFinding::Stalled(stall));
    } else if waits_for_answers && is_judged && stall.is_omission(float(facts.measured.succeeded)) {
        findings.reason(Verdict::Unsteady, SystemFinding::Omitted(stall));
    } else {
        findings.remark(SystemFinding::Stalled(stall));
    }
}
