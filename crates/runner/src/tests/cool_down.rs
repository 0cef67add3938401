//! A cool-down that waits for a value of the machine, in the scheduler: what is noted, and that it can be interrupted.

use std::{fs, path::Path, time::Duration};

use tokio::time::Instant;
use waggle_results::PhaseName;

use super::{Bench, STUDY, Then, world};
use crate::{
    run::request::Ended,
    trial::{cool_down::check_sensors, error::RunError},
};

fn bench(sensor: &Path) -> Bench {
    let until = format!(
        "cool_down: {{ until: {{ file: \"{}\", scale: 0.001, below: 60 }}, poll_interval: 5s, timeout: 500s }}",
        sensor.display()
    );
    let study = STUDY.replace("cool_down: 4s", &until);
    assert_ne!(study, STUDY);
    Bench::new_with_study(&study)
}

#[tokio::test(start_paused = true)]
async fn a_hot_machine_delays_the_next_trial_and_does_not_stop_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let sensor = folder.path().join("temp");
    fs::write(&sensor, "70000\n").unwrap();
    let bench = bench(&sensor);
    let start = Instant::now();
    let (ended, _) = bench.run(&world(None), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    assert!(start.elapsed() > Duration::from_secs(3 * 500));
    let results = bench.results();
    let until = results.info.schedule.cool_down_until.as_ref().unwrap();
    assert_eq!((until.bound.as_str(), until.timeout_s), ("below 60", 500.0));
    let (last, others) = results.trials.split_last().unwrap();
    for trial in others {
        let waited = trial.info.cool_down.as_ref().unwrap();
        assert_eq!((waited.waited_s, waited.value), (500.0, Some(70.0)));
        assert!(!waited.is_reached);
        let mut remarks = trial.info.remarks.iter();
        assert!(
            remarks.any(|remark| remark.contains("ended at its timeout, after 500.0 s")),
            "{:?}",
            trial.info.remarks
        );
    }
    // Nothing follows it.
    assert_eq!(last.info.cool_down, None);
}

#[tokio::test(start_paused = true)]
async fn a_cool_machine_delays_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sensor = folder.path().join("temp");
    fs::write(&sensor, "45000\n").unwrap();
    let bench = bench(&sensor);
    let (ended, _) = bench.run(&world(None), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let results = bench.results();
    let waited = results.trials[0].info.cool_down.as_ref().unwrap();
    assert!(waited.is_reached && waited.waited_s == 0.0, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn it_can_be_interrupted_and_the_trial_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sensor = folder.path().join("temp");
    fs::write(&sensor, "70000\n").unwrap();
    let bench = bench(&sensor);
    let start = Instant::now();
    let interrupt = Then::Shutdown(PhaseName::CoolDown);
    let (ended, _) = bench.run(&world(None), interrupt).await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(100));
    let results = bench.results();
    assert_eq!(results.trials.len(), 1);
    assert_eq!(results.trials[0].info.cool_down, None);
}

#[tokio::test]
async fn a_sensor_that_is_not_there_is_an_error_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let sensor = folder.path().join("zone*/temp");
    let bench = bench(&sensor);
    let error = check_sensors(&bench.study).await.unwrap_err();
    assert!(matches!(error, RunError::Sensor { .. }));
    let expected = format!(
        "schedule.cool_down.until.file: no file is {}; name a file of this machine, or wait for load_average or idle_cpu, which need \
         no sensor",
        sensor.display()
    );
    assert_eq!(error.to_string(), expected);
}
