//! From the study to the verdict: the fake system does well, loses records, slows down, is overloaded or killed. The run folder
//! is written, and `waggle_analysis` reads it.

use std::time::Duration;

use waggle_analysis::{Decision, Model, Shortcoming, TrialModel, TrialRemark};
use waggle_stats::{
    AccountingFinding, Backlog, Change, Control, End, Finding, InjectedFault, LatenessFinding,
    Recovery, Series, SystemFinding, Verdict,
};

use super::{
    Bench, STUDY, Then, phases, world,
    world::{Fault, PER_INTERVAL, fake_load::Course},
};
use crate::event::Event;

const CLOSED: &str = "  model: closed\n  connections: ${connections}\n  pipelining: 1\n";
/// As many requests as the fake load makes by default.
const OPEN: &str = "  model: open\n  rate: 400/s\n  connections: ${connections}\n";

/// The study with one trial and these changes.
fn bench(changes: &[(&str, &str)]) -> Bench {
    let once = [
        ("connections: [1, 2]", "connections: [8]"),
        ("repeat: 2", "repeat: 1"),
    ];
    let mut study = STUDY.to_owned();
    for (old, new) in once.iter().chain(changes) {
        assert!(study.contains(old), "{old}");
        study = study.replace(old, new);
    }
    Bench::new_with_study(&study)
}

/// The analysis of the run.
async fn judge_run(bench: &Bench, fault: Option<Fault>, course: Course) -> Model {
    let world = world(fault);
    world.borrow_mut().course = course;
    bench.run(&world, Then::Nothing).await.0.unwrap();
    waggle_analysis::model(&bench.results())
}

/// Verdict and reasons of the only trial; its cell has the same verdict.
fn reasons(model: &Model) -> (Verdict, Vec<(Verdict, &Finding)>) {
    let [trial] = &model.trials[..] else {
        panic!("{} trials", model.trials.len());
    };
    assert_eq!(model.cells[0].verdict, Some(trial.verdict));
    let reasons = trial.reasons.iter();
    let reasons = reasons.map(|reason| (reason.verdict, &reason.finding));
    (trial.verdict, reasons.collect())
}

fn ledger(trial: &TrialModel) -> (u64, u64, u64) {
    let ledger = trial.info.ledger.as_ref().unwrap();
    (ledger.accepted, ledger.missing, ledger.duplicates)
}

