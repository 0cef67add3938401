//! What the engine can do here, found before the first trial, kept between runs, and held against every trial.

use std::{fs, process::Output};

use waggle_analysis::{Model, TrialRemark};
use waggle_results::{CalibratedShape, CalibrationFile, Run};
use waggle_stats::{Calibrated, Finding, InstrumentFinding};

use crate::{
    codes::run_code,
    desk::{Desk, Parts, output_text},
};

/// Runs the study with its cache in the desk's own folder; gives what was said on the way.
fn run(desk: &Desk, runs: &str) -> Output {
    let arguments = ["run", "study.yaml", "--runs", runs];
    let mut command = desk.waggle(&arguments);
    command.env("XDG_CACHE_HOME", desk.path().join("cache"));
    let output = command.output().unwrap();
    desk.assert_none_left();
    let code = output.status.code();
    assert_eq!(
        code,
        Some(run_code(&model(desk, runs))),
        "{}",
        output_text(&output)
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
    String::from_utf8_lossy(&output.stderr).contains("calibrating the load generator")
}

/// The report of the one run in a folder.
fn model(desk: &Desk, runs: &str) -> Model {
    let run = fs::read_dir(desk.path().join(runs)).unwrap().next();
    let run = Run::read(&run.unwrap().unwrap().path()).unwrap();
    waggle_analysis::model(&run)
}

#[test]
fn what_the_engine_can_do_is_found_once_and_held_against_each_trial() {
    let desk = Desk::new();
    desk.study(&Parts {
        load: "model: open, rate: 500/s, arrivals: uniform, connections: 8",
        measure: "1s",
        ..Parts::default()
    });
    assert!(calibrated_in(&run(&desk, "first")));
    let mut found = file_of(&desk);
    assert_eq!(found.shapes.len(), 1, "{found:?}");
    let first = model(&desk, "first").trials[0].numbers.clone().unwrap();
    let shape = found.shapes.values_mut().next().unwrap();
    assert_eq!(first.generator_capacity_per_s, Some(shape.requests_per_s));
    assert!(first.generator_capacity_used.unwrap() > 0.0);

    // Any machine sends far more than that, which cannot be: the calibration is not believed.
    *shape = CalibratedShape {
        requests_per_s: 1.0,
        ..shape.clone()
    };
    found.write(&path(&desk)).unwrap();
    let second = run(&desk, "second");
    assert!(!calibrated_in(&second), "it was known");
    let trial = model(&desk, "second").trials.swap_remove(0);
    let numbers = trial.numbers.unwrap();
    assert_eq!(numbers.generator_capacity_per_s, Some(1.0));
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
