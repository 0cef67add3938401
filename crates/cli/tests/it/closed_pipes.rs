//! Readers that close their pipe before the end, as `| head -1` does: no command fails or loses results.

use std::process::Stdio;

use serde_json::Value;
use waggle_load::NullServer;

use crate::workspace::{Parts, Workspace, output_text};

/// No request succeeds, so the exit code is 4 on any machine.
const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// A stream without a reader.
fn unread() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn progress_without_a_reader_loses_nothing() {
    let workspace = Workspace::new();
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let url = server.address().to_string();
    let flags = ["load", &url, "-c", "2", "-d", "3s", "--interval", "50ms"];
    let output = workspace
        .waggle(&[&flags[..], &["--json"]].concat())
        .stderr(unread())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", output_text(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["failed"].as_u64().unwrap() > 0, "{result}");
    let status = workspace
        .waggle(&flags)
        .stderr(unread())
        .stdout(unread())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(5));
}

#[test]
fn every_command_ends_quietly_without_a_reader() {
    let workspace = Workspace::new();
    workspace.study(&Parts::default());
    let check = |arguments: &[&str], code: i32| {
        let output = workspace
            .waggle(arguments)
            .stdout(unread())
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?} {}",
            output_text(&output)
        );
        assert!(
            output.stderr.is_empty(),
            "{arguments:?} {}",
            output_text(&output)
        );
        let status = workspace
            .waggle(arguments)
            .stdout(unread())
            .stderr(unread())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    };
    check(&["plan", "study.yaml"], 0);
    check(&["schema", "load"], 0);
    check(&["init", "http://127.0.0.1:1/", "--output", "-"], 0);
    // The exit code of an error does not depend on the reader.
    let status = workspace
        .waggle(&["plan", "nowhere.yaml"])
        .stderr(unread())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}
