//! No process survives waggle, however waggle ends.

use std::{
    fs,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_results::Run;
use waggle_testkit::{Lines, wait_until};

use super::{Bench, one_store, study};

/// A store with children and grandchildren that leave its group; each can be found by its current folder.
const FAMILY: &str = "[sh, -c, 'sleep 600 & setsid sh -c \"sleep 601 & sleep 602\" & exec STORE $0', '${port.http}']";

/// A run that is in the middle of its first trial.
fn under_way(bench: &Bench) -> (Child, Lines) {
    started_until(bench, "phase: Measure")
}

/// A run that has printed an event.
pub(super) fn started_until(bench: &Bench, event: &str) -> (Child, Lines) {
    let mut child = bench.start();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for(event);
    (child, lines)
}

/// Processes whose current folder is in the bench's: the components and their children, but not the supervisor's shell.
fn living_processes(bench: &Bench) -> Vec<String> {
    let root = bench.folder.path().canonicalize().unwrap();
    let inside = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&root))
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let named = entries
        .filter(inside)
        .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
    named.map(|line| line.replace('\0', " ")).collect()
}

#[track_caller]
pub(super) fn assert_all_gone(bench: &Bench) {
    wait_until("all processes are gone", || {
        living_processes(bench).is_empty()
    });
}

fn long_study() -> String {
    study("one-store", "")
        .replace("measure: 2s", "measure: 60s")
        .replace("repeat: 1", "repeat: 2")
}

pub(super) fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[test]
fn a_killed_waggle_leaves_nothing_behind_and_can_be_resumed() {
    let bench = Bench::new(&one_store(FAMILY), &long_study());
    let (mut child, _lines) = under_way(&bench);
    wait_until("the family is there", || {
        living_processes(&bench).len() >= 4
    });
    kill_process(pid_of(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_all_gone(&bench);
    assert!(Run::read(&bench.path("run")).unwrap().trials.is_empty());
    // The same study is resumed in the same folder; an interrupt ends it again.
    let mut command = bench.command(&["resume"]);
    let mut child = command.spawn().unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for("phase: Measure");
    kill_process(pid_of(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_all_gone(&bench);
}

#[test]
fn an_interrupted_waggle_leaves_nothing_behind() {
    let bench = Bench::new(&one_store(FAMILY), &long_study());
    let (mut child, _lines) = under_way(&bench);
    kill_process(pid_of(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_all_gone(&bench);
    let run = Run::read(&bench.path("run")).unwrap();
    assert!(run.trials.is_empty());
    let trials = fs::read_dir(bench.path("run/trials")).unwrap();
    assert_eq!(trials.count(), 0);
}

#[test]
fn a_killed_supervisor_takes_its_component_along() {
    let bench = Bench::new(&one_store(FAMILY), &long_study());
    let (mut child, _lines) = under_way(&bench);
    let supervisor = supervisor_of(child.id());
    kill_process(supervisor, Signal::KILL).unwrap();
    // Both trials are tried; the second one is interrupted while it measures or before.
    kill_process(pid_of(&child), Signal::INT).unwrap();
    assert!(child.wait().unwrap().code().is_some());
    let is_store = |command: &String| command.contains("store");
    wait_until("the store is gone", || {
        !living_processes(&bench).iter().any(is_store)
    });
    kill_the_rest(&bench);
}

#[test]
fn a_run_whose_future_is_dropped_is_torn_down() {
    let bench = Bench::new(&one_store(FAMILY), &long_study());
    let mut child = bench
        .command(&["abandon"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for("abandoned");
    // It stays alive until its input ends, and tears down meanwhile.
    assert_all_gone(&bench);
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// After its supervisor was killed, processes that left the component's group have no owner; the test kills them.
fn kill_the_rest(bench: &Bench) {
    let root = bench.folder.path().canonicalize().unwrap();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&root)) {
            let pid = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
                .and_then(Pid::from_raw);
            kill_process(pid.unwrap(), Signal::KILL).ok();
        }
    }
}

/// The one child of waggle.
fn supervisor_of(waggle: u32) -> Pid {
    let threads = fs::read_dir(format!("/proc/{waggle}/task"))
        .unwrap()
        .filter_map(Result::ok);
    let children =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: Vec<i32> = children
        .flat_map(|line| {
            line.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(all.len(), 1);
    Pid::from_raw(all[0]).unwrap()
}
