//! Servers that fail while they answer, or that are not who they should be: each is a row with its reason, or a sentence with
//! what helps.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
};

use waggle_analysis::Model;
use waggle_results::FailureKind;
use waggle_testkit::{
    http::{Reply, Server, answer, ok},
    tls::{Authority, server_config},
};

use crate::{
    exit_codes,
    workspace::{Workspace, output_text},
};

const NO_FAILURE: &str = "thresholds: ['list.failed == 0']";

/// A study of lists by `system`, with these keys beside its requests; files beside it are PEM.
fn run(system: &str, thresholds: &str, files: &[(&str, &str)]) -> (Workspace, String, Option<i32>) {
    let text = format!(
        "study: lists\nquestion: What breaks?\nsystem: {system}\n\
         load:\n  model: closed\n  connections: 1\n  request:\n    name: list\n    get: /list\n    inspect: {{ count: $.items }}\n    \
         timeout: 2s\n\
         schedule: {{ warm_up: 0s, measure: {{ requests: 10, timeout: 60s }}, repeat: 1, interval: 100ms, ready_timeout: 10s }}\n\
         {thresholds}\n"
    );
    let workspace = Workspace::new();
    let write = |name: &str, text: &str| fs::write(workspace.path().join(name), text).unwrap();
    write("study.yaml", &text);
    for (name, text) in files {
        write(name, text);
    }
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let code = ran.status.code();
    (workspace, output_text(&ran), code)
}

/// The failures of the only trial. The exit code of the run, which is not 0, is that of what is read of it later.
fn failures(server: &Server, thresholds: &str) -> (Model, Vec<FailureKind>) {
    let system = format!("{{ url: 'http://{}', smoke_test: false }}", server.address);
    let (workspace, text, code) = run(&system, thresholds, &[]);
    assert_ne!(code, Some(0), "{text}");
    let model = workspace.model();
    assert_eq!(code, Some(exit_codes::run_code(&model)), "{text}");
    let numbers = model.trials[0].numbers.as_ref();
    let numbers = numbers.unwrap_or_else(|| panic!("{text}"));
    let kinds = numbers
        .counts
        .failures
        .iter()
        .map(|failure| failure.kind)
        .collect();
    (model, kinds)
}

const CUT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"items\":[";

#[test]
fn an_answer_that_is_cut_short_is_a_failure() {
    let server = Server::start(|_| Reply::Cut(CUT.to_vec()));
    let (model, kinds) = failures(&server, NO_FAILURE);
    assert_eq!(exit_codes::run_code(&model), 3);
    assert_eq!(kinds, [FailureKind::Reset]);
}

#[test]
fn what_is_not_compressed_as_it_says_is_a_failure() {
    let zipped = |body: &str| answer(200, "Content-Encoding: gzip\r\n", body);
    let server = Server::start(move |_| Reply::Answer(zipped("{\"items\":[]}")));
    let (model, kinds) = failures(&server, NO_FAILURE);
    assert_eq!(exit_codes::run_code(&model), 3);
    assert_eq!(kinds, [FailureKind::InvalidEncoding]);
}

/// What was asked has no answer, and more trials would not help: as `waggle load` says it.
#[test]
fn a_run_without_a_success_has_the_exit_code_of_a_failed_trial() {
    let server = Server::start(|_| Reply::Answer(answer(503, "", "later")));
    for thresholds in ["", "thresholds: ['list.response_time.p99 < 1s']"] {
        let (model, kinds) = failures(&server, thresholds);
        assert_eq!(exit_codes::run_code(&model), 5, "{thresholds}");
        assert_eq!(kinds, [FailureKind::Status(503)], "{thresholds}");
    }
}

/// From the fifth answer on the server is gone.
#[test]
fn a_server_that_dies_while_it_answers_is_a_row() {
    let asked = AtomicU64::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0..4 => Reply::Answer(ok("{\"items\":[1]}")),
        _ => Reply::Abort,
    });
    let (model, kinds) = failures(&server, NO_FAILURE);
    assert_eq!(kinds, [FailureKind::Reset]);
    let numbers = model.trials[0].numbers.as_ref().unwrap();
    assert_eq!(numbers.counts.succeeded, 4);
    assert_eq!(numbers.counts.inspected.unwrap().items, Some(4));
}

fn check_refusal(system: &str, files: &[(&str, &str)], parts: &[&str]) {
    let (_, text, code) = run(system, NO_FAILURE, files);
    assert_eq!(code, Some(5), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_server_of_another_authority_is_refused_with_what_helps() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let server = Server::start_secure(ours.server(), |_| Reply::Answer(ok("{\"items\":[]}")));
    let port = server.address.port();
    let system = format!("{{ url: 'https://localhost:{port}', tls: {{ ca: ca.pem }} }}");
    let parts = [
        "handshake unknown issuer",
        "name the authority that signed it",
    ];
    check_refusal(&system, &[("ca.pem", &other.pem)], &parts);
}

#[test]
fn a_server_with_an_expired_certificate_is_refused_with_what_helps() {
    let authority = Authority::new("ours");
    let expired = server_config(&authority.sign("localhost", 2020), None);
    let server = Server::start_secure(expired, |_| Reply::Answer(ok("{\"items\":[]}")));
    let port = server.address.port();
    let system = format!("{{ url: 'https://localhost:{port}', tls: {{ ca: ca.pem }} }}");
    let parts = ["handshake expired", "it needs a new certificate"];
    check_refusal(&system, &[("ca.pem", &authority.pem)], &parts);
}

#[test]
fn who_may_not_ask_is_told_what_for() {
    let body = "{\"kind\":\"Status\",\"message\":\"secrets is forbidden\"}";
    let server = Server::start(move |_| Reply::Answer(answer(403, "", body)));
    let system = format!("{{ url: 'http://{}' }}", server.address);
    check_refusal(&system, &[], &["1 × status 403"]);
}
