//! Trials that end early because a value of their intervals is above its bound.

use waggle_results::{PhaseName, StopNumber, StoppedInfo, TrialEnd, TrialInfo};

use super::{Bench, STUDY, Then, world, world::Fault};

/// Runs the study with this `stop_when`; returns its first trial.
async fn first_trial(stop_when: &str, fault: Option<Fault>) -> TrialInfo {
    let measure = "  measure: 2s\n";
    assert!(STUDY.contains(measure));
    let study = STUDY.replace(measure, &format!("{measure}  stop_when: {stop_when}\n"));
    let (bench, fake) = (Bench::new_with_study(&study), world(fault));
    bench.run(&fake, Then::Nothing).await.0.unwrap();
    let trials = bench.results().trials;
    assert_eq!(trials.len(), 4, "the next trials run all the same");
    trials[0].info.clone()
}

/// The phase in which the trial ended early, and why.
fn failure(trial: &TrialInfo) -> (PhaseName, &str) {
    match &trial.end {
        TrialEnd::Failed { phase, reason, .. } => (*phase, reason),
        TrialEnd::Completed => panic!("{trial:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn errors_over_several_intervals_end_the_measured_phase() {
    // The measured phase begins with interval 4, of 250 ms.
    let trial = first_trial("[{ error_rate: 50%, for: 750ms }]", Some(Fault::Refuses(6))).await;
    assert_eq!(
        trial.stopped,
        Some(StoppedInfo {
            number: StopNumber::ErrorRate,
            quantile: None,
            above: 0.5,
            observed: 1.0,
            for_s: 0.75,
            at_s: 2.25,
        })
    );
    let (phase, why) = failure(&trial);
    assert_eq!(phase, PhaseName::Measure);
    assert_eq!(
        why,
        "stopped by stop_when: the error rate was above 50.0 % for 0.75 s, in the end 100.0 %"
    );
    assert_eq!((trial.measured.sent, trial.measured.failed), (500, 300));
    let measure = trial.phases.iter().find(|ran| ran.phase == phase).unwrap();
    assert_eq!((measure.start_s, measure.end_s), (1.0, 2.25));
}

#[tokio::test(start_paused = true)]
async fn a_warm_up_ends_early_too() {
    let trial = first_trial("[{ p99: 500us, for: 500ms }]", None).await;
    let (phase, why) = failure(&trial);
    assert_eq!(phase, PhaseName::WarmUp);
    assert!(
        why.starts_with("stopped by stop_when: p99 of response time was above 0.5 ms"),
        "{why}"
    );
    let stopped = trial.stopped.unwrap();
    assert_eq!(
        (stopped.quantile, stopped.above, stopped.at_s),
        (Some(0.99), 500.0, 0.5)
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_within_its_bounds_or_too_short_ends_nothing() {
    for (stop_when, fault) in [
        (
            "[{ error_rate: 50%, for: 500ms }, { p99: 1s, for: 250ms }]",
            None,
        ),
        ("[{ error_rate: 50%, for: 5s }]", Some(Fault::Refuses(4))),
        ("[]", Some(Fault::Refuses(4))),
    ] {
        let trial = first_trial(stop_when, fault).await;
        assert_eq!(
            (&trial.end, trial.stopped),
            (&TrialEnd::Completed, None),
            "{stop_when}"
        );
    }
}
