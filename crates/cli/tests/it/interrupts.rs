//! Ctrl-C and SIGKILL in mid-run: what was measured is kept, nothing is left running, and the rest can be done later.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_testkit::wait_until;

use crate::desk::{Desk, Parts};

fn start_run(desk: &Desk) -> Child {
    let load = "model: closed, connections: 4, pipelining: 1";
    desk.study(&Parts {
        load,
        measure: "1s",
        repeat: 3,
        ..Parts::default()
    });
    desk.waggle(&["run", "study.yaml"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Reads progress until the second trial is under load.
fn until_second_trial(child: &mut Child) {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        if line.contains("trial 2 of 3") {
            return;
        }
        seen.push(line);
    }
    panic!("the run ended before its second trial: {seen:#?}");
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn trials(desk: &Desk) -> Vec<(u32, u32)> {
    desk.model()
        .trials
        .iter()
        .map(|trial| (trial.key.cell, trial.key.repetition))
        .collect()
}

fn resumes_to_the_end(desk: &Desk) {
    let output = desk.output(&["run", "study.yaml", "--resume", "--quiet"]);
    desk.report_of(&output);
    assert_eq!(trials(desk), [(1, 1), (1, 2), (1, 3)]);
    let left: Vec<_> = std::fs::read_dir(desk.run_folder().join("trials"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_resume_does_the_rest() {
    let desk = Desk::new();
    let mut child = start_run(&desk);
    until_second_trial(&mut child);
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    desk.assert_none_left();
    // On a busy machine the second trial may have come to its end before the signal.
    let kept = trials(&desk);
    assert!(
        (1..3).contains(&kept.len()) && [(1, 1), (1, 2)].starts_with(&kept),
        "{kept:?}"
    );
    assert!(desk.run_folder().join("report.html").is_file());
    resumes_to_the_end(&desk);
}

#[test]
fn sigkill_leaves_no_process_and_resume_does_the_rest() {
    let desk = Desk::new();
    let mut child = start_run(&desk);
    until_second_trial(&mut child);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    wait_until("all processes are gone", || {
        desk.processes_left().is_empty()
    });
    resumes_to_the_end(&desk);
}
