//! Several generators: processes that make one load, and leave nothing behind however a trial ends.

use std::{
    fs,
    process::{Child, Command},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_results::{PhaseName, TrialEnd};
use waggle_testkit::{Lines, wait_until};

use super::{
    Bench, one_store,
    orphans::{assert_all_gone, pid_of},
    study,
};

const DELIVERY: &str = "delivery: { probes: store, poll_interval: 20ms }\n";

/// A study whose factor is the number of generators.
fn bench(generators: &str, measure: &str) -> Bench {
    let mut study = study("one-store", DELIVERY);
    for (old, new) in [
        (
            "factors: { connections: [2] }",
            &*format!("factors: {{ generators: {generators} }}"),
        ),
        (
            "connections: ${connections}",
            "connections: 6\n  generators: ${generators}",
        ),
        ("measure: 2s", &format!("measure: {measure}")),
        ("drain: { timeout: 6s }", "drain: { timeout: 60s }"),
    ] {
        assert!(study.contains(old), "{study}");
        study = study.replace(old, new);
    }
    Bench::new(&one_store("[STORE, '${port.http}']"), &study)
}

/// A run in the middle of its trial. Its processes can be found by the bench's folder.
fn under_way(bench: &Bench) -> (Child, Lines) {
    let mut command: Command = bench.command(&[]);
    let mut child = command.current_dir(bench.path("")).spawn().unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for("phase: Measure");
    (child, lines)
}

/// The generators that a process has started.
fn generators_of(waggle: &Child) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", waggle.id())).unwrap();
    let children = threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: Vec<i32> = children
        .flat_map(|line| {
            let pids = line.split_whitespace().map(|pid| pid.parse().unwrap());
            pids.collect::<Vec<_>>()
        })
        .collect();
    let arguments =
        |pid: &i32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let generators = all
        .into_iter()
        .filter(|pid| arguments(pid).ends_with("\0__generator\0"));
    generators.filter_map(Pid::from_raw).collect()
}

#[test]
fn records_of_all_generators_are_accounted_for_by_key() {
    let run = bench("[1, 3]", "1s").results_in(&[]);
    assert_eq!(run.trials.len(), 2);
    for trial in &run.trials {
        let info = &trial.info;
        assert_eq!(info.end, TrialEnd::Completed);
        let ledger = info.ledger.as_ref().unwrap();
        // 20 records a request.
        assert!(info.totals.sent > 0, "{info:?}");
        assert_eq!(ledger.sent, 20 * info.totals.sent);
        assert_eq!(
            (ledger.delivered, ledger.missing, ledger.duplicates),
            (ledger.accepted, 0, 0),
            "{ledger:?}"
        );
        assert_eq!((ledger.unexpected, ledger.rejected), (0, 0), "{ledger:?}");
        let generator = info.generator.as_ref().unwrap();
        assert_eq!(generator.connections_asked, 6);
        // On a machine without time for it they may be opened in the measured phase only.
        let connecting = info.connecting.as_ref().unwrap();
        assert!(connecting.connects >= 6, "{info:?}");
        let sent: u64 = generator.generators.iter().map(|part| part.sent).sum();
        match generator.generators.len() {
            0 => assert_eq!(sent, 0),
            parts => {
                assert_eq!((parts, generator.workers), (3, 3));
                assert_eq!(sent, info.measured.sent);
                let highest = |part: f64| part <= generator.utilization + 1e-9;
                let mut parts = generator.generators.iter();
                assert!(parts.all(|part| highest(part.utilization)), "{generator:?}");
            }
        }
    }
    let mut generators = run.trials.iter().map(|trial| {
        let generator = trial.info.generator.as_ref().unwrap();
        generator.generators.len()
    });
    assert_eq!(generators.by_ref().sum::<usize>(), 3);
}

#[test]
fn a_killed_generator_fails_the_trial_by_its_name_and_leaves_nothing_behind() {
    let bench = bench("[3]", "60s");
    let (mut child, mut lines) = under_way(&bench);
    let generators = generators_of(&child);
    assert_eq!(generators.len(), 3);
    // Neither the job nor what waggle knows is to be seen from outside.
    for pid in &generators {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap();
        let environment = String::from_utf8(environment).unwrap();
        let names = environment.split_terminator('\0');
        assert!(
            names.clone().all(|name| name.starts_with("SSL_CERT_")),
            "{environment}"
        );
    }
    kill_process(generators[1], Signal::KILL).unwrap();
    lines.wait_for("TrialEnded");
    assert!(child.wait().unwrap().success());
    assert_all_gone(&bench);
    let run = waggle_results::Run::read(&bench.path("run")).unwrap();
    let TrialEnd::Failed { phase, reason, .. } = &run.trials[0].info.end else {
        panic!("{:?}", run.trials[0].info.end);
    };
    assert_eq!(*phase, PhaseName::Measure);
    assert_eq!(
        reason,
        "the load failed: generator 2 of 3 ended by signal 9 before its results were complete"
    );
}

#[test]
fn a_waggle_that_is_killed_or_interrupted_leaves_no_generator_behind() {
    for (signal, code) in [(Signal::KILL, None), (Signal::INT, Some(130))] {
        let bench = bench("[2]", "60s");
        let (mut child, _lines) = under_way(&bench);
        let generators = generators_of(&child);
        assert_eq!(generators.len(), 2);
        kill_process(pid_of(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        assert_all_gone(&bench);
        wait_until("the generators are gone", || {
            let file = |pid: &Pid| format!("/proc/{}/cmdline", pid.as_raw_nonzero());
            let lives = |pid| fs::read(file(pid)).is_ok_and(|line| !line.is_empty());
            !generators.iter().any(lives)
        });
    }
}
