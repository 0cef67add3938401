//! Loads beside the measured one, on a real server: what is sent, what is measured, and what the plan and the report say of them.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use waggle_analysis::Decision;
use waggle_testkit::http::{Reply, Server};

use crate::workspace::{Workspace, output_text};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// Requests by path.
#[derive(Default)]
struct Counted {
    gets: AtomicU64,
    lists: AtomicU64,
    changes: AtomicU64,
    closing: AtomicU64,
}

/// A server that counts, and answers changes with 503.
fn server(counted: &Arc<Counted>) -> Server {
    let counted = Arc::clone(counted);
    Server::start(move |request| {
        let (count, answer) = match &*request.path {
            "/one" => (&counted.gets, OK),
            "/all?limit=10" | "/all?limit=20" => (&counted.lists, OK),
            "/one/change" => (&counted.changes, BUSY),
            other => panic!("nothing asks for {other}"),
        };
        count.fetch_add(1, Ordering::SeqCst);
        let closes = request.header("connection") == Some("close");
        counted
            .closing
            .fetch_add(u64::from(closes), Ordering::SeqCst);
        Reply::Answer(answer.to_vec())
    })
}

fn study(server: &Server, listers: &str, generators: u32) -> String {
    format!(
        "study: beside\nquestion: How long do gets take while others list?\n\
         system: {{ url: 'http://{}', smoke_test: false }}\n\
         factors: {{ listers: {listers} }}\n\
         load: {{ model: open, rate: 100/s, generators: {generators}, request: {{ name: get, get: /one }} }}\n\
         background:\n\
         \x20 - name: lists\n    connections: ${{listers}}\n    request:\n      \
         get: '/all?limit={{{{page.size}}}}'\n      feeds: [{{ name: page, rows: [{{ size: 10 }}, {{ size: 20 }}] }}]\n\
         \x20 - {{ name: changes, rate: 50/s, keep_alive: false, request: {{ put: /one/change, body: new }} }}\n\
         schedule: {{ repeat: 1, warm_up: 500ms, measure: 1s, interval: 100ms }}\n\
         thresholds: ['background.lists.error_rate < 1%', 'background.changes.failed >= 1', 'background.changes.goodput < 1/s']\n",
        server.address
    )
}

fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::SeqCst)
}

#[test]
fn background_loads_run_beside_the_measured_load_and_have_metrics() {
    let counted = Arc::default();
    let server = server(&counted);
    let workspace = Workspace::new();
    let text = study(&server, "[0, 2]", 1);
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let planned = output_text(&workspace.output(&["plan", "study.yaml"]));
    for line in [
        "beside the load lists: connections 2; absent in 1 of 2 cells",
        "beside the load changes: rate 50/s",
    ] {
        assert!(planned.contains(line), "{planned}");
    }
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let mut listed = 0;
    for trial in &model.trials {
        assert_eq!(trial.failure, None, "{}", output_text(&ran));
        let (changes, lists) = trial.side_loads.split_last().unwrap();
        let changes = &changes.info;
        assert_eq!((&*changes.name, changes.counts.succeeded), ("changes", 0));
        assert!(changes.counts.failed > 0);
        assert_eq!(changes.response_time, None);
        let Some(lists) = lists.first() else {
            assert_eq!(trial.info.key.cell, 1);
            assert_eq!(trial.info.absent_loads, ["lists"]);
            continue;
        };
        assert_eq!((trial.info.key.cell, lists.info.counts.failed), (2, 0));
        assert_eq!(lists.info.generator.connections_asked, 2);
        assert!(lists.response.is_some() && lists.service.is_some());
        listed += lists.info.counts.succeeded;
        // The measured load does not count what runs beside it.
        let numbers = trial.numbers.as_ref().unwrap();
        assert_eq!(numbers.counts.failed, 0);
    }
    // Those of the warm-up and of the end are more.
    assert!((1..=count(&counted.lists)).contains(&listed), "{listed}");
    assert_eq!(count(&counted.closing), count(&counted.changes));
    assert!(count(&counted.gets) > 0 && count(&counted.changes) > 0);
    // On a busy machine a value may be doubtful; a load that is absent leaves nothing open.
    let mut thresholds = model.thresholds.iter();
    let fails = thresholds.any(|threshold| threshold.held == Decision::Fails);
    assert!(!fails, "{:?}", model.thresholds);
    assert_eq!(model.thresholds[0].cells[0].held, Decision::Holds);
    let report = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    assert!(report.contains("## Background loads"), "{report}");
    assert!(report.contains("| lists | 2 connections |"), "{report}");
    let table = fs::read_to_string(workspace.run_folder().join("tables.csv")).unwrap();
    assert!(table.contains("lists.background_goodput_per_s"), "{table}");
}

#[test]
fn background_loads_run_beside_several_generators() {
    let counted = Arc::default();
    let server = server(&counted);
    let workspace = Workspace::new();
    let text = study(&server, "[1]", 2);
    fs::write(workspace.path().join("study.yaml"), text).unwrap();
    let ran = workspace.output(&["run", "study.yaml", "--quiet"]);
    let model = workspace.report_of(&ran);
    let trial = &model.trials[0];
    assert_eq!(trial.failure, None, "{}", output_text(&ran));
    assert!(trial.info.absent_loads.is_empty() && trial.side_loads.len() == 2);
    assert!(count(&counted.lists) > 0 && count(&counted.gets) > 0);
}
