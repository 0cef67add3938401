//! Runs that are driven from a pod of the cluster.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, ChildStderr, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_results::Run;
use waggle_testkit::wait_until;

use super::bench::{Bench, IMAGE, bench};
use crate::{
    exit_codes::run_code,
    workspace::{Workspace, output_text},
};

const SECRET: &str = "a8f5f167f44f4964e6c998dee827110c";

/// A study of one agent whose header has a value of the environment.
fn study(bench: &Bench, namespace: &str, changes: &[(&str, &str)]) -> Workspace {
    bench.namespace(namespace);
    let rights = bench.waggle(
        &Workspace::new(),
        &["cluster", "rbac", "--namespace", namespace],
    );
    let rights = { rights }.output().unwrap();
    bench
        .cluster
        .apply(&String::from_utf8(rights.stdout).unwrap());
    let listen = format!("listen: {}:0\n  ", bench.cluster.host());
    let header = "get: /, headers: { X-Key: '${env.SHOP_KEY}' }";
    let mut all = vec![
        (listen.as_str(), ""),
        ("count: 3", "count: 1"),
        ("get: /", header),
    ];
    all.extend(changes);
    bench.study(namespace, &all)
}

fn waggle(bench: &Bench, workspace: &Workspace, arguments: &[&str]) -> std::process::Command {
    let mut command = bench.waggle(workspace, arguments);
    command.env("SHOP_KEY", SECRET);
    command
}

/// Nothing of the run is left in the namespace; Kubernetes removes what belonged to a pod a moment after it.
#[track_caller]
fn wait_until_empty(bench: &Bench, namespace: &str) {
    let kinds = "pods,jobs,secrets,leases.coordination.k8s.io";
    let list = ["get", kinds, "--namespace", namespace, "--output", "name"];
    wait_until("the namespace is empty", || {
        bench.cluster.kubectl(&list).is_empty()
    });
}

#[test]
fn a_run_is_driven_from_a_pod_and_its_folder_is_fetched() {
    let bench = bench();
    let workspace = study(bench, "driven", &[]);
    let arguments = ["run", "study.yaml", "--cluster", "--runs", "results"];
    let ran = waggle(bench, &workspace, &arguments).output().unwrap();
    let said = output_text(&ran);
    bench.assert_empty("driven");
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
    let mut grep = std::process::Command::new("grep");
    let found = grep
        .args(["--recursive", "--files-with-matches", SECRET])
        .arg(workspace.path());
    assert_eq!(output_text(&found.output().unwrap()), "");
}

/// A run, and what it says.
struct Running {
    process: Child,
    errors: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    fn start(mut command: std::process::Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        Self {
            process,
            errors,
            said: String::new(),
        }
    }

    /// Waits for a line with these words.
    #[track_caller]
    fn wait_for(&mut self, words: &str) {
        loop {
            let before = self.said.len();
            let read = self.errors.read_line(&mut self.said).unwrap();
            assert!(read > 0, "{}", self.said);
            if self.said[before..].contains(words) {
                return;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    fn end(mut self) -> (String, Output) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.errors, &mut rest).unwrap();
        self.said += &rest;
        (self.said, self.process.wait_with_output().unwrap())
    }
}

/// So long that it does not end by itself.
const LONG: (&str, &str) = ("measure: 2s", "measure: 10m");

#[test]
fn a_run_in_the_cluster_goes_on_without_its_view_and_stops_if_asked() {
    let bench = bench();
    let workspace = study(bench, "left", &[LONG]);
    let kubeconfig = bench.cluster.kubeconfig().display().to_string();
    let mut running = Running::start(waggle(
        bench,
        &workspace,
        &["run", "study.yaml", "--cluster"],
    ));
    running.wait_for("· measure ");
    running.signal(Signal::TERM);
    let (said, output) = running.end();
    assert!(
        said.contains("the run goes on; it is shown again by: waggle run --attach=pods-"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(130), "{said}");

    // A second run, meanwhile.
    let second = waggle(bench, &workspace, &["run", "study.yaml", "--cluster"])
        .output()
        .unwrap();
    let second = output_text(&second);
    assert!(
        second.contains("namespace left is used by run pods-"),
        "{second}"
    );

    let mut again = [
        "run",
        "--attach",
        "--cluster",
        "--namespace",
        "left",
        "--kubeconfig",
    ]
    .to_vec();
    again.push(&kubeconfig);
    let mut running = Running::start(waggle(bench, &workspace, &again));
    running.wait_for("· measure ");
    running.signal(Signal::INT);
    let (said, output) = running.end();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("interrupted"), "{printed}{said}");
    assert!(said.contains("fetched runs/pods-"), "{said}");
    assert_eq!(output.status.code(), Some(130), "{said}");
    wait_until_empty(bench, "left");
}

#[test]
fn a_pod_that_is_deleted_ends_its_run_with_a_sentence() {
    let bench = bench();
    let workspace = study(bench, "lost", &[LONG]);
    let mut running = Running::start(waggle(
        bench,
        &workspace,
        &["run", "study.yaml", "--cluster"],
    ));
    running.wait_for("· measure ");
    let runner = "--selector=app.kubernetes.io/name=waggle-runner";
    let delete = [
        "delete",
        "pod",
        "--namespace",
        "lost",
        runner,
        "--grace-period=0",
        "--force",
    ];
    bench.cluster.kubectl(&delete);
    let (said, output) = running.end();
    assert!(
        said.contains("was deleted, or its node is gone, and the results with it"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2), "{said}");
    wait_until_empty(bench, "lost");
}

#[test]
fn a_run_that_its_pod_cannot_begin_says_why() {
    let bench = bench();
    // The account has no rights.
    let pod = format!(
        "runner:\n  kubernetes: {{ image: '{IMAGE}', pull: never, service_account: default }}\nload:"
    );
    let workspace = study(bench, "bare", &[("load:", &pod)]);
    let ran = waggle(bench, &workspace, &["run", "study.yaml"])
        .output()
        .unwrap();
    let said = output_text(&ran);
    assert!(
        said.contains("`waggle cluster rbac` prints the rights that waggle needs"),
        "{said}"
    );
    assert_eq!(ran.status.code(), Some(2), "{said}");
    wait_until_empty(bench, "bare");
}
