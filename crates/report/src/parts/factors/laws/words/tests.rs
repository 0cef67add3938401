//! Sentences of laws that are fitted to made-up trials.

use waggle_analysis::{Curve, CurvesModel, Law, Line, LineLaw, Over};
use waggle_metrics::{Metric, Unit};
use waggle_stats::{
    Errors, LawBound, LawSettings, LawTrial, NotFitted, Scale, Verdict, fit_power_law,
    fit_universal_scalability,
};

use super::{cautions, doubtful, not_fitted, sentences};

const LEVELS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
const SETTINGS: LawSettings<'static> = LawSettings {
    errors: Errors::Relative,
    scale: Scale {
        resolution: 0.0,
        max: f64::INFINITY,
    },
    resamples: 200,
    seed: 1,
    band_at: &[],
};

/// Two trials a level, 1 % apart.
fn trials(curve: impl Fn(f64) -> f64) -> Vec<LawTrial> {
    let two =
        |level: f64| [0.995, 1.005].map(|factor| LawTrial::exact(level, factor * curve(level)));
    LEVELS.into_iter().flat_map(two).collect()
}

pub(crate) fn model(name: &str, law: Result<Law, NotFitted>) -> CurvesModel {
    let curve = Curve {
        name: name.to_owned(),
        metric: Metric::Goodput,
        of: None,
        unit: Unit::Rate,
        points: Vec::new(),
        column: "goodput_per_s".to_owned(),
        laws: vec![LineLaw {
            line: 0,
            law,
            doubtful: vec![("64".to_owned(), Verdict::Overloaded)],
            bounded: vec![("64".to_owned(), LawBound::AtLeast)],
        }]
        .into(),
    };
    CurvesModel {
        over: Over {
            factor: "connections".to_owned(),
            levels: LEVELS.iter().map(f64::to_string).collect(),
            at: Some(LEVELS.to_vec()),
        },
        others: Vec::new(),
        lines: vec![Line {
            name: String::new(),
            places: Vec::new(),
        }],
        panels: Vec::new(),
        charts: vec![curve],
        kinds: None,
        reference: None,
        bounds: Vec::new(),
        pairs: Vec::new(),
    }
}

fn universal(curve: impl Fn(f64) -> f64) -> CurvesModel {
    let law = fit_universal_scalability(&trials(curve), &SETTINGS);
    model("Goodput", law.map(Law::Universal))
}

/// The only sentence begins so.
fn check(model: &CurvesModel, expected: &str) {
    let texts = sentences(model, &model.charts[0]);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].starts_with(expected), "{}", texts[0]);
}

#[test]
fn a_rate() {
    let law = |contention: f64, coherency: f64| {
        move |n: f64| 100.0 * n / (1.0 + (contention + coherency * n) * (n - 1.0))
    };
    check(
        &universal(law(0.03, 0.002)),
        "Goodput peaks at connections 22.0 (",
    );
    check(
        &universal(law(0.03, 0.00001)),
        "Goodput has no peak within twice the range, up to connections 128: contention 0.0300 (",
    );
    check(
        &universal(|n| 100.0 * n),
        "Goodput has no peak within twice the range, up to connections 128: contention ",
    );
    check(
        &universal(|n| if n < 10.0 { 100.0 * n } else { 50.0 }),
        "Goodput does not follow the Universal Scalability Law: at connections ",
    );
}

#[test]
fn a_time() {
    let check_time = |curve: fn(f64) -> f64, expected: &str| {
        let law = fit_power_law(&trials(curve), &SETTINGS).map(Law::Power);
        check(&model("Response time p99", law), expected);
    };
    check_time(
        |_| 5.0,
        "Response time p99 is flat from connections 1 to 64: its change is within 5 %, 1.00 (",
    );
    check_time(
        |n| 5.0 + n,
        "Response time p99 grows linearly: exponent 1.00 (",
    );
    check_time(
        |n| 5.0 + n.powf(1.5),
        "Response time p99 grows worse than linear: exponent 1.50 (",
    );
    check_time(
        |n| 5.0 + 3.0 * n.sqrt(),
        "Response time p99 grows better than linear: exponent 0.5",
    );
    check_time(
        |n| 5.0 + 30.0 / n,
        "Response time p99 falls from connections 1 to 64 by a factor of 0.156 (",
    );
    check_time(
        |n| if n < 10.0 { 5.0 } else { 50.0 },
        "Response time p99 does not follow a power law: at connections ",
    );
}

#[test]
fn what_is_in_doubt() {
    let steep = universal(|n| if n == 2.0 { 220.0 } else { 100.0 * n });
    let doubts = cautions(&steep, &steep.charts[0]);
    assert!(
        doubts[0].starts_with(
            "Check the measurement: for each unit of connections, goodput at 2 is 1.10× of that at 1."
        ),
        "{doubts:?}"
    );
    assert_eq!(
        doubtful(&steep).as_deref(),
        Some(
            "The laws rest on cells that are not valid, too. Levels of connections: 64 (overloaded)."
        )
    );
    let none = model("Goodput", Err(NotFitted::TooFewLevels(5)));
    assert_eq!(
        not_fitted(&none),
        ["No law is fitted to goodput: only 5 of its levels have values, and a law needs six."]
    );
}

#[test]
fn a_change_of_the_exponent() {
    let levels: Vec<f64> = (0..9).map(|step| 1_000.0 * 2_f64.powi(step)).collect();
    let check_break = |first: f64, expected: &str| {
        let curve = |n: f64| {
            let (threshold, second) = (32_000_f64, 1.6);
            let beyond = threshold.powf(first - second) * n.powf(second);
            5.0 + 0.01 * if n < threshold { n.powf(first) } else { beyond }
        };
        let two = |level: &f64| {
            [0.995, 1.005].map(|factor| LawTrial::exact(*level, factor * curve(*level)))
        };
        let trials: Vec<LawTrial> = levels.iter().flat_map(two).collect();
        let law = fit_power_law(&trials, &SETTINGS).map(Law::Power);
        let mut model = model("Response time mean", law);
        model.over = Over {
            factor: "n".to_owned(),
            levels: levels.iter().map(f64::to_string).collect(),
            at: Some(levels.clone()),
        };
        check(&model, expected);
    };
    check_break(1.0, "Response time mean is linear to n 3");
    check_break(0.6, "Response time mean has exponent 0.6");
}
