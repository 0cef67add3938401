//! `waggle load` against servers on this machine: counts match those of the server, and exit codes match the result.

mod generators;
mod heads;
mod hostile_streams;
mod http2;
mod pipes;
mod saved;
mod scenario;
mod secure;
mod verdicts;

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use waggle_load::NullServer;
use waggle_testkit::{
    free_port,
    http::{Reply, Server},
};

use crate::{
    exit_codes::load_result,
    workspace::{Workspace, output_text},
};

pub(crate) const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const SORRY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

pub(crate) fn server(answer: &[u8]) -> NullServer {
    NullServer::start("127.0.0.1:0".parse().unwrap(), answer).unwrap()
}

/// A load on a new server; returns the result, and the number of requests that the server counted.
pub(crate) fn load(flags: &[&str]) -> (Value, u64) {
    let workspace = Workspace::new();
    let server = server(ANSWER);
    let url = format!("http://{}/hello?x=1", server.address());
    let output = workspace.output(&[&["load", &url, "--json", "--quiet"], flags].concat());
    assert!(output.stderr.is_empty(), "{}", output_text(&output));
    (load_result(&output), server.stop())
}

fn number(result: &Value, pointer: &str) -> f64 {
    result
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer} of {result}"))
}

pub(crate) fn count(result: &Value, pointer: &str) -> u64 {
    result
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{pointer} of {result}"))
}

/// Checks that every request has an outcome, and that the server counted as many.
pub(crate) fn adds_up(result: &Value, served: u64) {
    let sent = count(result, "/sent") + count(result, "/in_flight_at_start");
    let ended = count(result, "/succeeded") + count(result, "/failed");
    assert_eq!(sent, ended + count(result, "/in_flight_at_end"), "{result}");
    assert_eq!(count(result, "/totals/sent"), served, "{result}");
    assert_eq!(
        count(result, "/response_time_us/count"),
        count(result, "/succeeded")
    );
}

#[test]
fn each_model_counts_what_the_server_counts() {
    let check = |flags: &[&str], model: &str| {
        let (result, served) = load(flags);
        adds_up(&result, served);
        assert_eq!(result["model"], model);
        assert!(served > 0);
        result
    };
    let result = check(&["-c", "4", "-p", "3", "-n", "1000", "-t", "2"], "closed");
    assert_eq!(count(&result, "/succeeded"), 1000);
    assert_eq!(count(&result, "/settings/pipelining"), 3);
    assert_eq!(count(&result, "/generator/workers"), 2);
    let result = check(&["-d", "500ms", "-c", "2"], "closed");
    assert!((number(&result, "/seconds") - 0.5).abs() < 1e-6);
    let result = check(
        &[
            "-R",
            "400",
            "--arrivals",
            "uniform",
            "-n",
            "200",
            "--seed",
            "7",
        ],
        "open",
    );
    assert_eq!((count(&result, "/due"), count(&result, "/seed")), (200, 7));
    check(&["-R", "400/s", "-d", "500ms"], "open");
    check(&["--stages", "300ms:400,0s:100,200ms:100"], "open");
    let think_time = "--think-time=uniform:1ms..3ms";
    check(&["--users", "5", think_time, "-d", "0.5"], "users");
    let result = check(&["-c", "2", "-d", "500ms", "--warm-up", "250ms"], "closed");
    assert!(count(&result, "/sent") < count(&result, "/totals/sent"));
    assert!((number(&result, "/seconds") - 0.5).abs() < 1e-6);
}

