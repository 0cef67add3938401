//! What the engine can do here, found before the first trial, kept between runs, and held against every trial.

use std::{fs, path::Path, process::Output};

use waggle_results::{CalibratedShape, CalibrationFile};
use waggle_stats::Verdict;

use crate::desk::{Desk, Parts, shown};

/// Runs the study with its cache in the desk's own folder; gives what was said on the way.
fn run(desk: &Desk, runs: &str) -> Output {
    let arguments = ["run", "study.yaml", "--runs", runs];
    let mut command = desk.waggle(&arguments);
    command.env("XDG_CACHE_HOME", desk.path().join("cache"));
    let output = command.output().unwrap();
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{}",
        shown(&output)
    );
    output
}

fn file_of(desk: &Desk) -> CalibrationFile {
    serde_json::from_slice(&fs::read(path(desk)).unwrap()).unwrap()
}

fn path(desk: &Desk) -> std::path::PathBuf {
    desk.path().join("cache/waggle/calibration.json")
}

fn calibrated_in(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("what the engine itself can do here")
}

fn trial_in(desk: &Desk, runs: &str) -> waggle_report::TrialModel {
    let run = fs::read_dir(desk.path().join(runs))
        .unwrap()
        .next()
        .unwrap();
    let run = waggle_results::Run::read(Path::new(&run.unwrap().path())).unwrap();
    waggle_report::model(&run).trials.swap_remove(0)
}

#[test]
fn a_trial_that_sends_what_the_engine_can_send_says_nothing_of_the_system() {
    let desk = Desk::new();
    desk.study(&Parts {
        load: "model: open, rate: 500/s, arrivals: uniform, connections: 8",
        measure: "4s",
        ..Parts::default()
    });
    assert!(calibrated_in(&run(&desk, "first")));
    let mut found = file_of(&desk);
    assert_eq!(found.shapes.len(), 1, "{found:?}");
    let first = trial_in(&desk, "first").numbers.unwrap();
    let shape = found.shapes.values_mut().next().unwrap();
    assert_eq!(first.engine_possible_per_s, Some(shape.requests_per_s));
    let used = first.engine_possible_share.unwrap();
    assert!(used > 0.0 && used < 0.5, "{used}");

    *shape = CalibratedShape {
        requests_per_s: 500.0,
        ..shape.clone()
    };
    found.write(&path(&desk)).unwrap();
    // A machine that stalls for a moment sends less than that: then another trial.
    let is_limited = |runs: &str| {
        assert!(!calibrated_in(&run(&desk, runs)), "it was known");
        let trial = trial_in(&desk, runs);
        trial.reasons.iter().any(|reason| {
            reason.verdict == Verdict::InstrumentLimited
                && reason.text.contains("by its calibration")
        })
    };
    assert!(["second", "third", "fourth"].into_iter().any(is_limited));
}
