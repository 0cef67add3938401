//! Loads that the user ends early, and whose trials are kept.

use waggle_results::{PhaseName, TrialEnd, TrialInfo};

use super::{Bench, STUDY, Then, recovery, world, world::Fault};
use crate::run::request::Ended;

/// Runs the study without delivery, so that no drain follows the load; returns its only trial.
async fn only_trial(then: Then, fault: Option<Fault>) -> TrialInfo {
    let delivery = "delivery: { probes: store, poll_interval: 100ms }\n";
    assert!(STUDY.contains(delivery));
    let (bench, fake) = (
        Bench::new_with_study(&STUDY.replace(delivery, "")),
        world(fault),
    );
    let (ended, _) = bench.run(&fake, then).await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    let trials = bench.results().trials;
    assert_eq!(trials.len(), 1, "nothing is begun after it");
    trials[0].info.clone()
}

#[tokio::test(start_paused = true)]
async fn what_was_measured_is_the_result() {
    let trial = only_trial(Then::EndLoadAfter(3), None).await;
    assert_eq!(trial.end, TrialEnd::Completed);
    // The warm-up has four intervals of 250 ms with a hundred requests each.
    assert_eq!((trial.measured.sent, trial.totals.sent), (300, 700));
    let measure = trial
        .phases
        .iter()
        .find(|ran| ran.phase == PhaseName::Measure);
    let measure = measure.unwrap();
    assert_eq!((measure.start_s, measure.end_s), (1.0, 1.75));
    let is_remarked = trial
        .remarks
        .iter()
        .any(|remark| remark.contains("ended before its time"));
    assert!(is_remarked, "{:?}", trial.remarks);
}

/// Runs the study whose load drops; returns its only trial.
async fn only_falling_trial(then: Then) -> TrialInfo {
    let bench = recovery::open();
    let (ended, _) = bench.run(&world(None), then).await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    let trials = bench.results().trials;
    assert_eq!(trials.len(), 1);
    trials[0].info.clone()
}

#[tokio::test(start_paused = true)]
async fn a_load_that_is_ended_before_it_falls_has_no_recovery() {
    let trial = only_falling_trial(Then::EndLoadAfter(3)).await;
    assert_eq!(trial.end, TrialEnd::Completed);
    assert_eq!(trial.measured.sent, 300);
    assert_eq!(
        (trial.phase(PhaseName::Recovery), trial.load_drop),
        (None, None)
    );
}

#[tokio::test(start_paused = true)]
async fn a_load_that_is_ended_in_its_recovery_keeps_what_was_measured() {
    let trial = only_falling_trial(Then::EndLoad(PhaseName::Recovery)).await;
    assert_eq!(trial.end, TrialEnd::Completed);
    assert_eq!(trial.measured.sent, 800);
    assert_eq!(trial.load_drop.map(|drop| drop.at_s), Some(3.0));
}

#[tokio::test(start_paused = true)]
async fn a_second_stop_request_does_not_wait_for_answers() {
    let hangs = Some(Fault::Hangs(PhaseName::Finish));
    let trial = only_trial(Then::EndLoadThenShutdown(3), hangs).await;
    assert_eq!(trial.end, TrialEnd::Completed);
    assert_eq!((trial.measured.sent, trial.totals.sent), (300, 700));
    let is_remarked = trial
        .remarks
        .iter()
        .any(|remark| remark.contains("were not awaited"));
    assert!(is_remarked, "{:?}", trial.remarks);
}

#[tokio::test(start_paused = true)]
async fn without_a_measured_interval_there_is_no_result_but_why() {
    for (phase, why) in [
        (
            PhaseName::WarmUp,
            "the load was ended in its warm-up, nothing was measured",
        ),
        (
            PhaseName::Measure,
            "the load was ended before anything was measured",
        ),
    ] {
        let trial = only_trial(Then::EndLoad(phase), None).await;
        let TrialEnd::Failed {
            phase: failure_phase,
            reason,
            ..
        } = &trial.end
        else {
            panic!("{trial:?}");
        };
        assert_eq!((*failure_phase, reason.as_str()), (phase, why));
    }
}
