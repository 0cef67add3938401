//! What a study asks, how often it tries a cell, and what it expects of it.

use waggle_spec::ExpectedVerdict;
use waggle_study::read_study;

use super::{STUDY, accepted::read_valid_study, source, system};

#[test]
fn a_row_can_have_a_name_and_an_expected_verdict() {
    let (from, to) = STUDY.split_once("factors:\n").expect("it has factors");
    let (_, rest) = to.split_once("load:").expect("it has a load");
    let rows = "expect_verdict: unsteady\ncells:
  - { name: few, connections: 5, pipelining: 2 }
  - { pipelining: 3, connections: 1, expect_verdict: instrument-limited }
";
    let text = source("study.yaml", format!("{from}{rows}load:{rest}"));
    let study = read_study(&text, &system()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(study.factors, ["connections", "pipelining"]);
    assert_eq!(study.expect_verdict, Some(ExpectedVerdict::Unsteady));
    let labels: Vec<_> = study
        .cells
        .iter()
        .map(|cell| (cell.short_name.as_deref(), cell.expect_verdict))
        .collect();
    let limited = Some(ExpectedVerdict::InstrumentLimited);
    assert_eq!(labels, [(Some("few"), None), (None, limited)]);
}

#[test]
fn a_cell_has_its_fewest_and_its_most_trials() {
    let check = |text: &str, min: u32, max: u32, width: f64| {
        let study = read_valid_study(&[("  repeat: 3\n", text)]);
        let settings = (study.repeat, study.repeat_max, study.max_ci_width);
        assert_eq!(settings, (min, max, width), "{text}");
    };
    check("", 3, 8, 0.2);
    check("  repeat: 4\n", 4, 4, 0.2);
    check("  repeat: { max_ci_width: 10% }\n", 3, 8, 0.1);
    check("  repeat: { min: 5 }\n", 5, 8, 0.2);
    check("  repeat: { min: 10 }\n", 10, 10, 0.2);
    check("  repeat: { max: 2 }\n", 2, 2, 0.2);
    check("  repeat: { max: 20 }\n", 3, 20, 0.2);
    check(
        "  repeat: { min: 3, max: 3, max_duration: 5m }\n",
        3,
        3,
        0.2,
    );
}

#[test]
fn a_study_says_what_it_asks() {
    assert_eq!(read_valid_study(&[]).asks, Vec::<Vec<String>>::new());
    let asks = "asks: [order.goodput, delivery.store.delay.p99]\nthresholds:";
    let study = read_valid_study(&[("thresholds:", asks)]);
    let paths: Vec<_> = study.asks.iter().map(|path| path.join(".")).collect();
    assert_eq!(paths, ["order.goodput", "delivery.store.delay.p99"]);
}
