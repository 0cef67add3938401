//! By which metrics trials are the best and the worst of their cell, and every mistake.

use std::path::Path;

use waggle_spec::BestAndWorst;
use waggle_study::read_study;

use super::{
    STUDY, accepted::read_valid_study, change_text, mistakes::answered_table, source, system,
};

const ASKED: &str = "best_and_worst:
  order: [order.succeeded, lowest machine.cpu_idle, order.response_time.p50]
  rows: pipelining
  failures: order.failed
  successes:
    metric: order.succeeded
    of: [order.succeeded, order.failed]
thresholds:";

fn text() -> String {
    change_text(STUDY, &[("thresholds:", ASKED)])
}

fn read(changes: &[(&str, &str)]) -> BestAndWorst {
    let mut all = vec![("thresholds:", ASKED)];
    all.extend(changes);
    let asked = read_valid_study(&all).best_and_worst;
    asked.expect("the study asks for it")
}

#[test]
fn each_metric_has_its_better_end() {
    let asked = read(&[]);
    let order: Vec<_> = asked
        .order
        .iter()
        .map(|criterion| (criterion.metric.join("."), criterion.is_lowest_best))
        .collect();
    let expected = [
        ("order.succeeded", false),
        ("machine.cpu_idle", true),
        ("order.response_time.p50", true),
    ];
    assert_eq!(
        order,
        expected.map(|(path, is_lowest)| (path.to_owned(), is_lowest))
    );
    let metrics: Vec<String> = asked
        .successes
        .iter()
        .flat_map(|criterion| &criterion.of)
        .map(|path| path.join("."))
        .collect();
    assert_eq!(metrics, ["order.succeeded", "order.failed"]);
}

#[test]
fn the_first_factor_makes_the_rows() {
    let check = |from: &str, to: &str, expected: &[&str]| {
        assert_eq!(read(&[(from, to)]).rows, expected, "{to:?}");
    };
    check("  rows: pipelining\n", "", &["connections"]);
    check(
        "rows: pipelining",
        "rows: [workers, connections]",
        &["workers", "connections"],
    );
    assert_eq!(read_valid_study(&[]).best_and_worst, None);
}

#[test]
fn every_mistake_of_best_and_worst() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/best-and-worst-mistakes.txt");
    let answer = |text: String| read_study(&source("study.yaml", text), &system()).err();
    answered_table(&path, &text(), &answer);
}
