//! Delivery accounting for records in scenario steps, with a server that loses, denies or does not answer orders.

use std::fs;

use waggle_analysis::{Model, TrialRemark};
use waggle_results::{LedgerInfo, Run, Trial};
use waggle_stats::{AccountingFinding, Verdict};

use crate::{
    shipped_studies::fields,
    workspace::{Workspace, output_text},
};

const STUDY: &str = r#"study: orders
question: Does every order that was accepted exist in the store?
system: { use: orders, set: { fault: three } }
load:
  model: users
  users: 4
  think_time: 1ms
  scenario:
    name: ordering
    flows:
      - name: order
        steps:
          - name: look
            get: /stock
          - name: order
            post: /orders
            headers: { X-Sent: "{{record.time}}" }
            body: '{"run":"{{record.run}}","key":{{record.key}},"time":{{record.time}}}'
            expect: { status: 201 }
            check:
              - { json: $.key, equals: "{{record.key}}" }
            capture:
              id: { json: $.id }
          - name: read
            get: /orders/{{id}}
schedule:
  warm_up: 500ms
  measure: 2s
  interval: 250ms
  sampling_interval: 250ms
  drain: { timeout: 10s }
  repeat: 1
delivery: { probes: [by_time, as_csv, by_offset], poll_interval: 50ms }
thresholds:
  - delivery.unknown <= 1
  - delivery.unknown_delivered <= 1
  - delivery.rejected_delivered <= 1
  - delivery.unexpected == 0
"#;

/// Runs the study once.
fn run_once(study: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.system("orders");
    fs::write(workspace.path().join("study.yaml"), study).unwrap();
    workspace.run();
    workspace
}

/// The accounts at all probes, which agree.
fn ledgers(trial: &Trial) -> Vec<LedgerInfo> {
    let before = trial
        .info
        .intermediate_probes
        .iter()
        .map(|place| &place.ledger);
    before.chain(&trial.info.ledger).cloned().collect()
}

/// The key of the lost order, from the log of the server.
fn forgotten_key(trial: &Trial) -> u64 {
    let logs = fs::read_dir(trial.path.join("logs")).unwrap();
    let texts = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap());
    let all: String = texts.collect();
    let (_, key) = all.split_once("forgotten ").unwrap();
    key.lines().next().unwrap().parse().unwrap()
}

#[test]
fn lost_denied_and_unanswered_records_are_found_by_key() {
    let workspace = run_once(STUDY);
    let run = Run::read(&workspace.run_folder()).unwrap();
    let trial = &run.trials[0];
    let ledgers = ledgers(trial);
    assert_eq!(ledgers.len(), 3);
    for ledger in &ledgers {
        // Only requests with a record are in the account.
        let [look, order, _] = &trial.info.steps[..] else {
            panic!("{:?}", trial.info.steps)
        };
        assert!(look.totals.sent > 0);
        assert_eq!(ledger.sent, order.totals.sent);
        assert_eq!(ledger.accepted, order.totals.succeeded);
        assert_eq!(
            ledger.sent,
            ledger.accepted + ledger.rejected + ledger.unknown
        );
        assert_eq!(ledger.accepted, ledger.delivered + ledger.missing);
        assert_eq!(ledger.missing_keys, [forgotten_key(trial)], "{ledger:?}");
        assert_eq!((ledger.missing, ledger.duplicates), (1, 0), "{ledger:?}");
        assert_eq!((ledger.rejected, ledger.rejected_delivered), (1, 1));
        assert_eq!((ledger.unknown, ledger.unknown_delivered), (1, 1));
        assert_eq!(ledger.unexpected, 1, "{ledger:?}");
    }
    assert_eq!(trial.info.totals.records_succeeded, ledgers[0].accepted);
    check_report(&workspace, &waggle_analysis::model(&run));
}

fn check_report(workspace: &Workspace, model: &Model) {
    let trial = &model.trials[0];
    let has = |verdict| trial.reasons.iter().any(|reason| reason.verdict == verdict);
    assert!(has(Verdict::Incomplete), "{:?}", trial.reasons);
    assert!(!has(Verdict::Inconsistent), "{:?}", trial.reasons);
    let kept = AccountingFinding::RejectedDelivered {
        kept: 1,
        rejected: 1,
    };
    let remark = TrialRemark::Found(kept.into());
    assert!(trial.remarks.contains(&remark), "{:?}", trial.remarks);
    for threshold in &model.thresholds {
        assert!(threshold.cells[0].observed.is_some(), "{threshold:?}");
    }
    let table = fs::read_to_string(workspace.run_folder().join("tables.csv")).unwrap();
    let mut rows = table.lines().map(fields);
    let (heads, row) = (rows.next().unwrap(), rows.next().unwrap());
    for (head, expected) in [
        ("records_unknown", "1"),
        ("records_unknown_delivered", "1"),
        ("records_rejected_delivered", "1"),
        ("records_unexpected", "1"),
    ] {
        let place = heads.iter().position(|known| *known == head).unwrap();
        assert_eq!(row[place], expected, "{head}");
    }
    let page = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    let sentence = "; 1 records without a clear answer, of which 1 were delivered; 1 rejected records were delivered";
    assert!(page.contains(sentence), "{page}");
}

#[test]
fn store_without_faults_is_complete() {
    let workspace = run_once(&STUDY.replace("set: { fault: three }", "set: { fault: none }"));
    let run = Run::read(&workspace.run_folder()).unwrap();
    for ledger in ledgers(&run.trials[0]) {
        assert!(ledger.sent > 0);
        assert_eq!(
            (ledger.accepted, ledger.delivered, ledger.unexpected),
            (ledger.sent, ledger.sent, 0),
            "{ledger:?}"
        );
    }
}

#[test]
fn delivery_needs_a_step_that_carries_a_record() {
    let workspace = Workspace::new();
    workspace.system("orders");
    let study = STUDY
        .replace("\"key\":{{record.key}},", "\"key\":1,")
        .replace(
            "            check:\n              - { json: $.key, equals: \"{{record.key}}\" }\n",
            "",
        );
    fs::write(workspace.path().join("study.yaml"), study).unwrap();
    let output = workspace.output(&["plan", "study.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let text = output_text(&output);
    assert!(
        text.contains("delivery follows records, but no step of the scenario carries one"),
        "{text}"
    );
}
