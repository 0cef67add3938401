//! Histories in every format, from a seeded run that is repeated with other values.

#![expect(clippy::unwrap_used, reason = "tests")]

use waggle_analysis::{
    Model,
    history::{
        HistoryError, HistoryModel, HistoryOutcome, HistorySettings, HostScope, NamedRun,
        UnreadableRun, history,
    },
};
use waggle_report::{
    history_html, history_json, history_junit, history_markdown, history_schema, history_terminal,
    wording::history::error,
};
use waggle_results::{LeftOutInfo, LeftOutReason};

use crate::{
    golden::check,
    seeded::{Seeded, Wrong},
    seeded_model,
};

const SETTINGS: HistorySettings = HistorySettings {
    min_change: 0.02,
    metrics: Vec::new(),
    hosts: HostScope::Each,
};

/// Runs of the same study, two a day. The goodput of each cell is multiplied by what `factor` says of the run and the cell, both
/// from 0, and scatters by a hundredth.
fn runs(template: &Model, count: usize, factor: impl Fn(usize, usize) -> f64) -> Vec<NamedRun> {
    let run = |index: usize| {
        let mut model = template.clone();
        for trial in &mut model.trials {
            let cell = usize::try_from(trial.info.key.cell - 1).unwrap();
            if let Some(numbers) = &mut trial.numbers {
                numbers.goodput_per_s *= factor(index, cell) * scatter(index, cell);
            }
        }
        model.info.started_utc = format!(
            "2026-02-{:02}T{:02}:00:00Z",
            1 + index / 2,
            6 + 12 * (index % 2)
        );
        NamedRun {
            name: format!("run-{:02}", index + 1),
            model,
        }
    };
    (0..count).map(run).collect()
}

/// Like noise, and the same everywhere.
fn scatter(run: usize, cell: usize) -> f64 {
    let place = u32::try_from(run * 7 + cell * 13 + run * run * 3).unwrap();
    1.0 + 0.01 * (f64::from(place % 11) / 5.0 - 1.0)
}

fn template(connections: &[&str]) -> Model {
    seeded_model(&Seeded::plain(&[("connections", connections)], 3))
}

/// A gateway over three weeks: one cell became worse and came back, one became better, one is worse with a new version, one changed
/// with the kernel; two runs are on a slow host.
fn eventful() -> HistoryModel {
    let slow = [5, 13];
    let factor = |run: usize, cell: usize| {
        let base = match cell {
            0 if (9..15).contains(&run) => 0.9,
            1 if run >= 12 => 1.1,
            2 if run >= 17 => 0.95,
            3 if run >= 22 => 0.8,
            _ => 1.0,
        };
        base * if slow.contains(&run) { 0.5 } else { 1.0 }
    };
    let mut all = runs(&template(&["1", "10", "50", "100"]), 28, factor);
    for (index, run) in all.iter_mut().enumerate() {
        let info = &mut run.model.info;
        if slow.contains(&index) {
            info.host.name = "slow".to_owned();
        }
        if index >= 17 {
            info.components[0].version = "gateway 0.2.0".to_owned();
        }
        if index >= 22 {
            info.host.kernel = "6.99".to_owned();
        }
        if index >= 25 {
            let text = &run.model.study_text;
            run.model.study_text = text.replace("study: ingest", "study: ingest # changed");
        }
    }
    all[3].model.cells[0].ran = 2;
    let mut model = history(all, &SETTINGS).unwrap();
    model.unreadable = vec![UnreadableRun {
        name: "run-00".to_owned(),
        why: "run.json: format 99 is newer than this waggle".to_owned(),
    }];
    model
}

#[test]
fn a_cell_that_the_newest_run_left_out_has_the_reason() {
    let mut all = runs(&template(&["1", "10"]), 8, |_, _| 1.0);
    let newest = &mut all[7].model;
    let cell = newest.info.cells.pop().unwrap();
    newest.cells.pop();
    newest.info.left_out = vec![LeftOutInfo {
        cell,
        reason: LeftOutReason::FetchFailed {
            artifact: "broker".to_owned(),
            version: "2.0".to_owned(),
            why: "the registry is not reached".to_owned(),
            failed_utc: "2026-01-02T03:04:05Z".to_owned(),
        },
    }];
    let model = history(all, &SETTINGS).unwrap();
    assert_eq!((model.cells.len(), model.former_cells.len()), (1, 1));
    let text = history_markdown(&model, "0.1.0");
    let sentence = "The newest run left out connections=10: broker 2.0 could not be fetched at 2026-01-02T03:04:05Z: the registry is not reached.";
    assert!(text.contains(sentence), "{text}");
}

/// Ten runs of one cell, with a change at the sixth.
fn short(factor: f64) -> Vec<NamedRun> {
    runs(
        &template(&["10"]),
        10,
        |run, _| if run >= 5 { factor } else { 1.0 },
    )
}

