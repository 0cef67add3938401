//! Checks of one trial at their limits, each with the facts that it needs and no others.

use super::*;
use crate::{
    judgement::{
        finding::{Backlog, InstrumentFinding, LatenessFinding, SystemFinding},
        reason::Reason,
    },
    over_time::trial_facts::{
        Arrivals, Counts, Generator, GeneratorPart, LoadModel, RunningTotals,
    },
};

/// Verdicts of the reasons, in order.
fn verdicts(facts: &TrialFacts<'_>) -> Vec<Verdict> {
    let reasons = check(facts).reasons;
    reasons.iter().map(|reason| reason.verdict).collect()
}

/// An open load of 1,000/s, measured for `seconds` after a warm-up of `warm_up_s`, of which the system answers a share.
fn open_load(warm_up_s: f64, seconds: f64, answered: f64) -> TrialFacts<'static> {
    let due = 1_000.0 * seconds;
    let growth = 1_000.0 * (1.0 - answered);
    let counts = Counts {
        seconds,
        due: due as u64,
        sent: due as u64,
        succeeded: (answered * due) as u64,
        in_flight_change: (growth * seconds) as i64,
        ..Counts::default()
    };
    TrialFacts {
        model: LoadModel::Open,
        measured: counts,
        totals: counts,
        offered_per_s: Some(1_000.0),
        in_flight_start: growth * warm_up_s,
        generator: Generator {
            in_flight_mean: growth * (warm_up_s + seconds / 2.0),
            ..Generator::default()
        },
        ..TrialFacts::default()
    }
}

#[test]
fn requests_left_by_the_warm_up_do_not_hide_that_half_is_unanswered() {
    let is_overloaded = |facts: &TrialFacts<'_>| {
        let reasons = check(facts).reasons;
        reasons.iter().any(|reason| {
            matches!(
                reason.finding,
                Finding::System(SystemFinding::Unanswered { .. })
            )
        })
    };
    for warm_up_s in [0.0, 2.0, 5.0, 60.0] {
        for seconds in [4.0, 30.0] {
            let facts = |answered| open_load(warm_up_s, seconds, answered);
            assert!(is_overloaded(&facts(0.5)), "{warm_up_s} {seconds}");
            // Of very many in flight chance alone changes as many as a tenth of four seconds.
            let is_seen = warm_up_s < 60.0 || seconds > 4.0;
            assert_eq!(is_overloaded(&facts(0.9)), is_seen, "{warm_up_s} {seconds}");
            assert!(!is_overloaded(&facts(1.0)), "{warm_up_s} {seconds}");
        }
    }
    // Without a warm-up a system that takes 100 ms has 100 requests in flight at the end; they are no backlog.
    let mut first = open_load(0.0, 4.0, 1.0);
    first.measured.succeeded -= 100;
    first.measured.in_flight_change = 100;
    first.generator.in_flight_mean = 100.0;
    assert!(!is_overloaded(&first));
}

#[test]
fn half_answered_is_seen_at_four_polls() {
    let at_s = [1.0, 2.0, 3.0, 4.0];
    let asked = at_s.map(|time| 1_000.0 * time);
    let done = at_s.map(|time| 500.0 * time);
    let facts = TrialFacts {
        answers: RunningTotals {
            at_s: &at_s,
            asked: &asked,
            done: &done,
        },
        ..open_load(5.0, 4.0, 0.5)
    };
    let grows = |reason: &Reason| {
        matches!(
            reason.finding,
            Finding::System(SystemFinding::Grew {
                what: Backlog::Requests,
                ..
            })
        )
    };
    assert!(check(&facts).reasons.iter().any(grows));
}

#[test]
fn a_uniform_schedule_is_known_to_the_request() {
    let rate = |arrivals, due| {
        let mut facts = open_load(0.0, 1.0, 1.0);
        facts.offered_per_s = Some(100.0);
        facts.arrivals = arrivals;
        for counts in [&mut facts.measured, &mut facts.totals] {
            (counts.due, counts.sent, counts.succeeded) = (due, due, due);
        }
        verdicts(&facts)
    };
    let limited = vec![Verdict::InstrumentLimited];
    assert_eq!(rate(Arrivals::Uniform, 100), vec![]);
    assert_eq!(rate(Arrivals::Uniform, 98), vec![]);
    assert_eq!(rate(Arrivals::Uniform, 90), limited);
    // By chance a Poisson process has 90 arrivals in place of 100; it does not have 50.
    assert_eq!(rate(Arrivals::Poisson, 90), vec![]);
    assert_eq!(rate(Arrivals::Poisson, 50), limited);
}

