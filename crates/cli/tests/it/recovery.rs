//! A system that can do 40 requests a second gets 80, and then fewer: when it is well again, and what is said where it is not.

use std::fs;

use waggle_report::{Model, TrialModel};
use waggle_results::PhaseName;
use waggle_stats::{Recovery, Verdict};

use crate::desk::{Desk, Parts, shown};

const CAPACITY_PER_S: f64 = 40.0;

/// What a run has left: the model of its report, Markdown and the table of trials.
struct Left {
    model: Model,
    markdown: String,
    table: String,
}

/// Runs one trial whose load falls as is said. Intervals of a second, so that a machine that pauses makes none without answers.
fn overloaded(recovery: &str) -> Left {
    let desk = Desk::new();
    desk.study(&Parts {
        fault: "slots",
        load: "model: open, rate: 80/s, arrivals: uniform, connections: 64",
        ..Parts::default()
    });
    let study = desk.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let (measure, interval) = ("  measure: 3s\n", "  interval: 250ms\n");
    assert!(text.contains(measure) && text.contains(interval));
    let text = text
        .replace(measure, &format!("{measure}  recovery: {{ {recovery} }}\n"))
        .replace(interval, "  interval: 1s\n");
    fs::write(&study, text + "thresholds: [recovery < 12s]\n").unwrap();
    let output = desk.output(&["run", "study.yaml", "--quiet"]);
    desk.assert_none_left();
    // Overload is what the study is about, and a trial may not be believed all the same.
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    let read = |name: &str| fs::read_to_string(desk.run_folder().join(name)).unwrap();
    Left {
        model: desk.model(),
        markdown: read("report.md"),
        table: read("tables.csv"),
    }
}

/// The one trial: overloaded while it was measured, with nothing in its numbers of what came behind that.
fn only(left: &Left) -> &TrialModel {
    let trial = &left.model.trials[0];
    let reasons = &trial.reasons;
    assert!(
        reasons.iter().any(|one| one.verdict == Verdict::Overloaded),
        "{reasons:?}"
    );
    let numbers = trial.numbers.as_ref().unwrap();
    assert!(
        (numbers.seconds - 3.0).abs() < 0.1 && numbers.goodput_per_s < 1.25 * CAPACITY_PER_S,
        "{numbers:?}"
    );
    let ledger = trial.ledger.as_ref().unwrap();
    assert_eq!((ledger.missing, ledger.delivered), (0, ledger.accepted));
    assert!(ledger.accepted > numbers.succeeded);
    trial
}

/// The last three columns of the only row, which are those of recovery.
fn columns(table: &str) -> [&str; 3] {
    let mut lines = table.lines();
    let heads = lines.next().unwrap();
    assert!(
        heads.ends_with(",recovered,recovery_s,recovery_looked_for_s"),
        "{heads}"
    );
    let mut last = lines.next().unwrap().rsplitn(4, ',');
    let [looked_for, after, recovered] = std::array::from_fn(|_| last.next().unwrap());
    [recovered, after, looked_for]
}

#[test]
fn it_is_well_again_when_what_had_piled_up_is_done() {
    let left = overloaded("rate: 10/s, p99: 3s, at_most: 12s");
    let trial = only(&left);
    let phase = |name| trial.phases.iter().find(|phase| phase.phase == name);
    let (measure, recovery) = (phase(PhaseName::Measure), phase(PhaseName::Recovery));
    let (measure, recovery) = (measure.unwrap(), recovery.unwrap());
    assert_eq!(measure.end_s, recovery.start_s);
    assert!(
        (recovery.end_s - recovery.start_s - 12.0).abs() < 0.1,
        "{recovery:?}"
    );
    let shown = trial.recovery.unwrap();
    // 160 requests have piled up by then, of which 40 are done in each second while 10 come.
    let Recovery::After(after_s) = shown.outcome else {
        panic!("{shown:?}");
    };
    assert!(after_s >= 1.0, "{shown:?}");
    assert_eq!(columns(&left.table), ["true", &format!("{after_s}"), "12"]);
    assert!(left.markdown.contains("## Recovery"), "{}", left.markdown);
    assert!(left.markdown.contains("1 of 1"), "{}", left.markdown);
    // On a machine so busy that the generator was the limit no threshold counts.
    if left.model.cells[0].verdict == Some(Verdict::Overloaded) {
        let threshold = &left.model.thresholds[0];
        assert_eq!(threshold.holds, after_s < 12.0, "{threshold:?}");
    }
}

#[test]
fn what_was_never_well_again_has_no_time() {
    let left = overloaded("rate: 60/s, p99: 2s, at_most: 4s");
    let shown = only(&left).recovery.unwrap();
    assert_eq!(shown.outcome, Recovery::NotWithin(4.0));
    assert_eq!(left.model.cells[0].recovery.as_ref().unwrap().after, None);
    assert_eq!(columns(&left.table), ["false", "", "4"]);
    assert!(left.markdown.contains("&gt; 4 s"), "{}", left.markdown);
    assert!(!left.model.thresholds[0].holds);
}