#[test]
fn every_format_says_the_same() {
    let model = eventful();
    assert_eq!(model.outcome(), HistoryOutcome::Worse);
    check(&history_markdown(&model, "0.1.0"), "history.md");
    check(
        &format!("{}\n", history_terminal(&model, None)),
        "history.terminal.txt",
    );
    check(&history_junit(&model), "history.junit.xml");
    let page = history_html(&model, "0.1.0");
    let count = |part: &str| page.matches(part).count();
    for badge in ["badge worse", "badge better", "badge undecided"] {
        assert!(count(badge) > 0, "{badge}");
    }
    assert_eq!(count("class=\"chart timeline\""), 4);
    // Four cells of 28 runs.
    assert_eq!(count("<circle"), 4 * 28);
    assert_eq!(count("<g class=\"change "), 5);
    assert_eq!(count("class=\"host\""), 4 * 2);
    assert!(count("<polygon") > 0 && count("<script") == 0);
}

#[test]
fn each_outcome_has_its_answer() {
    let check_outcome = |runs: Vec<NamedRun>, outcome: HistoryOutcome, name: &str| {
        let model = history(runs, &SETTINGS).unwrap();
        assert_eq!(model.outcome(), outcome, "{name}");
        let text = format!(
            "{}\n\n{}\n{}",
            history_terminal(&model, None),
            history_markdown(&model, "0.1.0"),
            history_junit(&model)
        );
        check(&text, name);
    };
    check_outcome(
        short(1.0),
        HistoryOutcome::NoChange,
        "history-no-change.txt",
    );
    check_outcome(short(1.2), HistoryOutcome::Better, "history-better.txt");
    check_outcome(short(0.8), HistoryOutcome::Worse, "history-worse.txt");
    let mut undecided = short(0.8);
    for run in &mut undecided[5..] {
        run.model.info.host.kernel = "6.99".to_owned();
    }
    check_outcome(
        undecided,
        HistoryOutcome::Undecided,
        "history-undecided.txt",
    );
}

#[test]
fn json_has_the_form_of_its_schema() {
    let validator = jsonschema::validator_for(&history_schema().to_value()).unwrap();
    for model in [eventful(), history(short(0.8), &SETTINGS).unwrap()] {
        let json: serde_json::Value = serde_json::from_str(&history_json(&model)).unwrap();
        let errors = validator.iter_errors(&json);
        let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(json["outcome"], "worse");
    }
    let model = history(short(0.8), &SETTINGS).unwrap();
    check(&history_json(&model), "history.json");
}

#[test]
fn a_move_to_another_host_is_said() {
    let mut all = short(1.0);
    for run in &mut all[4..] {
        run.model.info.host.name = "bench-2".to_owned();
    }
    let text = history_terminal(&history(all, &SETTINGS).unwrap(), None);
    let expected = "At run-05 (2026-02-03 06:00) the host changed from bench-1 to bench-2: their levels are not compared.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn hostile_names_stay_text() {
    let mut template = seeded_model(&Seeded::hostile());
    template.cells.truncate(2);
    let mut all = runs(&template, 6, |_, _| 1.0);
    all[2].model.info.host.name = "</title><script>".to_owned();
    let page = history_html(&history(all, &SETTINGS).unwrap(), "0.1.0");
    assert!(!page.contains("<script"));
}

#[test]
fn what_has_no_value_in_some_runs_is_left_out_of_them() {
    let mut seeded = Seeded::plain(&[("connections", &["1", "10"])], 2);
    seeded.wrong = vec![(2, Wrong::Fails)];
    seeded.ran = Some(3);
    let model = history(runs(&seeded_model(&seeded), 5, |_, _| 1.0), &SETTINGS).unwrap();
    assert!(
        history_terminal(&model, None)
            .contains("Not all trials of run-01, run-02, run-03 and 2 more")
    );
    assert_eq!(model.outcome(), HistoryOutcome::NoChange);
}

#[test]
fn what_is_no_history_has_a_sentence() {
    let message = |runs: Vec<NamedRun>| error(&history(runs, &SETTINGS).unwrap_err());
    let few = message(short(1.0)[..2].to_vec());
    assert!(
        few.contains("needs 3 runs of a cell, and there are 2"),
        "{few}"
    );
    let mut hosts = short(1.0);
    for (index, run) in hosts.iter_mut().enumerate() {
        run.model.info.host.name = format!("runner-{index}");
    }
    let hosts = message(hosts);
    assert!(
        hosts.contains("give --all-hosts if the hosts of the 10 runs are alike"),
        "{hosts}"
    );
    let search = runs(&seeded_model(&Seeded::search()), 4, |_, _| 1.0);
    let search = message(search);
    assert!(search.contains("searches for a level"), "{search}");
    let error = history(Vec::new(), &SETTINGS).unwrap_err();
    assert!(matches!(error, HistoryError::TooFewRuns { all: 0, .. }));
}
