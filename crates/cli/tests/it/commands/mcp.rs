//! `waggle mcp`, by the Python SDK of the protocol: tools, a run that is followed, reports and comparisons, and the limits on files, targets,
//! runs and time.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::workspace::{Parts, Workspace};

/// The longest study of these tests, in seconds, and some more.
const MAX_DURATION: &str = "5m";

/// A client with its server.
struct Client {
    process: Child,
    calls: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What the server said of itself.
    greeting: Value,
}

/// The folder of the SDK.
fn sdk() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fetch");
    let said = Command::new(script).arg("--folder").output().unwrap();
    let folder = PathBuf::from(String::from_utf8(said.stdout).unwrap().trim());
    assert!(
        folder.join("mcp").is_dir(),
        "the Python SDK is not there: `tests/mcp/fetch` installs it"
    );
    folder
}

impl Client {
    fn start(workspace: &Workspace, folder: &str) -> Self {
        Self::start_with(workspace, folder, &[])
    }

    fn start_with(workspace: &Workspace, folder: &str, flags: &[&str]) -> Self {
        let server = workspace.waggle(&[]);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/client.py");
        let mut command = Command::new("python3");
        command
            .arg(script)
            .arg(server.get_program())
            .args(["mcp", folder, "--max-duration", MAX_DURATION])
            .args(flags)
            .current_dir(workspace.path())
            .env("PYTHONPATH", sdk())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, value) in server.get_envs() {
            command.env(name, value.unwrap());
        }
        let mut process = command.spawn().unwrap();
        let mut client = Self {
            calls: process.stdin.take(),
            answers: BufReader::new(process.stdout.take().unwrap()),
            process,
            greeting: Value::Null,
        };
        client.greeting = client.answer();
        client
    }

    #[track_caller]
    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let call = json!({ "tool": tool, "arguments": arguments });
        let calls = self.calls.as_mut().unwrap();
        writeln!(calls, "{call}").unwrap();
        self.answer()
    }

    /// The result of a call that succeeds.
    #[track_caller]
    fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments);
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Checks that a call is refused with these words.
    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: Value, expected: &str) {
        let answer = self.call(tool, arguments.clone());
        let text = answer["error"].as_str().unwrap_or_default();
        assert!(text.contains(expected), "{tool} {arguments}: {answer}");
    }

    /// Asks for the state until it has this key.
    #[track_caller]
    fn status_with(&mut self, key: &str) -> Value {
        loop {
            let state = self.result("status", json!({}));
            if !state[key].is_null() {
                return state;
            }
            assert_ne!(state["state"], "ended", "{state}");
        }
    }

    /// Follows the run to its end.
    #[track_caller]
    fn end_of_run(&mut self) -> Value {
        loop {
            let state = self.result("status", json!({ "wait_s": 60 }));
            if state["state"] == "ended" {
                return state;
            }
        }
    }

    /// The client leaves.
    #[track_caller]
    fn leave(mut self) {
        drop(self.calls.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn workspace(measure: &str, repeat: u32) -> Workspace {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: closed, connections: 2",
        measure,
        repeat,
        ..Parts::default()
    });
    workspace
}

#[test]
fn an_assistant_plans_runs_follows_reports_and_compares() {
    let workspace = workspace("1s", 2);
    let mut client = Client::start(&workspace, ".");
    assert_eq!(client.greeting["server"]["name"], "waggle");
    let tools = client.greeting["tools"].as_object().unwrap().clone();
    let names: Vec<&String> = tools.keys().collect();
    assert_eq!(
        names,
        ["compare", "plan", "report", "run", "status", "stop"]
    );
    for (name, schema) in &tools {
        assert_eq!(schema["additionalProperties"], false, "{name}");
    }
    assert_eq!(
        client.result("status", json!({})),
        json!({ "state": "none" })
    );

    let plan = client.result("plan", json!({ "study": "study.yaml" }));
    assert_eq!(plan["trials"], 2);
    assert_eq!(plan["max_duration_s"], 300);
    let text = plan["text"].as_str().unwrap();
    assert!(text.contains("1 cell × 2 repetitions = 2 trials"), "{text}");

    let mut runs = Vec::new();
    for _ in 0..2 {
        let begun = client.result("run", json!({ "study": "study.yaml" }));
        let run = begun["run"].as_str().unwrap().to_owned();
        // It is followed while it goes on, and no other one begins.
        let other = client.call("run", json!({ "study": "study.yaml" }));
        let text = other["error"].as_str().unwrap_or_default();
        assert!(text.contains("one at a time"), "{other}");
        let status = client.status_with("trials");
        assert_eq!(status["run"], run);
        assert_eq!(status["trials"], 2, "{status}");
        assert_eq!(status["study"], "faults", "{status}");
        let ended = client.end_of_run();
        let code = ended["exit_code"].as_u64().unwrap();
        assert!([0, 4, 5].contains(&code), "{ended}");
        assert!(!ended["text"].as_str().unwrap().contains("──"), "{ended}");
        runs.push(run);
    }
    let report = client.result("report", json!({ "run": runs[0] }));
    let file = workspace.path().join(&runs[0]).join("report.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    for (key, value) in file.as_object().unwrap() {
        assert_eq!(&report[key], value, "{key}");
    }
    assert_eq!(report, file);
    let keys = json!({ "run": runs[0], "keys": ["answer", "cells"] });
    let part = client.result("report", keys);
    assert_eq!(
        part,
        json!({ "answer": file["answer"], "cells": file["cells"] })
    );
    let sides = json!({ "first": runs[0], "second": runs[1], "margin": "90%" });
    let comparison = client.result("compare", sides);
    let outcome = comparison["outcome"].as_str().unwrap();
    assert!(["same", "better", "worse", "undecided"].contains(&outcome));
    assert_eq!(comparison["margin"], 0.9);
    client.leave();
    workspace.assert_none_left();
}

