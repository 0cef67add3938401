//! An external server: the smoke test before the load, and the server in the report.

use std::fs;

use waggle_load::NullServer;
use waggle_testkit::http::{Reply, Server, answer, ok};

use crate::workspace::{Workspace, output_text};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Runs sessions of two flows against a server that always answers 200; returns the failure of the trial, and the report.
fn run(rare_status: u16, last_status: u16) -> (Option<String>, String) {
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let workspace = Workspace::new();
    let text = format!(
        "study: sessions\nquestion: Is every step tried before it counts?\nsystem: {{ url: 'http://{}' }}\n\
         load:\n  model: users\n  users: 2\n  think_time: 0ms\n  scenario:\n    name: shop\n    flows:\n      \
         - name: often\n        weight: 1000\n        steps:\n          - {{ repeat: 200, steps: [{{ name: again, get: /a }}, {{ think_time: 50ms }}] }}\n          \
         - {{ name: last, get: /b, expect: {{ status: {last_status} }} }}\n      \
         - name: rarely\n        weight: 1\n        steps:\n          - {{ name: rare, get: /c, expect: {{ status: {rare_status} }} }}\n\
         schedule:\n  warm_up: 200ms\n  measure: 4s\n  interval: 100ms\n  repeat: 1\n",
        server.address()
    );
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let failure = model.trials[0].failure.as_ref();
    let failure = failure.map(|failure| failure.reason.clone());
    let report = fs::read_to_string(workspace.run_folder().join("report.md"));
    let _ = server.stop();
    (failure, report.unwrap_or_else(|_| output_text(&ran)))
}

#[test]
fn smoke_test_runs_every_flow_before_the_load() {
    let refused = |rare, last, step: &str| {
        let (failure, report) = run(rare, last);
        let failure = failure.unwrap_or_else(|| panic!("not refused: {report}"));
        assert!(failure.contains(step), "{failure}");
    };
    refused(201, 200, "step rare: 1 × status 200");
    refused(200, 201, "step last: 1 × status 200");
}

/// The limit that is named is that of the request, not that of the whole check.
#[test]
fn a_silent_server_is_told_with_the_time_that_was_waited() {
    let server = Server::start(|_| Reply::Silence);
    let check = |load: &str, expected: &str| {
        let workspace = Workspace::new();
        let text = format!(
            "study: s\nquestion: Does it answer?\nsystem: {{ url: 'http://{}' }}\nload:\n{load}\
             schedule: {{ warm_up: 1s, measure: 4s, interval: 200ms, repeat: 1 }}\n",
            server.address
        );
        fs::write(workspace.path().join("study.yaml"), text).unwrap();
        let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
        let said = output_text(&ran);
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(ran.status.code(), Some(5), "{said}");
    };
    check(
        "  model: closed\n  connections: 1\n  request: { name: ask, get: / }\n",
        "1 × timed out (no answer within 10 s)",
    );
    check(
        "  model: users\n  users: 1\n  scenario:\n    name: all\n    flows:\n      - name: one\n        steps:\n          \
         - { name: ask, get: /, timeout: 300ms }\n",
        "step ask: 1 × timed out (no answer within 0.3 s)",
    );
}

#[test]
fn a_refused_credential_is_named_without_its_value() {
    let answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), answer).unwrap();
    let workspace = Workspace::new();
    let text = format!(
        "study: s\nquestion: May it ask?\nsystem: {{ url: 'http://{}' }}\n\
         load:\n  model: closed\n  connections: 1\n  request: {{ name: ask, get: /, headers: {{ Authorization: 'Bearer ${{env.SHOP_TOKEN}}' }} }}\n\
         schedule: {{ warm_up: 1s, measure: 4s, interval: 200ms, repeat: 1 }}\n",
        server.address()
    );
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let check = |token: &str, expected: &str| {
        let mut command = workspace.waggle(&["run", "study.yaml", "--quiet"]);
        let output = command.env("SHOP_TOKEN", token).output().unwrap();
        let said = output_text(&output);
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(!said.contains("hush-hush"), "{said}");
    };
    check(
        "hush-hush-9",
        "1 × status 401; look at the value of ${env.SHOP_TOKEN}",
    );
    check("todo", "look at the value of ${env.SHOP_TOKEN}");
    check(
        "Bearer hush-hush-9",
        "study.yaml:7:59: the header Authorization has \"Bearer\" twice: before the value, and at the start of the environment variable \
         SHOP_TOKEN",
    );
    let _ = server.stop();
}

/// Only the variables of the step that was refused.
#[test]
fn a_refused_step_names_its_own_variables() {
    let server = Server::start(|request| {
        Reply::Answer(match request.path.as_str() {
            "/login" => answer(403, "", "no"),
            _ => ok(""),
        })
    });
    let workspace = Workspace::new();
    let text = format!(
        "study: s\nquestion: May it ask?\nsystem: {{ url: 'http://{}' }}\nload:\n  model: closed\n  connections: 1\n  scenario:\n    \
         name: all\n    on_failure: continue\n    flows:\n      - name: f\n        steps:\n          - {{ name: look, get: '/?k=${{env.KEY}}' }}\n          \
         - {{ name: login, post: /login, body: 'p=${{env.PASSWORD}}' }}\nschedule: {{ measure: 1s, repeat: 1 }}\n",
        server.address
    );
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let mut command = workspace.waggle(&["run", "study.yaml", "--quiet"]);
    let variables = [("KEY", "hush-key"), ("PASSWORD", "hush-word")];
    let said = output_text(&command.envs(variables).output().unwrap());
    let expected = "step login: 1 × status 403; look at the value of ${env.PASSWORD}.";
    assert!(said.contains(expected), "{expected}: {said}");
    assert!(!said.contains("hush-"), "{said}");
}

#[test]
fn report_states_only_known_properties_of_the_server() {
    let (failure, report) = run(200, 200);
    assert_eq!(failure, None, "{report}");
    assert!(report.contains("the server is external"), "{report}");
    for untrue in ["is restarted", "system on CPU", "disjoint"] {
        assert!(!report.contains(untrue), "{untrue}: {report}");
    }
    // The step `last` comes after 200 pauses, 10 s in total.
    assert!(report.contains("No session reached last"), "{report}");
}

#[test]
fn folder_that_cannot_be_written_names_its_flag() {
    let workspace = Workspace::new();
    let there = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "study: s\nquestion: Is it there?\nsystem: {{ url: 'http://{}' }}\n\
         load: {{ model: closed, connections: 1, request: {{ name: g, get: / }} }}\nschedule: {{ warm_up: 1s, measure: 1s }}\n",
        there.local_addr().unwrap()
    );
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    fs::write(workspace.path().join("file"), "").unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--runs", "file"]);
    let printed = output_text(&ran);
    assert_eq!(ran.status.code(), Some(2), "{printed}");
    for part in ["cannot create", "--runs FOLDER"] {
        assert!(printed.contains(part), "{printed}");
    }
}
