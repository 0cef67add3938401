//! Comparisons in every format, from seeded runs of which one is changed.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::slice::from_ref;

use waggle_analysis::{
    Model,
    compare::{CompareModel, CompareSettings, Judgement, NamedRuns, Outcomes, compare},
};
use waggle_report::{
    compare_html, compare_json, compare_junit, compare_markdown, compare_schema, compare_terminal,
};
use waggle_results::{LeftOutInfo, LeftOutReason};

use crate::{
    golden::check,
    seeded::{Seeded, Wrong},
    seeded_model,
};

/// However narrow the terminal is, the ratios with their intervals and the judgements stay.
fn check_widths(comparison: &CompareModel) {
    let whole = compare_terminal(comparison, None);
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.contains('×'));
        rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let ratios = |text: &str| -> Vec<String> {
        let rows = rows(text).into_iter();
        rows.filter_map(|row| {
            let position = row.find('×')?;
            Some(row[position..].chars().take(16).collect())
        })
        .collect()
    };
    let [first, second] = comparison.sides.each_ref().map(|side| &side.name);
    for width in [80, 100, 120, 160] {
        let text = compare_terminal(comparison, Some(width));
        assert!(
            text.contains(&format!("{second} ÷ {first}")),
            "{width}: {text}"
        );
        assert!(text.contains("judgement"), "{width}: {text}");
        assert_eq!(ratios(&text), ratios(&whole), "{width}: {text}");
        let mut tables = text.lines().filter(|line| line.contains(['═', '─']));
        assert!(
            tables.all(|line| line.chars().count() <= width),
            "{width}: {text}"
        );
    }
    let narrow = compare_terminal(comparison, Some(80));
    assert!(
        narrow.contains("left out at this width: not valid"),
        "{narrow}"
    );
}

const SETTINGS: CompareSettings = CompareSettings {
    margin: 0.05,
    metrics: Vec::new(),
};

fn run() -> Model {
    let mut seeded = Seeded::plain(&[("connections", &["1", "10", "50", "100"])], 5);
    seeded.wrong = vec![(4, Wrong::Scatters)];
    seeded_model(&seeded)
}

/// The goodput of the first cells times these factors.
fn change_run(mut model: Model, factors: &[f64]) -> Model {
    for trial in &mut model.trials {
        let index = usize::try_from(trial.info.key.cell - 1).unwrap();
        if let (Some(numbers), Some(factor)) = (&mut trial.numbers, factors.get(index)) {
            numbers.goodput_per_s *= factor;
        }
    }
    model.info.host.kernel = "6.99".to_owned();
    model.info.started_utc = "2026-02-02T00:00:00Z".to_owned();
    model.study_text = model
        .study_text
        .replace("study: ingest", "study: ingest # changed");
    model
}

fn compare_runs(first: &Model, second: &Model) -> CompareModel {
    let sides = [("main", first), ("change", second)];
    let [first, second] = sides.map(|(name, run)| NamedRuns {
        name,
        runs: from_ref(run),
    });
    compare(first, second, &SETTINGS).unwrap()
}

