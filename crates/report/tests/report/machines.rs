//! Results for other programs: `report.json` by its schema, thresholds and verdicts as JUnit, and the summary of a job.

#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::Value;
use waggle_analysis::{Conclusion, Model};
use waggle_report::{junit, report_json, report_schema, summary};

use crate::{golden::check, seeded::Seeded, seeded_model};

fn json(model: &Model) -> Value {
    let json = serde_json::from_str(&report_json(model)).unwrap();
    let validator = jsonschema::validator_for(&report_schema().to_value()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    json
}

#[test]
fn json_has_the_form_of_its_schema_and_the_numbers_of_the_model() {
    for seeded in [
        Seeded::ingest(),
        Seeded::pipeline(),
        Seeded::search(),
        Seeded::shopping_study(),
        Seeded::hostile(),
    ] {
        let model = seeded_model(&seeded);
        let value = json(&model);
        assert_eq!(value["cells"].as_array().unwrap().len(), model.cells.len());
        assert_eq!(
            value["trials"].as_array().unwrap().len(),
            model.trials.len()
        );
        let code = match model.conclusion(false) {
            Conclusion::Answered => 0,
            Conclusion::Failed => 3,
            Conclusion::Open => 4,
            Conclusion::TrialFailed => 5,
        };
        assert_eq!(value["exit_code"], code);
        for (cell, value) in model.cells.iter().zip(value["cells"].as_array().unwrap()) {
            let goodput = cell.goodput.map(|goodput| goodput.point);
            assert_eq!(value["metrics"]["goodput_per_s"]["point"].as_f64(), goodput);
        }
    }
}

#[test]
fn a_small_run_in_full() {
    let model = seeded_model(&Seeded::plain(&[("connections", &["1"])], 2));
    check(&report_json(&model), "single.json");
}

#[test]
fn thresholds_and_verdicts_are_test_cases() {
    let model = seeded_model(&Seeded::ingest());
    let text = junit(&model);
    let document = roxmltree::Document::parse(&text).unwrap();
    let count = |name: &str| {
        let nodes = document.descendants();
        nodes.filter(|node| node.has_tag_name(name)).count()
    };
    let ran = model.cells.iter().filter(|cell| cell.verdict.is_some());
    let cases = model.thresholds.len() * model.cells.len() + ran.count();
    assert_eq!(count("testcase"), cases);
    assert_eq!(model.conclusion(false), Conclusion::TrialFailed);
    let suite = document.root_element();
    for (attribute, name) in [("failures", "failure"), ("errors", "error")] {
        let counted = suite.attribute(attribute).unwrap();
        assert_eq!(counted, count(name).to_string(), "{name}");
        assert!(count(name) > 0, "{name}");
    }
    check(&text, "ingest.junit.xml");
}

#[test]
fn the_summary_is_short() {
    let model = seeded_model(&Seeded::ingest());
    check(&summary(&model), "ingest.summary.md");
}

/// As continuous integration shows it: red if the exit code is not 0.
#[test]
fn junit_is_red_exactly_if_the_run_is_not_answered() {
    for seeded in [
        Seeded::ingest(),
        Seeded::pipeline(),
        Seeded::search(),
        Seeded::shopping_study(),
        Seeded::with_kill(),
        Seeded::hostile(),
        Seeded::plain(&[("connections", &["1"])], 3),
    ] {
        let model = seeded_model(&seeded);
        let text = junit(&model);
        let is_red = text.contains("<failure") || text.contains("<error");
        let is_answered = model.conclusion(false) == Conclusion::Answered;
        assert_eq!(is_red, !is_answered, "{}", model.info.question);
    }
}
