//! `waggle load` with pipes instead of files; a pipe can be read only once.

use std::{
    io::Write,
    process::{Output, Stdio},
    sync::{Arc, Mutex},
};

use waggle_testkit::http::{Reply, Server, ok};

use crate::{
    exit_codes::load_result,
    workspace::{Workspace, output_text},
};

/// Runs a load with this standard input; returns the bodies that the server received.
fn bodies(workspace: &Workspace, flags: &[&str], input: &[u8]) -> (Output, Vec<Vec<u8>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let server = Server::start(move |request| {
        noted.lock().unwrap().push(request.body.clone());
        Reply::Answer(ok(""))
    });
    let url = format!("http://{}/", server.address);
    let base = ["load", &url, "-n", "4", "-c", "1", "--json"];
    let mut load = workspace.waggle(&[&base[..], flags].concat());
    let load = load.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut load = load.stderr(Stdio::piped()).spawn().unwrap();
    load.stdin.take().unwrap().write_all(input).unwrap();
    let output = load.wait_with_output().unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (output, seen)
}

#[test]
fn a_body_from_a_pipe_is_sent_whole() {
    let check = |flags: &[&str], body: &[u8]| {
        let (output, bodies) = bodies(&Workspace::new(), flags, body);
        let result = load_result(&output);
        assert_eq!(result["settings"]["body_bytes"], body.len(), "{flags:?}");
        assert_eq!(bodies.len(), 4, "{flags:?}");
        assert!(bodies.iter().all(|seen| seen == body), "{flags:?}");
    };
    let binary: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0] | 128).collect();
    for body in [&b"short"[..], &binary] {
        check(&["--data-binary", "@/dev/stdin"], body);
        check(&["--body", "@/dev/stdin"], body);
        check(&["-D", "/dev/stdin"], body);
    }
}

#[test]
fn records_from_a_pipe_are_sent_and_kept() {
    let workspace = Workspace::new();
    let flags = ["--records", "/dev/stdin", "--records-format", "csv"];
    let columns = ["--records-measurement", "m", "--records-time", "when"];
    let (output, bodies) = bodies(
        &workspace,
        &[&flags[..], &columns, &["--save=kept"]].concat(),
        b"when,x\n1,2\n",
    );
    assert_eq!(load_result(&output)["settings"]["records_per_request"], 1);
    assert_eq!(bodies.len(), 4);
    let text = String::from_utf8_lossy(&bodies[0]).into_owned();
    assert!(text.starts_with("m") && text.contains("x=2"), "{text}");
    let output = workspace.output(&["plan", "kept/study.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let records = std::fs::read(workspace.path().join("kept/records")).unwrap();
    assert_eq!(records, b"when,x\n1,2\n");
}
