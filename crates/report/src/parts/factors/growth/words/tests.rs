//! Sentences of crossings and pairs that are made up.

use waggle_analysis::{Bound, BoundCrossing, CurvesModel, Over};
use waggle_stats::Crossing;

use super::{bound, limit};
use crate::parts::factors::laws::words::tests;

fn model() -> CurvesModel {
    let model = tests::model(
        "Response time mean",
        Err(waggle_stats::NotFitted::NothingAboveZero),
    );
    CurvesModel {
        over: Over {
            factor: "n".to_owned(),
            levels: ["0", "1000", "64000"].map(str::to_owned).to_vec(),
            at: Some(vec![0.0, 1_000.0, 64_000.0]),
        },
        ..model
    }
}

#[test]
fn a_bound_as_the_study_has_it() {
    assert_eq!(limit("list.response_time.mean < 1s"), "1s");
    assert_eq!(limit("list.goodput >= 100 /s"), "100 /s");
}

#[test]
fn where_a_bound_is_crossed() {
    let asked = Bound {
        chart: 0,
        text: "list.response_time.mean < 1s".to_owned(),
        value: 1e6,
    };
    let check = |crossing: Crossing, is_law: bool, expected: &str| {
        let bound_crossing = BoundCrossing {
            bound: &asked,
            line: 0,
            crossing,
            is_law,
        };
        assert_eq!(bound(&bound_crossing, &model()), format!("{expected}."));
    };
    let intersection = |high: Option<f64>, rises: bool| Crossing::At {
        level: 71_234.0,
        interval: Some((65_432.0, high)),
        rises,
    };
    check(
        intersection(Some(80_049.0), true),
        true,
        "Response time mean crosses 1s at n 71,200 (65,400 – 80,000)",
    );
    check(
        intersection(None, false),
        false,
        "Response time mean falls below 1s at n 71,200 (65,400 – beyond the curve), between levels",
    );
    let none = |is_above: bool, level: f64| Crossing::None { is_above, level };
    check(
        none(false, 64_000.0),
        true,
        "Response time mean stays below 1s up to n 64000",
    );
    check(
        none(true, 128_000.0),
        true,
        "Response time mean is above 1s at every level",
    );
    check(
        none(true, 900.0),
        true,
        "Response time mean stays above 1s up to n 900",
    );
    check(
        Crossing::Undecided,
        true,
        "Whether response time mean is above 1s is not decided at the lowest level",
    );
}
