//! Systems that fail in known ways: each fault is found, counted, and called by its name.

use std::{fmt::Write as _, process::Command};

use waggle_report::TrialModel;
use waggle_stats::Verdict;

use crate::desk::{Desk, Parts, shown};

/// Runs a study of one cell and hands over its trial.
fn trial(parts: &Parts<'_>) -> TrialModel {
    let desk = Desk::new();
    desk.study(parts);
    let output = desk.output(&["run", "study.yaml", "--quiet"]);
    desk.assert_none_left();
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{}",
        shown(&output)
    );
    desk.model().trials.swap_remove(0)
}

/// A busy machine may add reasons of its own, so what is asked is that the right one is among them.
fn says(trial: &TrialModel, verdict: Verdict) {
    assert!(
        trial.reasons.iter().any(|reason| reason.verdict == verdict),
        "{}",
        reasons(trial)
    );
    assert!(trial.verdict >= verdict, "{}", reasons(trial));
}

/// All that was said of a trial.
fn reasons(trial: &TrialModel) -> String {
    let mut said = format!("{:?}\n", trial.verdict);
    for reason in &trial.reasons {
        writeln!(said, "{:?}: {}", reason.verdict, reason.text).unwrap();
    }
    for remark in &trial.remarks {
        writeln!(said, "remark: {remark}").unwrap();
    }
    said
}

#[test]
fn one_record_dropped_of_100_000_is_incomplete_and_known_by_its_key() {
    let load = "model: open, rate: 1000/s, arrivals: uniform, connections: 8, pipelining: 2";
    let trial = trial(&Parts {
        fault: "drop",
        load,
        per_request: 40,
        ..Parts::default()
    });
    let ledger = trial.ledger.clone().unwrap();
    assert_eq!(ledger.missing, 1, "{}", reasons(&trial));
    assert!(ledger.accepted > 100_000 && ledger.delivered == ledger.accepted - 1);
    assert_eq!(ledger.missing_keys.len(), 1);
    says(&trial, Verdict::Incomplete);
}

#[test]
fn one_record_stored_twice_is_one_duplicate_and_nothing_missing() {
    let trial = trial(&Parts {
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
    // Over one connection, so that the store has all others in the order of sending.
    let load = "model: open, rate: 500/s, arrivals: uniform, connections: 1, pipelining: 1";
    let trial = trial(&Parts {
        fault: "late",
        load,
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
    let trial = trial(&Parts {
        fault: "slow",
        ..Parts::default()
    });
    says(&trial, Verdict::Overloaded);
}

#[test]
fn a_server_that_slows_down_halfway_is_unsteady() {
    let load = "model: closed, connections: 4, pipelining: 1";
    let trial = trial(&Parts {
        fault: "worsens",
        load,
        measure: "8s",
        ..Parts::default()
    });
    says(&trial, Verdict::Unsteady);
}

/// Busy loops on one CPU, ended when dropped and by themselves after a while.
struct Hogs(Vec<std::process::Child>);

impl Hogs {
    fn on_cpu(cpu: u32) -> Self {
        let hog = || {
            let cpu = cpu.to_string();
            Command::new("timeout")
                .args(["60", "taskset", "-c", &cpu])
                .args(["sh", "-c", "while :; do :; done"])
                .spawn()
                .unwrap()
        };
        Self((0..6).map(|_| hog()).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let group = format!("-{}", hog.id());
            // `timeout` leads a group of its own; where it has ended already there is nothing to end.
            Command::new("kill")
                .args(["-KILL", "--", &group])
                .status()
                .ok();
            hog.wait().ok();
        }
    }
}

#[test]
fn an_engine_starved_of_cpu_says_that_it_was_the_limit() {
    let load = "model: open, rate: 20000/s, arrivals: uniform, connections: 4, pipelining: 1";
    // The load gets the first CPU, the system the others; so many requests need more than a seventh of one.
    let hogs = Hogs::on_cpu(0);
    let trial = trial(&Parts {
        load,
        ..Parts::default()
    });
    drop(hogs);
    says(&trial, Verdict::InstrumentLimited);
}
