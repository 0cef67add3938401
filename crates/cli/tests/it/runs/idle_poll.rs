//! `--idle-poll`: it is noted in results and reports, and its processes end.

use std::process::{Command, Stdio};

use waggle_load::NullServer;
use waggle_testkit::{Lines, wait_until};

use crate::{
    exit_codes::load_result,
    workspace::{Parts, Workspace, output_text},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn url(server: &NullServer) -> String {
    format!("http://{}/hello", server.address())
}

fn nothing_left(workspace: &Workspace) {
    wait_until("all processes are gone", || {
        workspace.processes_left().is_empty()
    });
}

fn server() -> NullServer {
    NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap()
}

#[test]
fn load_notes_idle_polling_and_cpu_times() {
    let workspace = Workspace::new();
    let server = server();
    let load = |flags: &[&str]| {
        let url = url(&server);
        let common = ["load", &url, "--quiet", "-c", "2", "-R", "100", "-d", "1s"];
        let output = workspace.output(&[&common, flags].concat());
        nothing_left(&workspace);
        output
    };
    for (flags, idle_poll) in [
        (vec!["--json"], false),
        (vec!["--json", "--idle-poll"], true),
    ] {
        let result = load_result(&load(&flags));
        let host = &result["host"];
        assert_eq!(host["idle_poll"], idle_poll, "{host}");
        let percent = |name: &str| host[name].as_f64().unwrap();
        let (idle, stolen) = (percent("cpu_idle_percent"), percent("cpu_steal_percent"));
        assert!(
            idle >= 0.0 && stolen >= 0.0 && idle + stolen <= 100.0 + 1e-6,
            "{host}"
        );
    }
    let text = String::from_utf8(load(&["--idle-poll"]).stdout).unwrap();
    assert!(text.contains("machine        idle polling"), "{text}");
}

#[test]
fn killed_load_leaves_no_loop() {
    let workspace = Workspace::new();
    let server = server();
    let url = url(&server);
    let mut child = workspace
        .waggle(&[
            "load",
            &url,
            "--idle-poll",
            "-c",
            "1",
            "-R",
            "10",
            "-d",
            "60s",
        ])
        // The workspace removes what the killed load left.
        .env("TMPDIR", workspace.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Lines::new(child.stderr.take().unwrap()).wait_for("");
    let has_loops = |command: &String| command.contains("__idle-poll");
    assert!(workspace.processes_left().iter().any(has_loops));
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    assert!(killed.success());
    child.wait().unwrap();
    nothing_left(&workspace);
}

#[test]
fn run_with_idle_polling_is_resumed_only_with_it() {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        load: "model: open, rate: 200/s, arrivals: uniform, connections: 4",
        measure: "1s",
        ..Parts::default()
    });
    let run = |flags: &[&str]| {
        let output = workspace.output(&[&["run", "study.yaml", "--quiet"], flags].concat());
        nothing_left(&workspace);
        output
    };
    let model = workspace.report_of(&run(&["--idle-poll"]));
    assert!(model.info.host.idle_poll);
    assert!(model.cells[0].cpu_steal.is_some());
    let page = std::fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    assert!(page.contains("- **Idle polling**: "), "{page}");
    let refused = run(&["--resume"]);
    assert_eq!(refused.status.code(), Some(2), "{}", output_text(&refused));
    assert!(output_text(&refused).contains("--idle-poll differs"));
}