#[test]
fn defaults_are_printed() {
    let workspace = Workspace::new();
    let server = server(ANSWER);
    let output = workspace.output(&[
        "load",
        &server.address().to_string(),
        "-n",
        "100",
        "--quiet",
    ]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("defaults: closed load, 50 connections"),
        "{text}"
    );
    assert!(text.contains("100 sent, 100 succeeded, 0 failed"), "{text}");
    assert!(
        text.contains("single run, no confidence interval"),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn series_are_written_to_the_given_files() {
    let workspace = Workspace::new();
    let server = server(ANSWER);
    let url = server.address().to_string();
    let output = workspace.output(&[
        "load",
        &url,
        "-c",
        "2",
        "-d",
        "600ms",
        "--interval",
        "200ms",
        "--csv",
        "rows.csv",
        "--hdr",
        "times.hlog",
        "--json",
        "--series",
    ]);
    let result = load_result(&output);
    let rows = result["intervals"].as_array().unwrap();
    let csv = std::fs::read_to_string(workspace.path().join("rows.csv")).unwrap();
    assert_eq!(csv.lines().count(), rows.len() + 1, "{csv}");
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let fields: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(columns.len(), fields.len());
    assert!(
        fields.iter().all(|field| columns.contains(&field.as_str())),
        "{columns:?} {fields:?}"
    );
    let succeeded: u64 = rows.iter().map(|row| count(row, "/succeeded")).sum();
    assert_eq!(succeeded, count(&result, "/succeeded"));
    let log = std::fs::read_to_string(workspace.path().join("times.hlog")).unwrap();
    let only = |tag: &str| {
        log.lines()
            .filter(|line| line.starts_with(['#', '"']) || line.starts_with(tag))
            .fold(String::new(), |text, line| text + line + "\n")
    };
    for tag in ["Tag=response_time,", "Tag=service_time,"] {
        let read = waggle_results::read_histograms(only(tag).as_bytes()).unwrap();
        assert_eq!(read.len(), rows.len());
        assert_eq!(read.merge_range(0.0, 1e9).len(), succeeded);
    }
    // One line of progress per row.
    let lines = String::from_utf8_lossy(&output.stderr).lines().count();
    assert_eq!(lines, rows.len(), "{}", output_text(&output));
}

#[test]
fn load_without_a_success_has_code_5() {
    let workspace = Workspace::new();
    let server = server(SORRY);
    let url = server.address().to_string();
    let flags = [
        "load",
        &url,
        "-n",
        "50",
        "--quiet",
        "--threshold",
        "response_time.p99 < 50ms",
    ];
    let output = workspace.output(&flags);
    assert_eq!(output.status.code(), Some(5), "{}", output_text(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("no request succeeded: 50 × status 503"),
        "{text}"
    );
    assert!(
        text.contains("undecided: unknown (the run has no metric response_time.p99)"),
        "{text}"
    );
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let output = workspace.output(&[&flags[..], &["--json"]].concat());
    let result = load_result(&output);
    assert_eq!(result["verdict"], "failed");
    assert_eq!(count(&result, "/failures/status_503"), 50);
    assert_eq!(count(&result, "/statuses/503"), 50);
    assert!(result["response_time_us"]["p50"].is_null());
    assert_eq!(count(&result, "/failed_time_us/count"), 50);
}

pub(crate) fn refuses(workspace: &Workspace, flags: &[&str], expected: &str) {
    let output = workspace.output(&[&["load"], flags].concat());
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(
        output_text(&output).contains(expected),
        "{}",
        output_text(&output)
    );
}

#[test]
fn mistakes_are_explained_with_code_2() {
    let workspace = Workspace::new();
    let refused = format!("127.0.0.1:{}", free_port());
    let server = server(ANSWER);
    let up = server.address().to_string();
    let check = |flags: &[&str], expected: &str| refuses(&workspace, flags, expected);
    check(&[&refused], "cannot connect to 127.0.0.1");
    check(
        &["http://no-such-host.invalid/"],
        "cannot resolve no-such-host.invalid",
    );
    check(&["ftp://a/"], "expected http");
    check(&[&up, "--save", "kept"], "write --save=kept");
    check(&[&up, "-d", "{}"], "-d is the duration, as in wrk");
    check(
        &[&up, "-t", "30s"],
        "for a limit on the time to the answer write --timeout",
    );
    check(&[&up, "-R", "100", "--users", "3"], "cannot be used with");
    check(
        &[&up, "--arrivals", "uniform"],
        "requires --rate or --stages",
    );
    check(
        &[&up, "--user", "50"],
        "for a number of users write --users",
    );
    check(&[&up, "--body", "x", "--data", "y"], "cannot be used with");
    check(
        &[&up, "--body", "@nowhere"],
        "cannot read the body in nowhere",
    );
    check(&[&up, "--records", "nowhere.lp"], "nowhere.lp");
    check(
        &[&up, "--threshold", "respons_time.p99 < 5ms"],
        "did you mean \"response_time.p99\"?",
    );
    check(
        &[&up, "--threshold", "p99"],
        "such as response_time.p99 < 50ms",
    );
    check(
        &[&up, "--csv", "no/such/folder.csv"],
        "cannot write no/such/folder.csv",
    );
    check(
        &[&up, "--stages", "1s:5.5", "--users", "9"],
        "5.5 is not a number of users",
    );
    check(&[&up, "--pin=4000"], "not allowed to use CPU 4000");
    check(
        &[&up, "-p", "2", "--disable-keepalive"],
        "cannot be used with --pipelining",
    );
    assert_eq!(server.stop(), 0, "nothing was to be started");
}

#[test]
fn conflicting_flags_are_refused() {
    let workspace = Workspace::new();
    let server = server(ANSWER);
    let up = server.address().to_string();
    let check = |flags: &[&str], expected: &str| refuses(&workspace, flags, expected);
    check(
        &[&up, "-n", "9", "--warm-up", "1s"],
        "-n also counts the requests of --warm-up",
    );
    check(&[&up, "--stages", "0s:100"], "the stages take 0");
    check(
        &[&up, "--search", "users", "-c", "9"],
        "--connections has no effect on users",
    );
    check(
        &[&up, "--search", "users", "-p", "9"],
        "--pipelining has no effect on users",
    );
    check(&[&up, "--search", "rate", "--no-live"], "has no live view");
    check(&[&up, "-s", "x.lua"], "write --scenario FILE");
    check(&["-s", "x.lua", &up], "write --scenario FILE");
    check(&[&up, &up], "expected one URL");
    check(&[&up, "--csv", "-"], "expected a file");
    std::fs::write(workspace.path().join("keep.csv"), "kept").unwrap();
    let both = ["--csv", "keep.csv", "--hdr"];
    check(
        &[&[&*up][..], &both, &["./keep.csv"]].concat(),
        "name the same file",
    );
    check(
        &[&[&*up][..], &both, &["no/such"]].concat(),
        "cannot write no/such",
    );
    let kept = std::fs::read_to_string(workspace.path().join("keep.csv")).unwrap();
    assert_eq!(kept, "kept");
    assert_eq!(server.stop(), 0, "nothing was to be started");
}

#[test]
fn ctrl_c_ends_with_the_result_so_far() {
    let workspace = Workspace::new();
    let server = server(ANSWER);
    let url = server.address().to_string();
    let mut child = workspace
        .waggle(&[
            "load",
            &url,
            "-c",
            "2",
            "-d",
            "1h",
            "--interval",
            "100ms",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // After several rows the load is still running.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..5 {
        lines.next().unwrap().unwrap();
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    // Keeps a reader of the progress until the end.
    lines.by_ref().for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", output_text(&output));
    let result = load_result(&output);
    assert_eq!(result["interrupted"], true);
    assert!(number(&result, "/seconds") >= 0.3, "{result}");
    adds_up(&result, server.stop());
}

/// The heads and bodies that a server received and answered with 200.
fn heads(flags: &[&str]) -> Vec<String> {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("body.txt"), "a=1\r\nb=2").unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let server = Server::start(move |request| {
        notes
            .lock()
            .unwrap()
            .push(request.head.clone() + request.text());
        Reply::Answer(ANSWER.to_vec())
    });
    let port = server.address.port().to_string();
    let flags: Vec<String> = flags
        .iter()
        .map(|flag| flag.replace("PORT", &port))
        .collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let base = ["load", "-c", "1", "-n", "1", "--quiet", "--json"];
    load_result(&workspace.output(&[&base, &flags[..]].concat()));
    seen.lock().unwrap().clone()
}

#[test]
fn requests_match_the_flags() {
    let check = |flags: &[&str], expected: &str| {
        let whole: String = heads(flags).concat();
        assert_eq!(whole, expected.replace('\n', "\r\n"));
    };
    check(
        &[
            "me:pw@localhost:PORT/a?b=c",
            "--connect-to",
            "localhost::127.0.0.1:",
            "-H",
            "Host: else",
            "-H",
            "X-A: b",
            "-H",
            "User-Agent:",
            "-H",
            "X-B;",
        ],
        "GET /a?b=c HTTP/1.1\nHost: else\nX-A: b\nX-B: \nAuthorization: Basic bWU6cHc=\n\n",
    );
    check(
        &[
            "example.test/",
            "--connect-to",
            "::127.0.0.1:PORT",
            "-X",
            "PUT",
            "--body",
            "xy",
            "-T",
            "text/x",
        ],
        "PUT / HTTP/1.1\nHost: example.test\nContent-Type: text/x\nContent-Length: 2\n\nxy",
    );
}

#[test]
fn bodies_equal_those_of_curl() {
    let check = |flags: &[&str], expected: &str| {
        let whole: String = heads(flags).concat();
        assert_eq!(whole, expected.replace('\n', "\r\n"));
    };
    check(
        &[
            "example.test/",
            "--connect-to",
            "::127.0.0.1:PORT",
            "--data-raw",
            "@body.txt",
            "-H",
            "Content-Type:",
            "--timeout",
            "9",
        ],
        "POST / HTTP/1.1\nHost: example.test\nContent-Length: 9\n\n@body.txt",
    );
    check(
        &[
            "example.test/",
            "--connect-to",
            "::127.0.0.1:PORT",
            "--data",
            "@body.txt",
        ],
        "POST / HTTP/1.1\nHost: example.test\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 6\n\na=1b=2",
    );
    check(
        &[
            "example.test/",
            "--connect-to",
            "::127.0.0.1:PORT",
            "-D",
            "body.txt",
            "--disable-keepalive",
        ],
        "POST / HTTP/1.1\nHost: example.test\nConnection: close\nContent-Length: 8\n\na=1\nb=2",
    );
}