#[test]
fn fields_and_paths_are_checked() {
    let workspace = workspace("1s", 1);
    let mut client = Client::start(&workspace, ".");
    let study = |file: &str| json!({ "study": file });
    client.fails("run", study("../x.yaml"), "study: ../x.yaml is outside of");
    client.fails(
        "plan",
        study("/etc/hostname"),
        "study: /etc/hostname is outside of",
    );
    client.fails(
        "report",
        json!({ "run": "/etc" }),
        "run: /etc is outside of",
    );
    let sides = json!({ "first": "..", "second": "." });
    client.fails("compare", sides, "first: .. is outside of");
    client.fails(
        "plan",
        study("nothing.yaml"),
        "study: cannot read nothing.yaml",
    );
    let against = json!({ "study": "study.yaml", "against": ["program.store=/bin/true"] });
    client.fails("run", against, "against: /bin/true is outside of");
    client.fails("run", json!({}), "study: it is missing");
    let wrong = json!({ "study": "study.yaml", "quik": true, "pilot": 1 });
    let unknown = "quik: there is no such field; did you mean quick?";
    client.fails("run", wrong.clone(), unknown);
    client.fails("run", wrong, "pilot: expected true or false");
    let both = json!({ "study": "study.yaml", "quick": true, "pilot": true });
    client.fails("plan", both, "pilot: it cannot be combined with quick");
    let long = json!({ "study": "study.yaml", "max_duration_s": 301 });
    client.fails("run", long, "max_duration_s: expected 1 to 300");
    let metric = json!({ "study": "study.yaml", "metric": ["colour"] });
    client.fails("run", metric, "metric: ");
    let filter = json!({ "study": "study.yaml", "filter": ["--quick"] });
    client.fails("run", filter, "--filter");
    client.fails("stop", json!({}), "no run was started here");
    let unknown = client.call("delete", json!({}));
    let refused = unknown["refused"].as_str().unwrap();
    assert!(refused.contains("there is no tool delete"), "{unknown}");
    client.leave();
    let mut command = workspace.waggle(&["mcp", "systems", "--runs", "../runs"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--runs: ../runs is outside of"), "{text}");
    assert!(output.stdout.is_empty());
    workspace.assert_none_left();
    assert!(!workspace.path().join("runs").exists());
}

#[test]
fn what_a_study_names_is_limited() {
    let workspace = workspace("1s", 1);
    let served = workspace.path().join("served");
    fs::create_dir(&served).unwrap();
    let write = |file: &str, host: &str, load: &str| {
        let study = format!(
            "study: far\nquestion: Is it refused?\nsystem: {{ url: \"http://{host}:8080\" }}\nload:\n  model: closed\n  \
             {load}\nschedule: {{ warm_up: 250ms, measure: 500ms }}\n"
        );
        fs::write(served.join(file), study).unwrap();
    };
    let page = "connections: 1\n  request: { name: page, get: / }";
    write("far.yaml", "192.0.2.7", page);
    write("named.yaml", "localhost.test", page);
    let file = "connections: 1\n  request: { name: page, post: /, body_file: /etc/hostname }";
    write("body.yaml", "127.0.0.1", file);
    let file = "connections: 1\n  request: { name: page, put: /, records: { file: ../readings.lp, per_request: 1 } }";
    write("records.yaml", "127.0.0.1", file);
    write(
        "scenario.yaml",
        "127.0.0.1",
        "connections: 1\n  scenario: { file: ../secret.yaml }",
    );
    fs::write(
        workspace.path().join("secret.yaml"),
        "password: do-not-show\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../study.yaml", served.join("link.yaml")).unwrap();

    let mut client = Client::start(&workspace, "served");
    for tool in ["plan", "run"] {
        for (file, expected) in [
            (
                "far.yaml",
                "system.url is on 192.0.2.7, which is no loopback address",
            ),
            ("named.yaml", "--allow-target localhost.test"),
            ("body.yaml", "/etc/hostname is outside of"),
            ("records.yaml", "../readings.lp is outside of"),
            ("scenario.yaml", "../secret.yaml is outside of"),
            ("link.yaml", "link.yaml is outside of"),
        ] {
            client.fails(tool, json!({ "study": file }), expected);
            let answer = client.call(tool, json!({ "study": file }));
            assert!(!answer.to_string().contains("do-not-show"), "{answer}");
        }
    }
    client.leave();
    workspace.assert_none_left();
    assert!(!served.join("runs").exists());
}

#[test]
fn a_target_elsewhere_is_planned_if_it_is_allowed() {
    let workspace = workspace("1s", 1);
    // Reserved for documentation. Nothing is sent to it: a plan connects to nothing.
    let study = "study: far\nquestion: Is it allowed?\nsystem: { url: \"http://192.0.2.7:8080\" }\nload:\n  model: closed\n  \
                 connections: 1\n  request: { name: page, get: / }\nschedule: { warm_up: 250ms, measure: 500ms }\n";
    fs::write(workspace.path().join("far.yaml"), study).unwrap();
    let far = || json!({ "study": "far.yaml" });
    let reason = "system.url is on 192.0.2.7, which is no loopback address; a server that was started with --allow-target 192.0.2.7";
    for flags in [&[][..], &["--allow-target", "192.0.2.8"]] {
        let mut client = Client::start_with(&workspace, ".", flags);
        client.fails("plan", far(), reason);
        client.leave();
    }
    let mut client = Client::start_with(&workspace, ".", &["--allow-target", "192.0.2.7"]);
    let plan = client.result("plan", far());
    let text = plan["text"].as_str().unwrap();
    assert!(text.contains("system http://192.0.2.7:8080"), "{text}");
    client.leave();
    workspace.assert_none_left();
}

#[test]
fn a_run_ends_at_its_limit_of_time_and_on_request_and_with_the_client() {
    let workspace = workspace("60s", 3);
    let mut client = Client::start(&workspace, ".");
    let order = json!({ "study": "study.yaml", "max_duration_s": 2 });
    let begun = client.result("run", order);
    let note = begun["note"].as_str().unwrap();
    assert!(note.contains("is stopped after 2 s"), "{begun}");
    let ended = client.end_of_run();
    assert_eq!(ended["stopped"], "the limit of time was reached", "{ended}");
    assert_eq!(ended["exit_code"], 130, "{ended}");
    check_none_left(&workspace, &client);

    client.result("run", json!({ "study": "study.yaml" }));
    let ended = client.result("stop", json!({}));
    assert_eq!(ended["state"], "ended", "{ended}");
    assert_eq!(ended["stopped"], "asked by the client", "{ended}");
    check_none_left(&workspace, &client);

    client.result("run", json!({ "study": "study.yaml" }));
    client.leave();
    workspace.assert_none_left();

    // The server is killed in mid-run: the run is interrupted.
    let mut client = Client::start(&workspace, ".");
    client.result("run", json!({ "study": "study.yaml" }));
    client.status_with("trials");
    let server = children(client.process.id());
    assert_eq!(server.len(), 1, "{server:?}");
    kill_process(Pid::from_raw(server[0]).unwrap(), Signal::KILL).unwrap();
    drop(client);
    workspace.wait_for_orderly_end();
}

/// Nothing is left but the client and its server.
#[track_caller]
fn check_none_left(workspace: &Workspace, client: &Client) {
    let left = workspace.processes_left();
    assert_eq!(
        left.len(),
        1 + children(client.process.id()).len(),
        "{left:?}"
    );
}

fn children(parent: u32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    let threads = threads.map(|thread| thread.unwrap().path().join("children"));
    let children = threads.map(|file| fs::read_to_string(file).unwrap_or_default());
    let children: String = children.collect();
    let children = children.split_whitespace();
    children.map(|child| child.parse().unwrap()).collect()
}