#[tokio::test(start_paused = true)]
async fn a_system_that_does_well_is_valid_and_thresholds_count() {
    let thresholds = "thresholds: [put.failed == 0, put.response_time.p99 < 30ms, put.response_time.p50 < 1us]\ndelivery: {";
    for load in [CLOSED, OPEN] {
        let bench = bench(&[("delivery: {", thresholds), (CLOSED, load)]);
        let model = judge_run(&bench, None, Course::default()).await;
        assert_eq!(reasons(&model), (Verdict::Valid, Vec::new()));
        let held: Vec<Decision> = model
            .thresholds
            .iter()
            .map(|threshold| threshold.held)
            .collect();
        assert_eq!(held, [Decision::Holds, Decision::Holds, Decision::Fails]);
        let numbers = model.trials[0].numbers.as_ref().unwrap();
        assert_eq!(
            (numbers.counts.seconds, numbers.goodput_per_s),
            (2.0, 400.0)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_accepted_and_is_not_there_makes_a_trial_incomplete() {
    let nth = 12 * PER_INTERVAL;
    let model = judge_run(&bench(&[]), Some(Fault::Loses(nth)), Course::default()).await;
    assert_eq!(ledger(&model.trials[0]), (nth, 1, 0));
    let key = model.trials[0].info.ledger.as_ref().unwrap().missing_keys[0];
    let missing = Finding::Accounting(AccountingFinding::Missing {
        missing: 1,
        accepted: 1_200,
        first_keys: vec![key],
        unread: false,
    });
    assert_eq!(
        reasons(&model),
        (Verdict::Incomplete, vec![(Verdict::Incomplete, &missing)])
    );
    // A duplicate is in the ledger, and no reason to doubt the rest.
    let model = judge_run(&bench(&[]), Some(Fault::Doubles(nth)), Course::default()).await;
    assert_eq!(ledger(&model.trials[0]), (nth, 0, 1));
    assert_eq!(reasons(&model), (Verdict::Valid, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_system_slower_than_the_rate_is_overloaded() {
    let course = Course {
        answers_at_most: 60,
        ..Course::default()
    };
    let model = judge_run(&bench(&[(CLOSED, OPEN)]), None, course).await;
    let (verdict, reasons) = reasons(&model);
    assert_eq!(verdict, Verdict::Overloaded);
    let [least, grows, unsteady] = &reasons[..] else {
        panic!("{reasons:?}");
    };
    assert!(
        matches!(
            least,
            (
                Verdict::Overloaded,
                Finding::System(SystemFinding::Unanswered {
                    due: 800,
                    answered: 480,
                    skipped: 0,
                    ..
                })
            )
        ),
        "{least:?}"
    );
    let (Verdict::Overloaded, Finding::System(SystemFinding::Grew { what, growth })) = grows else {
        panic!("{grows:?}");
    };
    assert_eq!(*what, Backlog::Requests);
    let numbers = [growth.from, growth.to, growth.per_s, growth.asked_per_s];
    assert_eq!(numbers.map(f64::round), [40.0, 320.0, 160.0, 400.0]);
    assert!(
        matches!(
            unsteady,
            (
                Verdict::Unsteady,
                Finding::System(SystemFinding::Changed {
                    what: Series::P50,
                    how: Change::Drift,
                    ..
                })
            )
        ),
        "{unsteady:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_system_that_slows_down_halfway_is_unsteady() {
    let course = Course {
        // The measured phase begins with the fifth interval.
        time: |interval| Duration::from_millis(if interval < 8 { 1 } else { 40 }),
        ..Course::default()
    };
    let model = judge_run(&bench(&[(CLOSED, OPEN)]), None, course).await;
    let (Verdict::Unsteady, reasons) = reasons(&model) else {
        panic!("{:?}", model.trials);
    };
    let [
        (
            Verdict::Unsteady,
            Finding::System(SystemFinding::Changed {
                what,
                from,
                to,
                how,
            }),
        ),
    ] = reasons[..]
    else {
        panic!("{reasons:?}");
    };
    assert_eq!((*what, *how), (Series::P50, Change::Step { at_s: 1.0 }));
    assert_eq!([from, to].map(|level| (level / 1e3).round()), [1.0, 40.0]);
}

#[tokio::test(start_paused = true)]
async fn a_generator_that_is_late_was_the_limit_itself() {
    let course = Course {
        lag: Duration::from_millis(5),
        ..Course::default()
    };
    let model = judge_run(&bench(&[(CLOSED, OPEN)]), None, course).await;
    let (verdict, reasons) = reasons(&model);
    assert_eq!(verdict, Verdict::InstrumentLimited);
    let [
        (
            _,
            Finding::Lateness(LatenessFinding::Late {
                lag,
                allowed_us,
                generator: None,
            }),
        ),
    ] = reasons[..]
    else {
        panic!("{reasons:?}");
    };
    let lag_ms = (lag.p99_us / 1e3).round();
    assert_eq!((lag_ms, *allowed_us), (5.0, 100.0));
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_fails_has_no_other_verdict() {
    let fault = Some(Fault::Fails(waggle_results::PhaseName::Ready));
    let model = judge_run(&bench(&[]), fault, Course::default()).await;
    assert_eq!(
        reasons(&model),
        (
            Verdict::Failed,
            vec![(Verdict::Failed, &Finding::Ended("ready failed".to_owned()))]
        )
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_kill_does_to_the_level_is_no_reason_but_what_is_lost_is() {
    let faults = "faults: [{ kill: fake, at: 500ms, restart_after: 500ms }]\ndelivery: {";
    let bench = || bench(&[("delivery: {", faults)]);
    let model = judge_run(&bench(), Some(Fault::Remembers), Course::default()).await;
    assert_eq!(reasons(&model), (Verdict::Valid, Vec::new()));
    let killed = InjectedFault {
        kind: "kill",
        name: "fake-0".to_owned(),
        at_s: 0.5,
    };
    let finding = Finding::System(SystemFinding::NotJudged(vec![killed]));
    let last = model.trials[0].remarks.last();
    assert_eq!(last, Some(&TrialRemark::Found(finding)));
    let model = judge_run(&bench(), None, Course::default()).await;
    let (verdict, reasons) = reasons(&model);
    assert_eq!((verdict, reasons.len()), (Verdict::Incomplete, 1));
    // All that was stored before it died, and was lost with it.
    assert_eq!(ledger(&model.trials[0]).1, 6 * PER_INTERVAL);
}

/// Whether a system that was overloaded recovers within this time when the load drops to a quarter.
async fn recovery(at_most: &str) -> Recovery {
    let measure =
        format!("  measure: 2s\n  recovery: {{ rate: 100/s, p99: 250ms, duration: {at_most} }}\n");
    let bench = bench(&[(CLOSED, OPEN), ("  measure: 2s\n", &measure)]);
    let course = Course {
        requests: |interval| if interval < 12 { 100 } else { 25 },
        answers_at_most: 60,
        ..Course::default()
    };
    let model = judge_run(&bench, None, course).await;
    assert_eq!(model.cells[0].verdict, Some(Verdict::Overloaded));
    model.trials[0].recovery.unwrap().outcome
}

#[tokio::test(start_paused = true)]
async fn a_system_has_recovered_when_what_had_piled_up_is_done() {
    // 480 requests wait when the load drops, and 35 fewer with each interval. At the end of the twelfth, sixty are left; they
    // take an interval and so more than the limit.
    assert_eq!(recovery("6s").await, Recovery::After(3.0));
    assert_eq!(recovery("2s").await, Recovery::NotWithin(2.0));
}

/// The recovery of the only cell if these requests take 400 ms, more than the limit. The load drops with interval 56; with a control
/// the first forty intervals have the same level.
async fn recovery_with_slow(control: bool, time: fn(u32) -> Duration) -> Model {
    let control = if control { ", control: 10s" } else { "" };
    let measure = format!(
        "  measure: 2s\n  recovery: {{ rate: 100/s, p99: 250ms, duration: 30s{control} }}\n"
    );
    let bench = bench(&[
        (CLOSED, OPEN),
        ("warm_up: 1s", "warm_up: 12s"),
        ("  measure: 2s\n", &measure),
        (
            "delivery: {",
            "thresholds: [recovery_time < 1s]\ndelivery: {",
        ),
    ]);
    let course = Course {
        time,
        ..Course::default()
    };
    judge_run(&bench, None, course).await
}

/// One interval in forty is slow, whatever the load is.
fn pauses(interval: u32) -> Duration {
    Duration::from_millis(if interval % 40 == 20 { 400 } else { 1 })
}

#[tokio::test(start_paused = true)]
async fn a_system_that_has_bad_intervals_at_any_time_has_recovered_at_once() {
    let model = recovery_with_slow(true, pauses).await;
    let recovery = model.cells[0].recovery.as_ref().unwrap();
    let (bad, intervals) = (1, 40);
    assert_eq!(recovery.control, Some(Control { bad, intervals }));
    assert_eq!(recovery.trials, [Recovery::After(0.0)]);
    assert_eq!(model.thresholds[0].held, Decision::Holds);

    // Without a control the last of them is its end.
    let model = recovery_with_slow(false, pauses).await;
    let recovery = model.cells[0].recovery.as_ref().unwrap();
    assert_eq!(recovery.control, None);
    assert_eq!(recovery.trials, [Recovery::After(21.25)]);
    assert_eq!(model.thresholds[0].held, Decision::Fails);
}

#[tokio::test(start_paused = true)]
async fn a_control_that_is_bad_itself_decides_nothing() {
    let time = |interval| Duration::from_millis(if interval < 40 { 400 } else { 1 });
    let model = recovery_with_slow(true, time).await;
    let recovery = model.cells[0].recovery.as_ref().unwrap();
    assert_eq!(recovery.trials, [Recovery::NoReference]);
    assert_eq!((recovery.recovered, recovery.after), (0, None));
    let (trials, total) = (1, 1);
    let threshold = &model.thresholds[0];
    assert_eq!(threshold.held, Decision::Undecided);
    assert_eq!(
        threshold.cells[0].reason,
        Some(Shortcoming::NoReference { trials, of: total })
    );
}

/// The answer of a search for connections.
async fn search_connections(
    condition: &str,
    fault: Option<Fault>,
    course: Course,
) -> (Vec<f64>, End, Option<f64>) {
    let bench = bench(&[
        ("connections: [8]", "pipelining: [1]"),
        ("  connections: ${connections}\n", ""),
        ("  pipelining: 1\n", "  pipelining: ${pipelining}\n"),
        ("  repeat: 1\n", ""),
        (
            "delivery: {",
            &format!(
                "search: {{ maximize: connections, start: 4, min: 2, confirmations: 1, max_trials: 9, conditions: [{condition}] }}\n\
                 delivery: {{"
            ),
        ),
    ]);
    let world = world(fault);
    world.borrow_mut().course = course;
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    ended.unwrap();
    assert_eq!(phases(&events).len(), bench.results().trials.len());
    let model = waggle_analysis::model(&bench.results());
    let search = &model.search.as_ref().unwrap().cells[0];
    let end = events.iter().find_map(|event| match event {
        Event::Found { answer, .. } => Some(answer.end),
        _ => None,
    });
    assert_eq!(end, Some(search.answer.end));
    let levels = search.steps.iter().map(|step| step.level).collect();
    let held = search.answer.holds.map(|held| held.level);
    (levels, search.answer.end, held)
}

#[tokio::test(start_paused = true)]
async fn a_search_ends_as_its_trials_show() {
    let condition = "put.failed == 0";
    let (levels, end, held) =
        search_connections(condition, Some(Fault::HoldsAtMost(5)), Course::default()).await;
    assert_eq!((end, held), (End::Found, Some(5.0)));
    assert_eq!(levels[..2], [4.0, 8.0]);
    let never = search_connections("put.response_time.p99 < 1us", None, Course::default()).await;
    assert_eq!(never, (vec![4.0, 2.0], End::NeverMet, None));
    let course = Course {
        lag: Duration::from_millis(5),
        ..Course::default()
    };
    // A lag says nothing of failures; a time that does not hold with it may hold without.
    let (_, end, held) = search_connections("put.response_time.p99 < 1us", None, course).await;
    assert_eq!((end, held), (End::InstrumentLimited, None));
}
