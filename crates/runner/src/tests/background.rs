//! Loads beside the measured one: when they begin and end, what of them counts, and what becomes of the trial if they fail.

use waggle_results::{PhaseName, TrialEnd};
use waggle_spec::LoadRole;

use super::{
    Bench, STUDY, Then, world,
    world::{Fault, PER_INTERVAL, fake_run::BACKGROUND_PER_INTERVAL},
};
use crate::run::request::Ended;

/// Two trials without, two with the background load `lists`.
fn bench() -> Bench {
    let study = STUDY
        .replace("connections: [1, 2]", "listers: [0, 3]")
        .replace("connections: ${connections}", "connections: 1");
    let background = "
background:
  - name: lists
    connections: ${listers}
    request: { get: /records, timeout: 7s }
";
    Bench::new_with_study(&(study + background))
}

#[tokio::test(start_paused = true)]
async fn a_background_load_begins_before_the_warm_up_and_ends_with_the_measured_phase() {
    let (bench, world) = (bench(), world(None));
    let (ended, _) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let without = ["up", "ready", "verify", "load", "joined", "down"];
    let with = [
        "up",
        "ready",
        "verify",
        "begin lists",
        "load",
        "stop lists",
        "joined",
        "joined lists",
        "down",
    ];
    let repetition: Vec<&str> = without.into_iter().chain(with).collect();
    assert_eq!(world.borrow().done, repetition.repeat(2));
    // Files are made room for once, for all connections of a trial.
    assert_eq!(world.borrow().reserved, [1, 4, 1, 4]);
}

#[tokio::test(start_paused = true)]
async fn what_a_background_load_does_in_the_measured_phase_counts() {
    let bench = bench();
    bench.run(&world(None), Then::Nothing).await.0.unwrap();
    for trial in bench.results().trials {
        let info = &trial.info;
        assert_eq!(info.end, TrialEnd::Completed);
        // The measured load is none the wiser.
        assert_eq!(info.measured.succeeded, 8 * PER_INTERVAL);
        let ledger = info.ledger.as_ref().unwrap();
        assert_eq!((ledger.sent, ledger.missing), (12 * PER_INTERVAL, 0));
        let [load] = &info.loads[..] else {
            assert_eq!(info.key.cell, 1, "only the first cell has no listers");
            assert!(info.loads.is_empty());
            assert_eq!(info.absent_loads, ["lists"]);
            continue;
        };
        assert_eq!((load.role, &*load.name), (LoadRole::Background, "lists"));
        assert!(info.absent_loads.is_empty());
        let measured = &load.counts;
        assert_eq!(
            (measured.seconds, measured.succeeded),
            (2.0, 8 * BACKGROUND_PER_INTERVAL)
        );
        assert_eq!(load.generator.connections_asked, 3);
        assert_eq!(load.generator.in_flight_asked, Some(3.0));
        assert_eq!(load.generator.utilization, 0.5);
        let times = load.response_time.as_ref().unwrap();
        let median = times.points.iter().find(|point| point.quantile == 0.5);
        let median = median.unwrap().us;
        assert!((24_900.0..25_100.0).contains(&median), "{median}");
        assert!(load.service_time.is_some());
        assert!(info.remarks.is_empty(), "{:?}", info.remarks);
    }
}

/// Trials of the first cell, which has no background load, are not touched by the fault.
async fn check_failure(fault: Fault, reason: &str) {
    let (bench, world) = (bench(), world(Some(fault)));
    let (ended, _) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished, "{fault:?}");
    for trial in bench.results().trials {
        let TrialEnd::Failed {
            phase,
            reason: failure_reason,
            ..
        } = &trial.info.end
        else {
            assert_eq!(trial.info.key.cell, 1, "{fault:?} went unnoticed");
            continue;
        };
        assert_eq!(trial.info.key.cell, 2);
        assert_eq!((*phase, &**failure_reason), (PhaseName::Measure, reason));
        assert_eq!(trial.info.loads[0].name, "lists");
    }
    let done = &world.borrow().done;
    let count = |what: &str| done.iter().filter(|done| *done == what).count();
    assert_eq!((count("begin lists"), count("joined lists")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_background_load_that_cannot_go_on_fails_the_trial_by_its_name() {
    check_failure(
        Fault::BackgroundEnds(6),
        "the background load \"lists\" ended before the measured phase was over",
    )
    .await;
    check_failure(
        Fault::BackgroundUnconnected,
        "the background load \"lists\" established no connection before the measured phase",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_background_load_ends_with_an_aborted_trial() {
    for phase in [PhaseName::WarmUp, PhaseName::Measure] {
        let (bench, world) = (bench(), world(None));
        // The second trial is the first one with listers.
        let (ended, _) = bench.run(&world, Then::ShutdownIn(2, phase)).await;
        assert_eq!(ended.unwrap(), Ended::Interrupted, "{phase:?}");
        let done = world.borrow().done.clone();
        let last = [
            "begin lists",
            "load",
            "stop lists",
            "down",
            "joined",
            "joined lists",
        ];
        assert_eq!(done[done.len() - last.len()..], last, "{phase:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_loads_are_started_awaits_those_that_have_begun() {
    let (bench, world) = (bench(), world(Some(Fault::StartsSlowly)));
    let (ended, _) = bench.run(&world, Then::ShutdownWhenBegun).await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    let done = world.borrow().done.clone();
    let last = [
        "begin lists",
        "load",
        "stop lists",
        "down",
        "joined",
        "joined lists",
    ];
    assert_eq!(done[done.len() - last.len()..], last);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_late_awaits_the_loads_that_have_begun() {
    let (bench, world) = (bench(), world(Some(Fault::TwoStores)));
    let (ended, _) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    for trial in bench.results().trials {
        let TrialEnd::Failed { phase, reason, .. } = &trial.info.end else {
            panic!("the fault went unnoticed");
        };
        assert_eq!(*phase, PhaseName::WarmUp);
        assert!(reason.contains("reads one store"), "{reason}");
    }
    let done = world.borrow().done.clone();
    let last = [
        "begin lists",
        "load",
        "stop lists",
        "joined",
        "joined lists",
        "down",
    ];
    // Three trials that fail alike are enough, and the last of them has no background load.
    assert!(
        done.windows(last.len()).any(|steps| steps == last),
        "{done:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_background_load_outlasts_a_late_end_of_the_measured_phase() {
    // Two intervals of the measured load arrive as one, the last of which lies beyond the phase.
    let (bench, world) = (bench(), world(Some(Fault::HandsOverLate(2, 11))));
    bench.run(&world, Then::Nothing).await.0.unwrap();
    let trials = bench.results().trials;
    let with = trials.iter().filter(|trial| trial.info.key.cell == 2);
    for trial in with {
        assert_eq!(
            trial.info.loads[0].counts.succeeded,
            9 * BACKGROUND_PER_INTERVAL
        );
    }
}
