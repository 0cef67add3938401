//! Walks over the pages of a list: their durations in results, tables, report and conditions.

use std::fs;

use waggle_analysis::Model;
use waggle_results::FailureKind;
use waggle_spec::TimeKind;
use waggle_testkit::http::{Reply, Request, Server, answer, ok};

use crate::workspace::Workspace;

const PAGES: usize = 3;

/// The number of the page that a request asks for.
fn page(request: &Request) -> usize {
    let line = request.head.lines().next().unwrap();
    let (_, after) = line.split_once("page=").unwrap();
    let digits = after.split(' ').next().unwrap();
    digits.parse().unwrap_or(0)
}

/// A page with the number of the next one; the last one has `null`.
fn page_answer(page: usize) -> Reply {
    let next = match page + 1 < PAGES {
        true => (page + 1).to_string(),
        false => "null".to_owned(),
    };
    Reply::Answer(ok(&format!("{{\"next\": {next}, \"items\": [{page}]}}")))
}

/// Walks over the pages of a server; returns the model, the table and the report.
fn run(reply: fn(usize) -> Reply, keys: &str) -> (Model, String, String) {
    let server = Server::start(move |request| reply(page(request)));
    let text = format!(
        "study: walks\nquestion: How long is a walk?\nsystem: {{ url: 'http://{}' }}\n\
         load:\n  model: closed\n  connections: 1\n  scenario:\n    name: pages\n    flows:\n      - name: walk\n        steps:\n          \
         - while: next\n{keys}            steps:\n              \
         - {{ name: page, get: '/items?page={{{{next}}}}', capture: {{ next: {{ json: $.next, optional: true }} }} }}\n\
         schedule: {{ warm_up: 0s, measure: {{ requests: 60, timeout: 60s }}, repeat: 1, interval: 100ms }}\n\
         asks: [sessions.duration.p50]\n\
         thresholds: ['sessions.failed == 0', 'sessions.duration.max < 60s']\n",
        server.address
    );
    let workspace = Workspace::new();
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let read = |name: &str| fs::read_to_string(workspace.run_folder().join(name)).unwrap();
    (model, read("tables.csv"), read("report.md"))
}

#[test]
fn a_study_times_walks_as_wholes() {
    let (model, table, report) = run(page_answer, "");
    let numbers = model.trials[0].numbers.as_ref().unwrap();
    let sessions = numbers.sessions.unwrap();
    assert_eq!(sessions.failed, 0);
    let duration = numbers.times[TimeKind::Session].as_ref().unwrap();
    assert_eq!(duration.count, sessions.completed);
    // The load ends after a number of requests, in the middle of a walk or after it.
    let walks = numbers.steps[0].counts.succeeded.div_ceil(PAGES as u64);
    assert!(walks.abs_diff(sessions.completed) <= 1, "{numbers:?}");
    let page = numbers.times[TimeKind::Response].as_ref().unwrap();
    assert!(duration.mean_us >= page.mean_us, "{numbers:?}");
    let head = table.lines().next().unwrap();
    let columns = ["session_duration_p50_us", "session_duration_max_us"];
    for column in columns {
        assert!(head.split(',').any(|name| name == column), "{head}");
    }
    assert!(report.contains("Duration of sessions p50"), "{report}");
    assert!(report.contains("sessions.duration.max < 60s"), "{report}");
}

#[test]
fn a_walk_that_does_not_end_is_a_failed_session() {
    let endless = |_| Reply::Answer(ok("{\"next\": 0}"));
    let (model, _, report) = run(endless, "            max_rounds: 4\n");
    let numbers = model.trials[0].numbers.as_ref().unwrap();
    let sessions = numbers.sessions.unwrap();
    assert_eq!((sessions.completed, numbers.counts.failed), (0, 0));
    assert!(sessions.failed > 0);
    assert_eq!(numbers.times[TimeKind::Session], None);
    let kinds: Vec<FailureKind> = numbers
        .counts
        .other_failures
        .iter()
        .map(|failure| failure.kind)
        .collect();
    assert_eq!(kinds, [FailureKind::TooManyRounds]);
    assert!(report.contains("too many rounds"), "{report}");
}

/// As an API server answers whose token for the next page is too old.
#[test]
fn a_token_that_has_expired_fails_its_walk() {
    let expired = |page| match page {
        0 => page_answer(0),
        _ => Reply::Answer(answer(410, "", "{\"reason\": \"Expired\"}")),
    };
    let server = Server::start(move |request| expired(page(request)));
    let workspace = Workspace::new();
    let study = format!(
        "study: walks\nquestion: How long is a walk?\nsystem: {{ url: 'http://{}', smoke_test: false }}\n\
         load:\n  model: closed\n  connections: 1\n  scenario:\n    name: pages\n    flows:\n      - name: walk\n        steps:\n          \
         - while: next\n            steps:\n              \
         - {{ name: page, get: '/items?page={{{{next}}}}', capture: {{ next: {{ json: $.next, optional: true }} }} }}\n\
         schedule: {{ warm_up: 0s, measure: {{ requests: 20, timeout: 60s }}, repeat: 1, interval: 100ms }}\n",
        server.address
    );
    fs::write(workspace.path().join("study.yaml"), study).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let numbers = model.trials[0].numbers.as_ref().unwrap();
    let kinds: Vec<FailureKind> = numbers
        .counts
        .failures
        .iter()
        .map(|failure| failure.kind)
        .collect();
    assert_eq!(kinds, [FailureKind::Status(410)]);
    assert_eq!(numbers.sessions.unwrap().completed, 0);
}
