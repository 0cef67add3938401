//! Runs that are driven from a pod of the cluster.

use std::{fs, process::Command};

use rustix::process::{Pid, Signal, kill_process};
use waggle_results::Run;
use waggle_testkit::wait_until;

use super::bench::{Bench, IMAGE, Running, bench};
use crate::{
    exit_codes::run_code,
    workspace::{Workspace, output_text},
};

const SECRET: &str = "a8f5f167f44f4964e6c998dee827110c";

/// A study of one agent whose header has a value of the environment.
fn study(bench: &Bench, namespace: &str, changes: &[(&str, &str)]) -> Workspace {
    bench.namespace(namespace);
    let folder = Workspace::new();
    let rights = ["cluster", "rbac", "--namespace", namespace];
    let rights = bench.waggle(&folder, &rights).output().unwrap();
    bench
        .cluster
        .apply(&String::from_utf8(rights.stdout).unwrap());
    let header = "get: /, headers: { X-Key: '${env.SHOP_KEY}' }";
    let mut all = vec![("count: 3", "count: 1"), ("get: /", header)];
    all.extend(changes);
    bench.study(namespace, &all)
}

fn waggle(bench: &Bench, workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = bench.waggle(workspace, arguments);
    command.env("SHOP_KEY", SECRET);
    command
}

/// Nothing of the run is left in the namespace; Kubernetes removes what belonged to an object a moment after it.
#[track_caller]
fn wait_until_empty(bench: &Bench, namespace: &str) {
    wait_until("the namespace is empty", || {
        bench.objects(namespace).is_empty()
    });
}

#[test]
fn a_run_is_driven_from_a_pod_and_its_folder_is_fetched() {
    let bench = bench();
    let workspace = study(bench, "driven", &[]);
    let arguments = ["run", "study.yaml", "--cluster", "--runs", "results"];
    let ran = waggle(bench, &workspace, &arguments).output().unwrap();
    let said = output_text(&ran);
    wait_until_empty(bench, "driven");
    let runs = workspace.path().join("results");
    let mut names: Vec<_> = fs::read_dir(&runs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let folder = runs.join(names.pop().unwrap());
    let report = folder.join("report.html");
    assert!(
        said.contains(&format!(
            "results/{}",
            folder.file_name().unwrap().display()
        )),
        "{said}"
    );
    assert!(!said.contains("runs/pods-"), "{said}");
    assert!(report.is_file());
    let model = waggle_analysis::model(&Run::read(&folder).unwrap());
    assert_eq!(ran.status.code(), Some(run_code(&model)), "{said}");
    assert_eq!(model.trials.len(), 1);
    assert_eq!(model.trials[0].failure, None);
    assert_eq!(model.trials[0].info.agents.len(), 1);
    let mut grep = Command::new("grep");
    let files = grep
        .args(["--recursive", "--files-with-matches", SECRET])
        .arg(workspace.path());
    assert_eq!(output_text(&files.output().unwrap()).trim(), "");
}

/// So long that it does not end by itself.
const LONG: (&str, &str) = ("measure: 2s", "measure: 10m");

#[test]
fn a_run_in_the_cluster_goes_on_without_its_view_and_stops_if_asked() {
    let bench = bench();
    let workspace = study(bench, "left", &[LONG]);
    let run = ["run", "study.yaml", "--cluster"];
    let mut running = Running::start_command(waggle(bench, &workspace, &run), &workspace);
    running.wait_for("· measure ");
    let kinds = "pods,jobs,configmaps,secrets";
    let objects = ["get", kinds, "--namespace", "left", "--output", "yaml"];
    let objects = bench.cluster.kubectl(&objects);
    assert!(objects.contains("waggle-runner") && !objects.contains(SECRET));
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(130), "{}", running.text());
    let said = running.text();
    assert!(
        said.contains("the run goes on; it is shown again by: waggle run --attach=pods-"),
        "{said}"
    );

    // A second run, meanwhile.
    let second = waggle(bench, &workspace, &run).output().unwrap();
    let second = output_text(&second);
    assert!(
        second.contains("namespace left is used by run pods-"),
        "{second}"
    );
    // It is no remains.
    let down = waggle(bench, &workspace, &["system", "down", "agents"]);
    let down = { down }.output().unwrap();
    assert_eq!(down.status.code(), Some(0), "{}", output_text(&down));

    let kubeconfig = bench.cluster.kubeconfig().display().to_string();
    let again = [
        "run",
        "--attach",
        "--cluster",
        "--namespace",
        "left",
        "--kubeconfig",
        &kubeconfig,
    ];
    let mut running = Running::start_command(waggle(bench, &workspace, &again), &workspace);
    running.wait_for("· measure ");
    running.signal(Signal::INT);
    assert_eq!(running.exit_code(), Some(130), "{}", running.text());
    let said = running.text();
    assert!(said.contains("interrupted"), "{said}");
    assert!(said.contains("fetched runs/pods-"), "{said}");
    wait_until_empty(bench, "left");
}

