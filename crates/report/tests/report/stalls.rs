//! A recorded run of `studies/ingest.yaml` whose store stalled for 20 to 40 ms at a time: its delays by the store's own instants, and
//! what is left of them without these.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{fs, path::Path};

use flate2::read::GzDecoder;
use tempfile::TempDir;
use waggle_analysis::{
    CellModel, Decision, KnownBy, Model, Percentile, Shortcoming, Warning, model,
};
use waggle_report::{
    markdown, report_json,
    wording::{answer, conditions, warnings},
};
use waggle_results::Run;

/// The run, with a threshold on the p99 of its delay.
fn recorded_run(limit_us: f64) -> TempDir {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/recorded/beside-others.tar.gz");
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(GzDecoder::new(fs::File::open(archive).unwrap()))
        .unpack(folder.path())
        .unwrap();
    let file = folder.path().join("run.json");
    let mut info: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    info["thresholds"] = serde_json::json!([{
        "text": "delivery.delay.p99", "metric": ["delivery", "delay", "p99"], "op": "<", "value": limit_us,
    }]);
    fs::write(&file, info.to_string()).unwrap();
    folder
}

/// The same without the store's own instants.
fn without_instants(limit_us: f64) -> Model {
    let folder = recorded_run(limit_us);
    for trial in fs::read_dir(folder.path().join("trials")).unwrap() {
        fs::remove_file(trial.unwrap().path().join("arrival_delay.hlog")).unwrap();
    }
    read(&folder)
}

fn read(folder: &TempDir) -> Model {
    model(&Run::read(folder.path()).unwrap())
}

fn cell<'a>(model: &'a Model, connections: &str, pipelining: &str) -> &'a CellModel {
    let mut cells = model.cells.iter();
    let is_it =
        |cell: &&CellModel| cell.levels[0].1 == connections && cell.levels[1].1 == pipelining;
    cells.find(is_it).unwrap()
}

/// To three digits.
fn check_p99(percentile: &Percentile, point_ms: f64, (low_ms, high_ms): (f64, f64)) {
    let estimate = percentile.estimate.unwrap();
    let (low, high) = estimate.interval.unwrap();
    for (us, ms) in [(estimate.point, point_ms), (low, low_ms), (high, high_ms)] {
        assert!((us / 1e3 / ms - 1.0).abs() < 2e-3, "{estimate:?} {ms}");
    }
    assert_eq!(estimate.shown_least(), None);
    assert!(percentile.thin.is_none());
}

#[test]
fn delays_come_from_the_instants_of_the_store() {
    let model = read(&recorded_run(20_000.0));
    for cell in &model.cells {
        let source = cell.delay_source.unwrap();
        assert_eq!(source.by, KnownBy::Instants, "{:?}", cell.levels);
        assert!(source.known > source.of / 100 * 99);
    }
    let p99 = |connections, pipelining| &cell(&model, connections, pipelining).delay.p99;
    check_p99(p99("10", "50"), 7.16, (5.85, 8.76));
    check_p99(p99("50", "50"), 37.2, (25.1, 55.0));
    let held: Vec<Decision> = model.thresholds[0]
        .cells
        .iter()
        .map(|cell| cell.held)
        .collect();
    // Other programs ran in every trial: the system alone may have been quicker.
    assert_eq!(held.iter().max(), Some(&Decision::Undecided), "{held:?}");
    let page = markdown(&model);
    assert!(page.contains("from sent until the store had the record, by the store's own instants"));
    // 190 µs are no whole milliseconds.
    assert!(!page.contains("in whole milliseconds"), "{page}");
    assert!(!page.contains("arrival p50"), "it is the delay");
    // The count is that of the measured phase.
    assert!(page.contains("3,262,"), "{page}");
    assert!(!page.contains("‡"));
}

#[test]
fn a_few_windows_decide_nothing() {
    let model = without_instants(20_000.0);
    let fast = cell(&model, "50", "50");
    let source = fast.delay_source.unwrap();
    assert_eq!((source.by, source.known), (KnownBy::Windows(None), 49_550));
    assert!(fast.delay.p99.thin.unwrap().is_of_windows());
    let threshold = &model.thresholds[0];
    let of_fast = threshold
        .cells
        .iter()
        .find(|entry| entry.cell == fast.cell)
        .unwrap();
    assert_eq!(of_fast.held, Decision::Undecided);
    let Some(why @ Shortcoming::Windows(_)) = &of_fast.reason else {
        panic!("{of_fast:?}");
    };
    assert!(conditions::shortcoming(why, threshold.unit).contains("a sample of the records"));
    // Whatever the windows show, no delay was longer than the trial and its drain.
    let bounded = without_instants(60e6);
    let held = bounded.thresholds[0].cells.iter().map(|cell| cell.held);
    assert!(
        held.clone().all(|held| held == Decision::Holds),
        "{bounded:?}"
    );
    let delay = |name: &str| name.starts_with("Delivery delay");
    let compared = model.comparisons.iter().flat_map(|entry| &entry.outcomes);
    assert!(!compared.clone().any(|entry| delay(&entry.name)));
    let effects = model.effects.iter().flat_map(|effects| &effects.outcomes);
    assert!(!effects.clone().any(|entry| delay(&entry.name)));
    let warned = |warning: &Warning| matches!(warning, Warning::FewWindows { windows: None, .. });
    assert!(model.warnings.iter().any(warned));
    let words = warnings::sentences(&model).join(" ");
    assert!(
        words.contains("Delivery delay p99 at store is that of records in windows"),
        "{words}"
    );
    let page = markdown(&model);
    assert!(page.contains("7.55 ms") && page.contains("‡"), "{page}");
    assert!(page.contains("49,550 of 3,262,250 in windows"), "{page}");
}

#[test]
fn a_typical_trial_and_all_requests_are_told_apart() {
    let model = read(&recorded_run(20_000.0));
    let uneven = cell(&model, "50", "1");
    let typical = uneven.response.p99.estimate.unwrap().point;
    let pooled = uneven
        .pooled
        .response
        .as_ref()
        .unwrap()
        .p99
        .as_ref()
        .unwrap()
        .us;
    assert!((typical / 5_010.0 - 1.0).abs() < 2e-3, "{typical}");
    assert!((pooled / 8_190.0 - 1.0).abs() < 2e-3, "{pooled}");
    let json: serde_json::Value = serde_json::from_str(&report_json(&model)).unwrap();
    let of_cell = &json["cells"][uneven.cell as usize - 1];
    assert_eq!(
        of_cell["pooled"]["response_time_p99_us"].as_f64(),
        Some(pooled),
        "{of_cell}"
    );
    assert_eq!(of_cell["delivery_delay"]["known_by"], "instants");
    let words = answer::sentences(&model).join(" ");
    assert!(words.contains("in a typical trial"), "{words}");
}
