//! Scaling laws of made-up studies: on the curves, in sentences, in tables and for other programs.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::{html, seeded::Seeded, seeded_model};
use waggle_analysis::{Law, Model};
use waggle_report::{markdown, report_json, report_schema, wording::laws};
use waggle_stats::LawGrowth;

fn one_factor() -> Model {
    let levels: &[&str] = &["1", "5", "10", "20", "50", "100"];
    seeded_model(&Seeded::plain(&[("connections", levels)], 5))
}

fn sentences(model: &Model) -> Vec<String> {
    let curves = model.curves.as_ref().unwrap();
    let charts = curves.charts.iter();
    charts
        .flat_map(|curve| laws::sentences(curves, curve))
        .collect()
}

#[test]
fn six_levels_have_laws_and_five_have_none() {
    let model = one_factor();
    let curves = model.curves.as_ref().unwrap();
    let law = |name: &str| {
        let chart = curves
            .charts
            .iter()
            .find(|candidate| candidate.name == name)
            .unwrap();
        chart
            .laws
            .fit()
            .iter()
            .map(|line| line.law.clone().unwrap())
            .next()
    };
    assert!(matches!(law("Goodput"), Some(Law::Universal(_))));
    let Some(Law::Power(time)) = law("Response time p50") else {
        panic!("a time has a power law");
    };
    assert_eq!(time.growth, LawGrowth::Linear);
    assert_eq!(
        law("System CPU per request").map(|law| law.holds()),
        Some(true)
    );
    let five: &[&str] = &["1", "5", "10", "20", "50"];
    let model = seeded_model(&Seeded::plain(&[("connections", five)], 3));
    assert!(sentences(&model).is_empty());
    assert!(!markdown(&model).contains("Scaling laws"));
}

#[test]
fn sentences_are_on_the_page_and_in_markdown() {
    let model = one_factor();
    let all = sentences(&model);
    assert!(all[0].starts_with(
        "Goodput has no peak within twice the range, up to connections 200: contention 0.015"
    ));
    assert!(all[1].starts_with("Response time p50 grows linearly: exponent "));
    // The page keeps intervals together.
    let page = html(&model).replace('\u{2060}', "").replace('\u{a0}', " ");
    let text = markdown(&model);
    for sentence in &all {
        assert!(
            page.contains(sentence) && text.contains(sentence),
            "{sentence}"
        );
    }
    assert!(text.contains("exponent k") && text.contains("contention α"));
    assert!(page.contains("\"band\":[["));
}

/// A service that breaks down at 200 users follows no law.
#[test]
fn a_law_that_does_not_hold_has_no_coefficients() {
    let model = seeded_model(&Seeded::transports());
    let all = sentences(&model);
    let broken = "Goodput, rest does not follow the Universal Scalability Law: at users ";
    assert!(all[0].starts_with(broken), "{all:?}");
    let curves = model.curves.as_ref().unwrap();
    let caution = laws::doubtful(curves).unwrap();
    assert!(caution.contains("Levels of users: rest: 300"), "{caution}");
    let json: serde_json::Value = serde_json::from_str(&report_json(&model)).unwrap();
    let validator = jsonschema::validator_for(&report_schema().to_value()).unwrap();
    assert!(validator.is_valid(&json));
    let laws = json["scaling_laws"].as_array().unwrap();
    let scaling_law = |line: &str| {
        let mut all = laws.iter();
        all.find(|law| law["metric"] == "goodput_per_s" && law["line"] == line)
            .unwrap()
    };
    assert_eq!(scaling_law("rest")["holds"], false);
    assert!(
        scaling_law("rest")["coefficients"]
            .as_object()
            .unwrap()
            .is_empty()
    );
    assert_eq!(scaling_law("rabbitmq")["law"], "universal_scalability");
    let contention = &scaling_law("rabbitmq")["coefficients"]["contention"];
    assert!(contention["low"].as_f64() < contention["point"].as_f64());
}
