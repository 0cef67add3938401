//! A scenario from its file to the report, against a shop that counts its answers.

use std::{collections::BTreeMap, fs};

use waggle_analysis::StepModel;
use waggle_results::{Run, Trial};
use waggle_stats::Verdict;

use crate::workspace::{Workspace, output_text};

const STUDY: &str = r#"study: shopping
question: Does every step do what it says?
system: { use: shop }
load:
  model: users
  users: 4
  think_time: 2ms
  scenario: { file: scenario.yaml }
schedule:
  warm_up: 500ms
  measure: 2s
  interval: 250ms
  sampling_interval: 250ms
  repeat: 1
thresholds:
  - order.failed == 0
  - stock.failed > 0
  - shopping.goodput > 1/s
  - sessions.completed > 0
  - login.response_time.p99 < 10s
"#;

const SCENARIO: &str = r#"name: shopping
feeds:
  - { name: customers, file: customers.csv, order: per_user }
  - { name: towns, order: random, rows: [{ code: 53111 }, { code: 89073 }] }
flows:
  - name: buy
    weight: 3
    steps:
      - name: login
        post: /login
        body: "{{customers.name}}:{{customers.password}}"
        check:
          - { json: $.token, equals: "t-{{customers.name}}" }
        capture:
          token: { json: $.token }
          page: { regex: '"page":(\d+)' }
          name: { cookie: customer }
      - think_time: 1ms
      - repeat: 2
        steps:
          - name: orders
            get: /orders?page={{page}}
            headers: { Authorization: "Bearer {{token}}" }
            capture:
              id: { json: "$.orders[1].id" }
          - name: order
            get: /orders/{{id}}
            headers: { Authorization: "Bearer {{token}}" }
            check:
              - { json: $.of, equals: "{{name}}" }
              - { part: body, contains: "{{customers.name}}-2" }
  - name: look
    steps:
      - name: stock
        get: /stock/{{towns.code}}
        headers: { X-Request: "{{random.uuid}}" }
"#;

/// Counts of answers by the shop, by step and status.
fn books(trial: &Trial) -> BTreeMap<(String, u16), u64> {
    let mut books = BTreeMap::new();
    for entry in fs::read_dir(trial.path.join("logs")).unwrap() {
        for line in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            if let Some((name, status)) = line.split_once(' ')
                && let Ok(status) = status.parse()
            {
                *books.entry((name.to_owned(), status)).or_default() += 1;
            }
        }
    }
    books
}

#[test]
fn counts_of_each_step_match_the_shop() {
    let workspace = Workspace::new();
    workspace.system("shop");
    let write = |name: &str, text: &str| fs::write(workspace.path().join(name), text).unwrap();
    write("study.yaml", STUDY);
    write("scenario.yaml", SCENARIO);
    let customers: String = (0..6).map(|n| format!("c{n},pw-c{n}\n")).collect();
    write("customers.csv", &format!("name,password\n{customers}"));
    let output = workspace.output(&["run", "study.yaml", "--quiet"]);
    workspace.report_of(&output);
    assert!(
        output_text(&output).contains("stock"),
        "{}",
        output_text(&output)
    );

    let run = Run::read(&workspace.run_folder()).unwrap();
    let trial = &run.trials[0];
    let books = books(trial);
    let booked = |name: &str, status: u16| {
        let key = (name.to_owned(), status);
        books.get(&key).copied().unwrap_or(0)
    };
    let names: Vec<&str> = trial
        .info
        .steps
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    assert_eq!(names, ["login", "orders", "order", "stock"]);
    for step in &trial.info.steps {
        let totals = &step.totals;
        assert!(totals.sent > 0, "{step:?}");
        assert_eq!(
            totals.succeeded,
            booked(&step.name, 200),
            "{step:?}\n{books:?}"
        );
        let refused = booked(&step.name, 403) + booked(&step.name, 404);
        let failed = booked(&step.name, 503) + refused;
        assert_eq!(totals.failed, failed, "{step:?}\n{books:?}");
    }
    assert!(booked("stock", 503) > 0);
    assert_eq!(booked("unknown", 404), 0);
    let sum: u64 = trial.info.steps.iter().map(|step| step.totals.sent).sum();
    assert_eq!(sum, trial.info.totals.sent);
    let sessions = trial.info.sessions.as_ref().unwrap().totals;
    assert_eq!(sessions.failed, booked("stock", 503));
    let completed = booked("stock", 200) + booked("order", 200) / 2;
    // A session that the end of the load cut off is neither completed nor failed.
    let difference = completed.abs_diff(sessions.completed);
    assert!(difference <= 4, "{sessions:?}\n{books:?}");

    let model = waggle_analysis::model(&run);
    let trial = &model.trials[0];
    assert!(trial.verdict < Verdict::Inconsistent, "{:?}", trial.reasons);
    let named = |step: &&StepModel| step.name == "orders";
    let orders = model.cells[0].steps.iter().find(named).unwrap();
    assert!(orders.goodput.is_some() && !orders.spectrum.is_empty());
    for threshold in &model.thresholds {
        let seen = &threshold.cells[0];
        assert!(seen.observed.is_some(), "{threshold:?}");
        let judged = seen.reason.is_some() || seen.held == waggle_analysis::Decision::Holds;
        assert!(judged, "{threshold:?}");
    }
    let page = fs::read_to_string(workspace.run_folder().join("report.html")).unwrap();
    assert!(page.contains("id=\"steps\""));
}

#[test]
fn mistake_in_a_scenario_file_names_the_file() {
    let workspace = Workspace::new();
    workspace.system("shop");
    let write = |name: &str, text: &str| fs::write(workspace.path().join(name), text).unwrap();
    write("study.yaml", STUDY);
    write("scenario.yaml", &SCENARIO.replace("{{page}}", "{{pag}}"));
    write("customers.csv", "name,pasword\na,b\nc,d\ne,f\ng,h\n");
    let output = workspace.output(&["plan", "study.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let text = output_text(&output);
    assert!(
        text.contains("scenario.yaml:22:18: there is no variable \"pag\""),
        "{text}"
    );
    assert!(
        text.contains("feed customers has no column \"password\""),
        "{text}"
    );
}
