//! Ctrl-C and SIGKILL in mid-run: finished trials are kept, no process is left, and the run can be resumed.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_testkit::wait_until;

use crate::workspace::{Parts, Workspace, output_text};

fn start_run(workspace: &Workspace) -> Child {
    let load = "model: closed, connections: 4, pipelining: 1";
    workspace.study(&Parts {
        load,
        measure: "1s",
        repeat: 3,
        ..Parts::default()
    });
    workspace
        .waggle(&["run", "study.yaml"])
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

fn trials(workspace: &Workspace) -> Vec<(u32, u32)> {
    workspace
        .model()
        .trials
        .iter()
        .map(|trial| (trial.info.key.cell, trial.info.key.repetition))
        .collect()
}

fn resumes_to_the_end(workspace: &Workspace) {
    let kept = trials(workspace).len();
    let output = workspace.output(&["run", "study.yaml", "--resume"]);
    workspace.report_of(&output);
    let said = output_text(&output);
    let (line, left) = (format!("resumed: {kept} of 3 trials"), 3 - kept);
    let is_said = said.contains(&line) && said.contains(&format!("have a result, {left} left"));
    assert!(is_said || kept == 0, "{said}");
    // Nothing is run twice.
    let again = workspace.output(&["run", "study.yaml", "--resume"]);
    let said = output_text(&again);
    let nothing = "nothing is left to run: all 3 trials have a result";
    assert!(said.contains(nothing), "{said}");
    assert_eq!(trials(workspace), [(1, 1), (1, 2), (1, 3)]);
    let left: Vec<_> = std::fs::read_dir(workspace.run_folder().join("trials"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn ctrl_c_keeps_finished_trials_and_resume_runs_the_rest() {
    let workspace = Workspace::new();
    let mut child = start_run(&workspace);
    until_second_trial(&mut child);
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    workspace.assert_none_left();
    // The second trial may have ended before the signal.
    let kept = trials(&workspace);
    assert!(
        (1..3).contains(&kept.len()) && [(1, 1), (1, 2)].starts_with(&kept),
        "{kept:?}"
    );
    assert!(workspace.run_folder().join("report.html").is_file());
    let other = workspace.output(&["run", "study.yaml", "--quick", "--resume"]);
    let said = output_text(&other);
    assert_eq!(other.status.code(), Some(2), "{said}");
    let (first, last) = (
        "has these flags (--quick); to resume another, give",
        "(neither --filter nor --quick)",
    );
    assert!(said.contains(first) && said.contains(last), "{said}");
    resumes_to_the_end(&workspace);
}

#[test]
fn sigkill_leaves_no_process_and_resume_runs_the_rest() {
    let workspace = Workspace::new();
    let mut child = start_run(&workspace);
    until_second_trial(&mut child);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    wait_until("all processes are gone", || {
        workspace.processes_left().is_empty()
    });
    resumes_to_the_end(&workspace);
}

/// How a script ends whose supervisor lost its parent after the script said `up`. It has so many milliseconds to end.
#[track_caller]
fn check_end(script: &str, timeout_ms: &str, expected: &str) {
    let workspace = Workspace::new();
    let log = workspace.path().join("log");
    let supervised = [
        "__supervise",
        "--",
        log.to_str().unwrap(),
        "",
        "",
        timeout_ms,
    ];
    // A shell cannot trap what was ignored when it started, as SIGINT is of a command in the background.
    let script = ["env", "--default-signal=INT", "sh", "-c", script];
    let mut command = workspace.waggle(&[&supervised[..], &script].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut supervisor = command.spawn().unwrap();
    let mut orders = supervisor.stdin.take().unwrap();
    // No texts to hide.
    orders.write_all(b"\x02\0\0\0[]").unwrap();
    wait_until("it is up", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("up"))
    });
    drop(orders);
    let output = supervisor.wait_with_output().unwrap();
    let reports = String::from_utf8(output.stdout).unwrap();
    assert!(
        reports.ends_with(&format!("ended {expected}\n")),
        "{reports}"
    );
    workspace.assert_none_left();
}

#[test]
fn what_lost_its_parent_is_interrupted_and_killed_if_it_does_not_end() {
    let loops = "echo up; while :; do sleep 0.05; done";
    let ends = format!("trap 'exit 7' INT; {loops}");
    check_end(&ends, "600000", "with exit code 7");
    let goes_on = format!("trap '' INT; {loops}");
    check_end(&goes_on, "100", "by signal 9");
    // As a component.
    check_end(&ends, "", "by signal 9");
}
