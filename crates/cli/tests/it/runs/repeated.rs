//! `waggle run --times`: whole runs one after the other, each in a new order, and what they show together; `waggle plan` from them.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::workspace::{Parts, Workspace, output_text};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: closed, connections: 2, pipelining: 1",
        measure: "1s",
        repeat: 2,
        ..Parts::default()
    });
    workspace
}

fn runs(workspace: &Workspace) -> Vec<PathBuf> {
    let folders = fs::read_dir(workspace.path().join("runs")).unwrap();
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.unwrap().path()).collect();
    folders.sort();
    folders
}

fn json(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn whole_runs_are_repeated_and_planned_from() {
    let workspace = workspace();
    let nothing = output_text(&workspace.output(&["plan", "study.yaml"]));
    assert!(nothing.contains("is not known"), "{nothing}");
    assert!(
        nothing.contains("waggle run study.yaml --pilot"),
        "{nothing}"
    );

    let output = workspace.output(&[
        "run",
        "study.yaml",
        "--quiet",
        "--times",
        "3",
        "--every",
        "0s",
    ]);
    let said = output_text(&output);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{said}");
    assert!(said.contains("over 3 runs: "), "{said}");
    let runs = runs(&workspace);
    assert_eq!(runs.len(), 3, "{said}");
    let infos: Vec<Value> = runs.iter().map(|run| json(run.join("run.json"))).collect();
    assert!(infos[0]["seed"] != infos[1]["seed"] || infos[1]["seed"] != infos[2]["seed"]);
    assert!(infos[0]["at_start"]["question"].is_string());
    let over = json(runs[2].join("runs.json"));
    let over = &over["series"][0]["over_runs"];
    assert_eq!(over["runs"], 3);
    assert!(over["value"]["low"].as_f64() < over["value"]["high"].as_f64());
    assert!(runs[2].join("runs.html").is_file() && runs[2].join("runs.md").is_file());

    let planned = output_text(&workspace.output(&["plan", "study.yaml"]));
    assert!(planned.contains("3 earlier runs on this host"), "{planned}");
    let sum = planned.lines().find_map(|line| line.split_once("SHA-256 "));
    let report = json(runs[0].join("report.json"));
    assert_eq!(report["asked_before"]["sum"], sum.unwrap().1);
    assert_eq!(report["asked_before"]["origin"], "asked");
    assert!(report["power"][0]["smallest_difference"].is_number());

    // The question is written again after the fact.
    let run = runs[0].join("run.json");
    let mut edited = infos[0].clone();
    edited["question"] = "Was it as quick as it turned out to be?".into();
    fs::write(&run, edited.to_string()).unwrap();
    let said = output_text(&workspace.output(&["report", runs[0].to_str().unwrap()]));
    assert!(
        said.contains("Changed after the run began: question."),
        "{said}"
    );
    let report = json(runs[0].join("report.json"));
    assert_eq!(report["asked_before"]["origin"], "found by looking");
}

#[test]
fn ctrl_c_between_two_runs_says_what_is_left() {
    let workspace = workspace();
    let arguments = [
        "run",
        "study.yaml",
        "--quick",
        "--seed",
        "7",
        "--times",
        "3",
        "--every",
        "1h",
    ];
    let mut child = workspace
        .waggle(&arguments)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("the next run begins in")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = output_text(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let left = "2 of 3 runs left; they are run with: waggle run study.yaml --seed 7 --quick --times 2 --every 1h";
    assert!(said.contains(left), "{said}");
    let info = json(workspace.run_folder().join("run.json"));
    assert_eq!(info["seed"], 7);
}