/// Kills a process in a pod, as a node without memory does: that with this argument.
fn kill_in_pod(running: &Running, argument: &str) {
    let said = running.text();
    let pod = said.split_once("is driven by pod ").unwrap().1;
    let pod = pod.split_once(' ').unwrap().0;
    let (host, argument) = (format!("HOSTNAME={pod}"), argument.as_bytes());
    let has = |id: i32, file: &str, word: &[u8]| {
        let words = fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|other| other == word)
    };
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id = entry.unwrap().file_name().to_str()?.parse().ok()?;
        (has(id, "environ", host.as_bytes()) && has(id, "cmdline", argument)).then_some(id)
    });
    let processes: Vec<i32> = processes.collect();
    assert_eq!(processes.len(), 1, "{processes:?} of {pod}");
    kill_process(Pid::from_raw(processes[0]).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_pod_that_is_killed_ends_its_run_with_a_sentence() {
    let bench = bench();
    let workspace = study(bench, "lost", &[LONG]);
    let run = ["run", "study.yaml", "--cluster"];
    let mut running = Running::start_command(waggle(bench, &workspace, &run), &workspace);
    running.wait_for("· measure ");
    kill_in_pod(&running, "serve");
    assert_eq!(running.exit_code(), Some(2), "{}", running.text());
    let said = running.text();
    assert!(said.contains("its results are lost"), "{said}");
    wait_until_empty(bench, "lost");
}

#[test]
fn a_run_that_is_killed_in_its_pod_is_fetched_as_far_as_it_came() {
    let bench = bench();
    let workspace = study(bench, "killed-run", &[LONG]);
    let run = ["run", "study.yaml", "--cluster"];
    let mut running = Running::start_command(waggle(bench, &workspace, &run), &workspace);
    running.wait_for("· measure ");
    kill_in_pod(&running, "run");
    assert_eq!(running.exit_code(), Some(2), "{}", running.text());
    let said = running.text();
    assert!(
        said.contains("the process of the run was killed by signal 9"),
        "{said}"
    );
    assert!(said.contains("fetched runs/pods-"), "{said}");
    assert!(workspace.run_folder().join("run.json").is_file());
    wait_until_empty(bench, "killed-run");
}

#[test]
fn a_run_that_its_pod_cannot_begin_says_why() {
    let bench = bench();
    // The account has no rights.
    let pod = format!(
        "runner:\n  kubernetes: {{ image: '{IMAGE}', pull: never, service_account: default }}\nload:"
    );
    let workspace = study(bench, "bare", &[("load:", &pod)]);
    check_refused(
        bench,
        &workspace,
        "bare",
        "`waggle cluster rbac` prints the rights that waggle needs",
    );
}

#[test]
fn a_run_without_a_folder_says_why_and_is_gone() {
    let bench = bench();
    // Nobody listens at this address.
    let (url, nobody) = (bench.url(), format!("http://{}", bench.free_address()));
    let ready = ("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 2s");
    let workspace = study(bench, "nobody", &[(&url, &nobody), ready]);
    check_refused(bench, &workspace, "nobody", &nobody);
    let runs = workspace.path().join("runs");
    assert!(!runs.exists() || fs::read_dir(runs).unwrap().next().is_none());
}

/// The run ends with exit code 2 and these words, and nothing of it is left.
#[track_caller]
fn check_refused(bench: &Bench, workspace: &Workspace, namespace: &str, words: &str) {
    let ran = waggle(bench, workspace, &["run", "study.yaml", "--cluster"]);
    let ran = { ran }.output().unwrap();
    let said = output_text(&ran);
    assert!(said.contains(words), "{words} in {said}");
    assert!(!said.contains("not fetched"), "{said}");
    assert_eq!(ran.status.code(), Some(2), "{said}");
    wait_until_empty(bench, namespace);
}