#[test]
fn the_cpu_of_the_probe_is_a_remark_and_then_a_doubt() {
    let findings = |share| {
        let findings = check(&TrialFacts {
            probe_cpu_share: Some(share),
            ..TrialFacts::default()
        });
        let is_of_probe = |finding: &Finding| {
            matches!(
                finding,
                Finding::Instrument(InstrumentFinding::ProbeCpu { .. })
            )
        };
        let reasons = findings.reasons.iter();
        let remarks = findings.remarks.iter();
        (
            reasons
                .filter(|reason| is_of_probe(&reason.finding))
                .count(),
            remarks.filter(|finding| is_of_probe(finding)).count(),
        )
    };
    assert_eq!(findings(0.04), (0, 0));
    assert_eq!(findings(0.05), (0, 1));
    assert_eq!(findings(0.30), (1, 0));
    let reasons = check(&TrialFacts {
        probe_cpu_share: Some(0.30),
        ..TrialFacts::default()
    })
    .reasons;
    let aspects: Vec<crate::judgement::doubt::Aspect> = reasons[0]
        .finding
        .doubts()
        .iter()
        .map(|doubt| doubt.aspect)
        .collect();
    assert_eq!(
        aspects,
        [
            crate::judgement::doubt::Aspect::Goodput,
            crate::judgement::doubt::Aspect::Cpu
        ]
    );
}

#[test]
fn a_closed_load_keeps_as_many_in_flight_as_were_asked_for() {
    let narrow = |is_system_narrow, model, asked, mean| {
        let findings = check(&TrialFacts {
            model,
            generator: Generator {
                is_system_narrow,
                in_flight_asked: asked,
                in_flight_sending: mean,
                ..Generator::default()
            },
            ..TrialFacts::default()
        });
        findings.reasons.iter().any(|reason| {
            matches!(
                reason.finding,
                Finding::Instrument(InstrumentFinding::InFlightMissing { .. })
            )
        })
    };
    let findings = |model, asked, mean| narrow(false, model, asked, mean);
    assert!(!findings(LoadModel::Closed, Some(500.0), Some(490.0)));
    // The server takes fewer streams.
    assert!(!narrow(true, LoadModel::Closed, Some(500.0), Some(100.0)));
    assert!(findings(LoadModel::Closed, Some(500.0), Some(480.0)));
    // A load that is over within an interval.
    assert!(!findings(LoadModel::Closed, Some(500.0), None));
    assert!(!findings(LoadModel::Closed, None, Some(480.0)));
    assert!(!findings(LoadModel::Open, Some(500.0), Some(480.0)));
}

#[test]
fn records_that_are_seen_before_they_are_sent_make_delays_doubtful() {
    let aspects = |share| {
        let findings = check(&TrialFacts {
            negative_delay_share: share,
            ..TrialFacts::default()
        });
        let reasons = findings.reasons.into_iter().filter(|reason| {
            matches!(
                reason.finding,
                Finding::Instrument(InstrumentFinding::NegativeDelays { .. })
            )
        });
        reasons
            .flat_map(|reason| reason.finding.doubts())
            .map(|doubt| doubt.aspect)
            .collect::<Vec<_>>()
    };
    assert_eq!(aspects(None), []);
    assert_eq!(aspects(Some(0.001)), []);
    assert_eq!(
        aspects(Some(0.002)),
        [crate::judgement::doubt::Aspect::Delivery]
    );
}

#[test]
fn a_worker_of_a_background_load_is_one_of_the_generator() {
    let part = |utilization| GeneratorPart {
        utilization,
        ..GeneratorPart::default()
    };
    let full = |total: f64, generators: &[f64], background: &[f64]| {
        let facts = TrialFacts {
            generator: Generator {
                utilization: total,
                ..Generator::default()
            },
            generators: generators.iter().copied().map(part).collect(),
            background: background.iter().copied().map(part).collect(),
            ..TrialFacts::default()
        };
        let reasons = check(&facts).reasons.into_iter();
        let mut workers = reasons.filter_map(|reason| match reason.finding {
            Finding::Lateness(LatenessFinding::WorkerFull {
                busy, generator, ..
            }) => Some((busy, generator.map(|generator| generator.number))),
            _ => None,
        });
        workers.next()
    };
    assert_eq!(full(0.5, &[], &[]), None);
    assert_eq!(full(0.5, &[], &[0.3, 0.94]), None);
    assert_eq!(full(0.5, &[], &[0.97, 0.3]), Some((0.97, None)));
    assert_eq!(full(0.99, &[], &[0.97]), Some((0.99, None)));
    assert_eq!(full(0.99, &[0.5, 0.98], &[0.97]), Some((0.98, Some(2))));
    assert_eq!(full(0.5, &[0.5, 0.4], &[0.97]), Some((0.97, None)));
}
