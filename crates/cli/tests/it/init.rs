//! `waggle init`: what it writes is a study that runs against the server it came from, and holds no secret.

use std::fs;

use waggle_load::NullServer;

use crate::desk::{Desk, shown};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: s=1\r\n\r\nok";

/// Writes the source, makes a study of it and runs that once; gives the study's text.
fn made_and_run(source: &str, arguments: &[&str]) -> String {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let desk = Desk::new();
    let source = source.replace("SERVER", &server.address().to_string());
    fs::write(desk.path().join("source"), source).unwrap();
    let made = desk.output(&[&["init", "-o", "made.yaml"], arguments].concat());
    assert_eq!(made.status.code(), Some(0), "{}", shown(&made));
    let mut command = desk.waggle(&["run", "made.yaml", "--quick", "--quiet"]);
    let ran = command
        .env("AUTHORIZATION", "sesame")
        .env("X_API_KEY", "sesame")
        .output()
        .unwrap();
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{}", shown(&ran));
    let model = desk.model();
    assert!(
        model.trials.iter().all(|trial| trial.failure.is_none()),
        "{}",
        shown(&ran)
    );
    let succeeded: u64 = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref())
        .map(|numbers| numbers.succeeded)
        .sum();
    let answered = server.stop();
    assert!(
        succeeded > 0 && answered > succeeded,
        "{answered} {succeeded}"
    );
    for file in walk(&desk.run_folder()) {
        let text = fs::read(&file).unwrap();
        let leaked = text.windows(6).any(|window| window == b"sesame");
        assert!(!leaked, "a secret stands in {}", file.display());
    }
    fs::read_to_string(desk.path().join("made.yaml")).unwrap()
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_curl_command_becomes_a_study_that_runs() {
    let text = made_and_run(
        "curl -X POST 'http://SERVER/orders?token=hidden' -H 'Authorization: Bearer hidden' \\\n  \
         --json '{\"name\": \"${x} {{y}}\", \"password\": \"hidden\"}'\n",
        &["--from", "curl", "source"],
    );
    assert!(!text.contains("hidden"), "{text}");
    assert!(text.contains("Bearer ${env.AUTHORIZATION}"), "{text}");
}

#[test]
fn a_har_becomes_a_session_that_runs() {
    let text = made_and_run(
        r#"{"log":{"entries":[
        {"startedDateTime":"2026-01-02T03:04:05Z","time":10,"response":{"status":200},"request":{"method":"POST",
         "url":"http://SERVER/login","headers":[{"name":"Cookie","value":"s=hidden"}],
         "postData":{"mimeType":"application/x-www-form-urlencoded","text":"user=a&password=hidden"}}},
        {"startedDateTime":"2026-01-02T03:04:05.3Z","time":10,"response":{"status":200},
         "request":{"method":"GET","url":"http://SERVER/orders?q={{x}}","headers":[{"name":"X-Api-Key","value":"hidden"}]}}
        ]}}"#,
        &["--from", "har", "source"],
    );
    assert!(!text.contains("hidden"), "{text}");
    assert!(text.contains("think: 290ms"), "{text}");
}

#[test]
fn an_openapi_document_becomes_flows_that_run() {
    let text = made_and_run(
        "openapi: 3.1.0\nservers: [{ url: 'http://SERVER' }]\npaths:\n  /a: { get: { responses: { 200: {} } } }\n  \
         /b: { post: { requestBody: { content: { text/plain: { example: hello } } }, responses: {} } }\n",
        &["--from", "openapi", "--include-writes", "source"],
    );
    assert!(
        text.contains("name: get-a") && text.contains("name: post-b"),
        "{text}"
    );
}

#[test]
fn a_file_is_not_replaced_and_mistakes_are_the_users() {
    let desk = Desk::new();
    let check = |arguments: &[&str], code: i32, says: &str| {
        let output = desk.output(arguments);
        assert_eq!(output.status.code(), Some(code), "{}", shown(&output));
        assert!(shown(&output).contains(says), "{says}: {}", shown(&output));
    };
    let url = "http://127.0.0.1:1/x";
    check(&["init", url, "-o", "made.yaml"], 0, "waggle run made.yaml");
    check(
        &["init", url, "-o", "made.yaml"],
        2,
        "made.yaml exists; --force",
    );
    check(&["init", url, "-o", "made.yaml", "--force"], 0, "made.yaml");
    check(&["plan", "made.yaml"], 0, "http://127.0.0.1:1");
    check(&["init", "ftp://h"], 2, "expected http or https");
    check(&["init", "--from", "har", "none.har"], 2, "none.har");
    fs::write(desk.path().join("bad"), "curl 'http://h").unwrap();
    check(&["init", "--from", "curl", "bad"], 2, "not closed");
    check(&["init", url, "-o", "-"], 0, "model: closed");
}

/// Nobody listens, or a variable is missing: said before or as a failed trial, never a hang.
#[test]
fn a_server_that_is_away_fails_the_trial() {
    let desk = Desk::new();
    let made = desk.output(&["init", "http://127.0.0.1:1/", "-o", "made.yaml"]);
    assert_eq!(made.status.code(), Some(0), "{}", shown(&made));
    let text = fs::read_to_string(desk.path().join("made.yaml")).unwrap();
    let short = text.replace("schedule:\n", "schedule:\n  ready: { at_most: 1s }\n");
    fs::write(desk.path().join("made.yaml"), short).unwrap();
    let ran = desk.output(&["run", "made.yaml", "--quick", "--quiet"]);
    assert_eq!(ran.status.code(), Some(4), "{}", shown(&ran));
    let failure = desk.model().trials.swap_remove(0).failure.unwrap();
    assert!(
        failure
            .reason
            .contains("http://127.0.0.1:1 cannot be reached"),
        "{failure:?}"
    );
}
