//! Idle polling: its loops are of the idle class, end when waggle ends for any reason, and are in no metric.

use std::{fs, process::Child};

use rustix::process::{Pid, Signal, kill_process};
use waggle_results::{Run, TrialEnd};
use waggle_system::cpus;
use waggle_testkit::Lines;

use super::{
    Bench, one_store,
    orphans::{assert_all_gone, pid_of},
    study,
};

/// SCHED_IDLE, as `/proc` shows it.
const IDLE: &str = "5";

fn bench(measure: &str) -> Bench {
    Bench::new(
        &one_store("[STORE, '${port.http}']"),
        &study("one-store", "").replace("measure: 2s", &format!("measure: {measure}")),
    )
}

/// A run in the middle of its trial. Its processes can be found by the bench's folder.
fn under_way(bench: &Bench) -> (Child, Lines) {
    let mut command = bench.command(&["idle-poll"]);
    let mut child = command.current_dir(bench.path("")).spawn().unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap());
    lines.wait_for("phase: Measure");
    (child, lines)
}

/// The process of the loops that a process has started.
fn loops_of(waggle: &Child) -> u32 {
    let threads = fs::read_dir(format!("/proc/{}/task", waggle.id())).unwrap();
    let children = threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: Vec<u32> = children
        .flat_map(|line| {
            line.split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect();
    let has_loops = |pid: &u32| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.contains("__idle-poll")
    };
    let pids: Vec<u32> = all.into_iter().filter(has_loops).collect();
    assert_eq!(pids.len(), 1, "{pids:?}");
    pids[0]
}

/// Name, policy and CPUs of each loop.
fn threads_of(loops: u32) -> Vec<(String, String, String)> {
    let threads = fs::read_dir(format!("/proc/{loops}/task")).unwrap();
    let mut rows: Vec<_> = threads
        .map(|thread| {
            let folder = thread.unwrap().path();
            let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
            let stat = read("stat");
            // Field 41 of proc_pid_stat(5); the fields after the name begin with field 3.
            let mut fields = stat[stat.rfind(')').unwrap() + 1..].split_whitespace();
            let policy = fields.nth(41 - 3).unwrap().to_owned();
            let status = read("status");
            let cpus = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            let name = read("comm").trim().to_owned();
            (name, policy, cpus.unwrap().trim().to_owned())
        })
        .filter(|(name, ..)| name.starts_with("idle-poll-"))
        .collect();
    rows.sort();
    rows
}

#[test]
fn each_cpu_has_a_loop_of_the_idle_class_that_ends_with_a_killed_waggle() {
    let bench = bench("60s");
    let (mut child, _lines) = under_way(&bench);
    let loops = loops_of(&child);
    let mut expected: Vec<_> = cpus::allowed_cpus()
        .into_iter()
        .map(|cpu| (format!("idle-poll-{cpu}"), IDLE.to_owned(), cpu.to_string()))
        .collect();
    expected.sort();
    assert_eq!(threads_of(loops), expected);
    kill_process(pid_of(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_all_gone(&bench);
}

#[test]
fn results_note_idle_polling_and_no_metric_includes_it() {
    let bench = bench("500ms");
    let mut command = bench.command(&["idle-poll"]);
    let output = command.current_dir(bench.path("")).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert_all_gone(&bench);
    let run = Run::read(&bench.path("run")).unwrap();
    assert!(run.info.host.idle_poll);
    let trial = &run.trials[0];
    assert_eq!(trial.info.end, TrialEnd::Completed);
    let machine = trial.info.machine.unwrap();
    let (idle, stolen) = (machine.cpu_idle, machine.cpu_steal);
    assert!(idle >= 0.0 && stolen >= 0.0 && idle + stolen <= 1.0 + 1e-9);
    assert!(
        !trial
            .info
            .remarks
            .iter()
            .any(|shown| shown.contains("idle polling")),
        "{:?}",
        trial.info.remarks
    );
    // A loop is no row, and neither waggle nor the store has the threads or the CPUs of the loops: each stays on its own.
    let names: Vec<&str> = trial
        .resources
        .iter()
        .map(|row| row.component.as_str())
        .collect();
    assert!(
        names
            .iter()
            .all(|name| ["waggle", "store-0"].contains(name))
    );
    let check = |name: &str, cpus: &[u32]| {
        let rows = trial.resources.iter().filter(|row| row.component == name);
        let mean = rows.clone().map(|row| row.cpu_cores).sum::<f64>() / rows.count() as f64;
        let cpu_count = cpus.len().max(1) as f64;
        assert!(
            mean <= cpu_count + 0.5,
            "{name}: {mean} of {cpu_count} CPUs"
        );
    };
    check("waggle", &run.info.host.load_cpus);
    check("store-0", &run.info.host.system_cpus);
}

#[test]
fn loops_that_end_during_a_trial_are_a_remark() {
    let bench = bench("15s");
    let (mut child, lines) = under_way(&bench);
    let loops = Pid::from_raw(i32::try_from(loops_of(&child)).unwrap()).unwrap();
    kill_process(loops, Signal::KILL).unwrap();
    assert!(child.wait().unwrap().success(), "{lines:?}");
    let run = Run::read(&bench.path("run")).unwrap();
    let remarks = &run.trials[0].info.remarks;
    assert!(
        remarks
            .iter()
            .any(|shown| shown.starts_with("idle polling had ended")),
        "{remarks:?}"
    );
}

#[test]
fn run_is_resumed_with_the_same_idle_polling() {
    let bench = bench("500ms");
    assert!(bench.run(&["idle-poll"]).status.success());
    let output = bench.run(&["resume"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        shown.contains("the option --idle-poll differs from the one the run was begun with"),
        "{shown}"
    );
    assert!(bench.run(&["resume", "idle-poll"]).status.success());
}

#[test]
fn nothing_starts_if_the_loops_cannot_run() {
    let bench = bench("500ms");
    let output = bench.run(&["without-loops"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("cannot poll idle CPUs: "), "{shown}");
    assert!(!bench.path("run").exists());
}
