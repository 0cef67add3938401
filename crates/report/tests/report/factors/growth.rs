//! A change of exponent, crossings and pairs of a made-up study: in sentences, in tables and for other programs.

use crate::{seeded::Seeded, seeded_model};
use waggle_report::{
    html, markdown, report_json, report_schema,
    wording::{growth, laws},
};

#[test]
fn growth_from_an_empty_system() {
    let model = seeded_model(&Seeded::growth());
    let curves = model.curves.as_ref().unwrap();
    let time = curves
        .charts
        .iter()
        .find(|chart| chart.name == "Response time p50");
    let laws = laws::sentences(curves, time.unwrap());
    for (sentence, line) in laws.iter().zip(["kubernetes", "steve"]) {
        let start = format!("Response time p50, {line} is linear to objects 3");
        assert!(sentence.starts_with(&start), "{laws:?}");
        assert!(sentence.contains(", then exponent 1."), "{laws:?}");
    }
    let bounds = growth::bounds(curves);
    // The study's own bound, then its threshold.
    let crosses = |line: &str| format!("Response time p50, {line} crosses 20ms at objects ");
    assert!(bounds[0].starts_with(&crosses("kubernetes")), "{bounds:?}");
    assert!(bounds[1].starts_with(&crosses("steve")), "{bounds:?}");
    assert!(bounds[2].contains(" 500ms "), "{bounds:?}");
    let pairs = growth::pairs(curves);
    assert_eq!(pairs.len(), 1);
    assert!(pairs[0].contains("steve is down to 0.60×"), "{pairs:?}");
    assert!(
        pairs[0].contains("kubernetes is faster than steve from objects "),
        "{pairs:?}"
    );
    // The page keeps intervals together.
    let page = html(&model).replace('\u{2060}', "").replace('\u{a0}', " ");
    let text = markdown(&model);
    for sentence in laws.iter().chain(&bounds).chain(&pairs) {
        assert!(
            page.contains(sentence) && text.contains(sentence),
            "{sentence}"
        );
    }
    assert!(text.contains("exponent beyond") && text.contains("difference per objects"));
}

#[test]
fn other_programs_have_all_of_it() {
    let model = seeded_model(&Seeded::growth());
    let json: serde_json::Value = serde_json::from_str(&report_json(&model)).unwrap();
    let validator = jsonschema::validator_for(&report_schema().to_value()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut laws = json["scaling_laws"].as_array().unwrap().iter();
    let law = laws
        .find(|law| law["metric"] == "response_time_p50_us")
        .unwrap();
    assert_eq!(law["growth_to_break"], "linear");
    assert_eq!(law["growth"], "worse than linear");
    let level = &law["coefficients"]["break"];
    assert!(
        level["low"].as_f64() < Some(32e3) && level["high"].as_f64() > Some(32e3),
        "{level}"
    );
    let bound = &json["scaling_bounds"][0];
    assert_eq!(bound["condition"], "put-readings.response_time.p50 < 20ms");
    assert_eq!(
        (&bound["result"], &bound["by"]),
        (&"rises".into(), &"scaling law".into())
    );
    assert!(bound["low"].as_f64() < bound["level"].as_f64());
    let pair = &json["scaling_pairs"][0];
    assert_eq!(pair["levels"], serde_json::json!(["kubernetes", "steve"]));
    assert_eq!(pair["ratios"].as_array().unwrap().len(), 10);
    assert_eq!(pair["lead"]["result"], "falls");
}

#[test]
fn a_study_that_asks_nothing_has_no_pairs() {
    let study = Seeded {
        scaling: None,
        ..Seeded::growth()
    };
    let text = markdown(&seeded_model(&study));
    assert!(!text.contains("Pairs over objects"));
    // Its threshold is a bound all the same.
    assert!(text.contains("Bounds over objects"));
}
