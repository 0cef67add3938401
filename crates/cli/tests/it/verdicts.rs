//! Systems that fail in known ways: each fault is found, counted, and called by its name.

use waggle_stats::Verdict;

use crate::desk::{Desk, Parts, shown};

/// Runs a study of one cell and hands over its first trial, its verdict and the exit code.
fn trial(parts: &Parts<'_>) -> (waggle_report::TrialModel, Verdict, Option<i32>) {
    let desk = Desk::new();
    desk.study(parts);
    let output = desk.output(&["run", "study.yaml", "--quiet"]);
    assert!(
        desk.processes_left().is_empty(),
        "{:?}",
        desk.processes_left()
    );
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{}",
        shown(&output)
    );
    let model = desk.model();
    let verdict = model.cells[0].verdict.unwrap();
    (model.trials[0].clone(), verdict, output.status.code())
}

fn reasons(trial: &waggle_report::TrialModel) -> String {
    trial
        .reasons
        .iter()
        .map(|reason| format!("{:?}: {}\n", reason.verdict, reason.text))
        .collect()
}

#[test]
fn one_record_dropped_is_incomplete_and_known_by_its_key() {
    let (trial, verdict, code) = trial(&Parts {
        fault: "drop",
        ..Parts::default()
    });
    let ledger = trial.ledger.clone().unwrap();
    assert_eq!(
        (ledger.missing, ledger.delivered),
        (1, ledger.accepted - 1),
        "{}",
        reasons(&trial)
    );
    assert_eq!(ledger.missing_keys.len(), 1);
    assert_eq!(
        (verdict, code),
        (Verdict::Incomplete, Some(4)),
        "{}",
        reasons(&trial)
    );
}

#[test]
fn one_record_stored_twice_is_one_duplicate_and_nothing_missing() {
    let (trial, ..) = trial(&Parts {
        fault: "twice",
        ..Parts::default()
    });
    let ledger = trial.ledger.clone().unwrap();
    assert_eq!(
        (ledger.duplicates, ledger.missing, ledger.delivered),
        (1, 0, ledger.accepted)
    );
}

#[test]
fn one_record_shown_late_is_one_late_and_nothing_missing() {
    let (trial, ..) = trial(&Parts {
        fault: "late",
        ..Parts::default()
    });
    let ledger = trial.ledger.clone().unwrap();
    assert_eq!(
        (ledger.late, ledger.missing, ledger.delivered),
        (1, 0, ledger.accepted)
    );
    assert_eq!(ledger.out_of_order, 1);
}

#[test]
fn a_server_slower_than_the_rate_is_overloaded() {
    let (trial, verdict, code) = trial(&Parts {
        fault: "slow",
        ..Parts::default()
    });
    assert_eq!(
        (verdict, code),
        (Verdict::Overloaded, Some(4)),
        "{}",
        reasons(&trial)
    );
}

#[test]
fn a_server_that_slows_down_halfway_is_unsteady() {
    let load = "model: closed, connections: 4, pipelining: 1";
    let (trial, verdict, code) = trial(&Parts {
        fault: "worsens",
        load,
        measure: "6s",
        ..Parts::default()
    });
    assert_eq!(
        (verdict, code),
        (Verdict::Unsteady, Some(4)),
        "{}",
        reasons(&trial)
    );
}

#[test]
fn an_engine_without_enough_cpu_says_that_it_was_the_limit() {
    let load = "workers: 1, model: open, rate: 20000000/s, arrivals: uniform, connections: 4, pipelining: 1000";
    let (trial, _, code) = trial(&Parts {
        load,
        measure: "2s",
        ..Parts::default()
    });
    let limited = trial
        .reasons
        .iter()
        .any(|reason| reason.verdict == Verdict::InstrumentLimited);
    assert!(limited, "{}", reasons(&trial));
    assert_eq!(code, Some(4));
}
