//! Loads that somebody ends before their time, and whose trials are kept.

use waggle_results::{PhaseName, TrialEnd, TrialInfo};

use super::{Bench, STUDY, Then, world, world::Fault};
use crate::Ended;

/// Runs the study without delivery, whose drain would not be of the load; gives its only trial.
async fn only_trial(then: Then, fault: Option<Fault>) -> TrialInfo {
    let delivery = "  delivery: { at: store, poll: 100ms }\n";
    assert!(STUDY.contains(delivery));
    let (bench, fake) = (Bench::with(&STUDY.replace(delivery, "")), world(fault));
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
    let told = trial
        .remarks
        .iter()
        .any(|remark| remark.contains("ended before its time"));
    assert!(told, "{:?}", trial.remarks);
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_twice_does_not_wait_for_answers() {
    let hangs = Some(Fault::Hangs(PhaseName::Finish));
    let trial = only_trial(Then::EndLoadThenShutdown(3), hangs).await;
    assert_eq!(trial.end, TrialEnd::Completed);
    assert_eq!((trial.measured.sent, trial.totals.sent), (300, 700));
    let told = trial
        .remarks
        .iter()
        .any(|remark| remark.contains("were not awaited"));
    assert!(told, "{:?}", trial.remarks);
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
            phase: at, reason, ..
        } = &trial.end
        else {
            panic!("{trial:?}");
        };
        assert_eq!((*at, reason.as_str()), (phase, why));
    }
}
