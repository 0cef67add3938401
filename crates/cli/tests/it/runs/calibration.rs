//! Calibration of the load generator: measured before the first trial, cached between runs, and compared with every trial.

use std::{fs, process::Output};

use waggle_analysis::{Model, TrialRemark};
use waggle_results::{CalibratedShape, CalibrationFile, Run};
use waggle_stats::{Calibrated, Finding, InstrumentFinding};

use crate::{
    exit_codes::run_code,
    workspace::{Parts, Workspace, output_text},
};

/// Runs the study with a cache in the workspace; returns the output.
fn run(workspace: &Workspace, runs: &str) -> Output {
    let arguments = ["run", "study.yaml", "--runs", runs];
    let mut command = workspace.waggle(&arguments);
    command.env("XDG_CACHE_HOME", workspace.path().join("cache"));
    let output = command.output().unwrap();
    workspace.assert_none_left();
    let code = output.status.code();
    assert_eq!(
        code,
        Some(run_code(&model(workspace, runs))),
        "{}",
        output_text(&output)
    );
    output
}

fn file_of(workspace: &Workspace) -> CalibrationFile {
    serde_json::from_slice(&fs::read(path(workspace)).unwrap()).unwrap()
}

fn path(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path().join("cache/waggle/calibration.json")
}

fn calibrated_in(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("calibrating the load generator")
}

/// The model of the only run in a folder.
fn model(workspace: &Workspace, runs: &str) -> Model {
    let run = fs::read_dir(workspace.path().join(runs)).unwrap().next();
    let run = Run::read(&run.unwrap().unwrap().path()).unwrap();
    waggle_analysis::model(&run)
}

#[test]
fn capacity_is_calibrated_once_and_compared_with_each_trial() {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: open, rate: 500/s, arrivals: uniform, connections: 8",
        measure: "1s",
        ..Parts::default()
    });
    assert!(calibrated_in(&run(&workspace, "first")));
    let mut calibration = file_of(&workspace);
    assert_eq!(calibration.shapes.len(), 1, "{calibration:?}");
    let first = model(&workspace, "first").trials[0]
        .numbers
        .clone()
        .unwrap();
    let shape = calibration.shapes.values_mut().next().unwrap();
    assert_eq!(first.generator.capacity_per_s, Some(shape.requests_per_s));
    assert!(first.generator_capacity_used.unwrap() > 0.0);

    // Any machine sends more than one request per second, so this calibration is wrong.
    *shape = CalibratedShape {
        requests_per_s: 1.0,
        ..shape.clone()
    };
    calibration.write(&path(&workspace)).unwrap();
    let second = run(&workspace, "second");
    assert!(
        !calibrated_in(&second),
        "the cached calibration was not used"
    );
    let trial = model(&workspace, "second").trials.swap_remove(0);
    let numbers = trial.numbers.unwrap();
    assert_eq!(numbers.generator.capacity_per_s, Some(1.0));
    assert!(
        trial.remarks.iter().any(|remark| matches!(
            remark,
            TrialRemark::Found(Finding::Instrument(InstrumentFinding::Calibrated {
                shows: Calibrated::Disproved,
                ..
            }))
        )),
        "{:?}",
        trial.remarks
    );
}
