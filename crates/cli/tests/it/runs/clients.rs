//! A load of clients: what became of each, in results, tables and report.

use std::fs;

use waggle_results::{ClientEndInfo, FailureKind};
use waggle_testkit::http::{Reply, Server};

use crate::workspace::{Workspace, output_text};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Three clients, each with two requests on each of four connections.
fn study(server: &Server, keep_alive: bool) -> String {
    format!(
        "study: clients\nquestion: How many clients come to their end?\nsystem: {{ url: 'http://{}', smoke_test: false }}\n\
         load:\n  model: clients\n  clients: 3\n  connections: 4\n  requests: 8\n  keep_alive: {keep_alive}\n  \
         request: {{ name: get, get: /random, timeout: 20s }}\n\
         schedule: {{ repeat: 1, interval: 100ms }}\n\
         thresholds: ['clients.failed == 0', 'clients.completed_requests >= 1']\n",
        server.address
    )
}

#[test]
fn a_client_that_meets_an_error_ends_early_and_has_no_result() {
    // The fourth request of all is cut; its client has others in flight or to send.
    let server = Server::start(|request| match request.number {
        3 => Reply::Cut(Vec::new()),
        _ => Reply::Answer(OK.to_vec()),
    });
    let workspace = Workspace::new();
    fs::write(workspace.path().join("study.yaml"), study(&server, true)).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let clients = model.cells[0]
        .clients
        .as_ref()
        .unwrap_or_else(|| panic!("{}", output_text(&ran)));
    assert_eq!((clients.clients, clients.finished), (3, 2));
    assert_eq!(clients.failed, [(FailureKind::Reset, 1)]);
    let numbers = model.trials[0].numbers.as_ref().unwrap();
    let failed = numbers
        .clients
        .iter()
        .filter(|client| client.end != ClientEndInfo::Finished);
    for client in failed {
        assert_eq!(client.end, ClientEndInfo::Failed(FailureKind::Reset));
        assert!(client.completed < 8, "{client:?}");
    }
    let report = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    assert!(report.contains("reset 1"), "{report}");
}

#[test]
fn clients_that_finish_have_a_rate() {
    let server = Server::start(|_| Reply::Answer(OK.to_vec()));
    let workspace = Workspace::new();
    fs::write(workspace.path().join("study.yaml"), study(&server, false)).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let clients = model.cells[0]
        .clients
        .as_ref()
        .unwrap_or_else(|| panic!("{}", output_text(&ran)));
    assert_eq!(
        (
            clients.finished,
            clients.completed_requests,
            clients.succeeded_requests
        ),
        (3, 24, 24)
    );
    assert!(clients.throughput.is_some());
    let planned = workspace.output(&["plan", "study.yaml"]);
    let planned = output_text(&planned);
    assert!(
        planned.contains("3 clients with 4 connections and 8 requests each"),
        "{planned}"
    );
}