#[test]
fn every_format_says_the_same() {
    let first = run();
    let comparison = compare_runs(&first, &change_run(first.clone(), &[0.7, 1.0, 1.4]));
    let judged: Vec<Judgement> = comparison.metrics[0]
        .cells
        .iter()
        .map(|pair| pair.judgement)
        .collect();
    assert!(
        matches!(
            judged[..],
            [
                Judgement::Worse,
                Judgement::Same,
                Judgement::Better,
                Judgement::Undecided(_)
            ]
        ),
        "{judged:?}"
    );
    assert_eq!(comparison.outcome(), Outcomes::Worse);
    check(&compare_markdown(&comparison, "0.1.0"), "compare.md");
    check(&compare_terminal(&comparison, None), "compare.terminal.txt");
    check_widths(&comparison);
    check(&compare_json(&comparison), "compare.json");
    check(&compare_junit(&comparison, None), "compare.junit.xml");
    let page = compare_html(&comparison, "0.1.0");
    for part in [
        "badge worse",
        "badge same",
        "badge better",
        "badge undecided",
        "class=\"whisker\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn each_outcome_has_its_answer() {
    let first = run();
    let outcome = |factors: &[f64]| {
        let mut second = change_run(first.clone(), factors);
        second.cells.truncate(3);
        let mut first = first.clone();
        first.cells.truncate(3);
        compare_runs(&first, &second).outcome()
    };
    assert_eq!(outcome(&[1.0, 1.0, 1.0]), Outcomes::Same);
    assert_eq!(outcome(&[1.0, 1.0, 1.4]), Outcomes::Better);
    assert_eq!(outcome(&[1.0, 0.7, 1.4]), Outcomes::Worse);
    assert_eq!(outcome(&[1.0, 1.05, 1.4]), Outcomes::Undecided);
}

#[test]
fn what_shows_no_difference_says_why() {
    let mut first = run();
    // One trial of each side: nothing has an interval.
    first.trials.retain(|trial| trial.info.key.repetition == 1);
    let comparison = compare_runs(&first, &change_run(first.clone(), &[0.7]));
    let text = compare_markdown(&comparison, "0.1.0");
    assert!(text.contains("Goodput is undecided in all 4 cells: a side has one trial."));
    assert!(text.contains("no difference is shown (a side has one trial)"));
    let page = compare_html(&comparison, "0.1.0");
    assert!(page.contains("<span class=\"sr\"> (a side has one trial)"));
}

#[test]
fn a_cell_that_one_side_left_out_is_missing_there_with_the_reason() {
    let first = run();
    let mut second = change_run(first.clone(), &[]);
    let left_out = second.info.cells.pop().unwrap();
    second.cells.pop();
    second.info.left_out = vec![LeftOutInfo {
        cell: left_out,
        reason: LeftOutReason::Requires {
            artifact: "broker".to_owned(),
            version: "2.0".to_owned(),
            programs: vec!["mix".to_owned()],
        },
    }];
    let comparison = compare_runs(&first, &second);
    assert_eq!(comparison.unmatched[0].len(), 1);
    assert_eq!(comparison.outcome(), Outcomes::Undecided);
    let sentence = "change left out connections=100: a fetch of broker 2.0 requires mix, which is not installed.";
    for text in [
        compare_markdown(&comparison, "0.1.0"),
        compare_html(&comparison, "0.1.0"),
        compare_json(&comparison),
    ] {
        assert!(text.contains(sentence), "{text}");
    }
    let other_way = compare_runs(&second, &first);
    assert_eq!(other_way.left_out_cells[0].len(), 1);
}

#[test]
fn json_has_the_form_of_its_schema() {
    let first = run();
    let comparison = compare_runs(&first, &change_run(first.clone(), &[0.7]));
    let json: serde_json::Value = serde_json::from_str(&compare_json(&comparison)).unwrap();
    let schema = compare_schema().to_value();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(json["cells"][0]["metrics"][0]["judgement"], "worse");
}

#[test]
fn junit_is_xml_whatever_a_study_is_called() {
    let mut first = seeded_model(&Seeded::hostile());
    first.cells.truncate(3);
    let comparison = compare_runs(&first, &first);
    let text = compare_junit(&comparison, None);
    let document = roxmltree::Document::parse(&text).unwrap();
    let cases = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    let count = cases.count();
    let suite = document.root_element();
    assert_eq!(suite.attribute("tests"), Some(count.to_string().as_str()));
    let open = |name: &str| {
        document
            .descendants()
            .filter(|node| node.has_tag_name(name))
            .count()
    };
    assert_eq!(
        suite.attribute("failures"),
        Some(open("failure").to_string().as_str())
    );
    assert_eq!(
        suite.attribute("errors"),
        Some(open("error").to_string().as_str())
    );
}

#[test]
fn searches_are_not_compared() {
    let run = seeded_model(&Seeded::search());
    let side = NamedRuns {
        name: "main",
        runs: from_ref(&run),
    };
    let failure = compare(side, side, &SETTINGS).unwrap_err();
    let text = waggle_report::wording::compare::error(&failure);
    assert!(text.contains("its answer is a bracket"), "{text}");
}
