//! Who is ahead where, in whole sentences.

use super::*;
use waggle_analysis::{Difference, NoSuccess};
use waggle_stats::TrialsNeeded;

const USERS: [&str; 6] = ["50", "100", "150", "200", "250", "300"];

fn over_levels(levels: &[&str]) -> Over {
    let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
    Over {
        factor: "users".to_owned(),
        at: levels.iter().map(|level| level.parse().ok()).collect(),
        levels,
    }
}

/// Ratios with intervals of 5 % to both sides; 0: nothing to compare.
fn ratios(points: &[f64]) -> Vec<Found> {
    points.iter().map(|point| ratio(*point)).collect()
}

fn ratio(point: f64) -> Found {
    let result = found_number(Estimate {
        point,
        interval: Some((point * 0.95, point * 1.05)),
        count: 6,
        least: None,
    });
    if point > 0.0 { result } else { Found::Nothing }
}

fn found_number(estimate: Estimate) -> Found {
    Found::Number(Difference {
        estimate,
        p_value: estimate.interval.map(|_| 0.0),
        is_paired: true,
        is_shown: true,
        trials_needed: None,
    })
}

/// Without an interval.
fn single(point: f64) -> Found {
    found_number(Estimate {
        point,
        interval: None,
        count: 2,
        least: None,
    })
}

fn found_without_ratio(side: Without, trials: usize) -> Found {
    Found::NoSuccess(NoSuccess { of: side, trials })
}

fn test_compared(better: Better, measure: Measure) -> Compared {
    Compared {
        name: "It".to_owned(),
        better,
        is_asked: true,
        measure,
        family: 24,
        at: Vec::new(),
    }
}

fn check_of(compared: &Compared, over: &Over, differences: &[Found], expected: &str) {
    let told = sentence(&Told {
        compared,
        levels: &["rest".to_owned(), "rabbitmq".to_owned()],
        over,
        line: "",
        at: differences,
    });
    assert_eq!(told, expected);
}

fn check(points: &[f64], expected: &str) {
    let higher = test_compared(Better::Higher, Measure::Ratio);
    check_of(&higher, &over_levels(&USERS), &ratios(points), expected);
}

#[test]
fn who_is_ahead_where() {
    check(
        &[0.8, 0.7, 0.6, 0.5, 1.01, 13.0],
        "It over users: rest is higher up to 200 (most at 200: 2.00× (1.90 – 2.11)); rabbitmq is higher at 300 \
         (13.0× (12.3 – 13.7)); no difference found at 250. The lead changes between 200 and 300.",
    );
    check(
        &[2.0, 2.0, 2.0, 2.0, 2.0, 3.0],
        "It over users: rabbitmq is higher at every level (most at 300: 3.00× (2.85 – 3.15)).",
    );
    check(
        &[1.0; 6],
        "It over users: no difference found at any level.",
    );
    check(
        &[2.0, 1.0, 2.0, 3.0, 1.0, 0.0],
        "It over users: rabbitmq is higher at 50 and from 150 to 200 (most at 200: 3.00× (2.85 – 3.15)); \
         no difference found at 100 and at 250; nothing to compare at 300.",
    );
    check(
        &[0.5, 2.0, 2.0, 0.5, 0.5, 0.4],
        "It over users: rest is higher at 50 and from 200 on (most at 300: 2.50× (2.38 – 2.63)); rabbitmq is higher from 100 to 150 \
         (most at 150: 2.00× (1.90 – 2.10)). The lead changes between 50 and 100 and between 150 and 200.",
    );
}

/// The intervals exclude 1, but the p-values are above the limit of all statements.
#[test]
fn what_is_shown_alone_is_no_missing_difference() {
    let alone = |point: f64, needed: Option<TrialsNeeded>| match ratio(point) {
        Found::Number(difference) => Found::Number(Difference {
            is_shown: false,
            trials_needed: needed,
            ..difference
        }),
        other => other,
    };
    let higher = test_compared(Better::Higher, Measure::Ratio);
    let two = over_levels(&["50", "100"]);
    check_of(
        &higher,
        &two,
        &[alone(1.0, None), alone(2.0, None)],
        "It over users: at 100 the interval alone excludes 1 (2.00× (1.90 – 2.10)), but that is not shown together with all 24 statements \
         (Holm); no difference found at 50.",
    );
    let needed = Some(TrialsNeeded {
        least: 5,
        most: Some(20),
    });
    check_of(
        &higher,
        &two,
        &[alone(3.0, needed), alone(2.0, None)],
        "It over users: at every level each interval alone excludes 1 (most at 50: 3.00× (2.85 – 3.15)), but that is not shown together \
         with all 24 statements (Holm); 5 to 20 trials of each cell would do if the ratio is the observed one.",
    );
    let compared = Compared {
        at: vec![vec![alone(2.0, None)]],
        ..higher
    };
    assert!(!compared.is_even());
}

#[test]
fn less_is_better_for_times_and_errors() {
    let quicker = test_compared(Better::Quicker, Measure::Ratio);
    let two = over_levels(&["50", "100"]);
    check_of(
        &quicker,
        &two,
        &ratios(&[2.0, 0.5]),
        "It over users: rest is quicker at 50 (2.00× (1.90 – 2.10)); rabbitmq is quicker at 100 (2.00× (1.90 – 2.11)). \
         The lead changes between 50 and 100.",
    );
    let errors = test_compared(Better::FewerErrors, Measure::Difference);
    let difference = |point: f64, off: f64| {
        found_number(Estimate {
            point,
            interval: Some((point - off, point + off)),
            count: 6,
            least: None,
        })
    };
    check_of(
        &errors,
        &two,
        &[difference(0.0, 0.0), difference(-0.28, 0.03)],
        "It over users: rabbitmq has fewer errors at 100 (28.0 points (25.0 – 31.0)); no difference found at 50.",
    );
}

#[test]
fn levels_without_an_order_and_numbers_without_intervals() {
    let backends = over_levels(&["files", "memory", "network"]);
    check_of(
        &test_compared(Better::Higher, Measure::Ratio),
        &backends,
        &[0.5, 2.0, 2.0].map(single),
        "It over users: rest is higher at files (2.00×); rabbitmq is higher at memory and network (most at network: 2.00×). \
         Without intervals the certainty is not known.",
    );
    check_of(
        &test_compared(Better::Higher, Measure::Ratio),
        &over_levels(&["50", "100"]),
        &[single(0.5), found_without_ratio(Without::First, 1)],
        "It over users: rest is higher at 50 (2.00×); rabbitmq is higher at 100; rest had no success at 100. \
         Without intervals the certainty is not known.",
    );
}

#[test]
fn a_level_without_an_interval_is_on_neither_side() {
    let check = |differences: &[Found], expected: &str| {
        let higher = test_compared(Better::Higher, Measure::Ratio);
        check_of(
            &higher,
            &over_levels(&["50", "100", "150"]),
            differences,
            expected,
        );
    };
    check(
        &[ratio(0.5), single(2.0), ratio(0.5)],
        "It over users: rest is higher at 50 and at 150 (most at 150: 2.00× (1.90 – 2.11)); no interval at 100.",
    );
    check(
        &[ratio(0.5), single(0.5), ratio(3.0)],
        "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); rabbitmq is higher at 150 (3.00× (2.85 – 3.15)); \
         no interval at 100. The lead changes between 50 and 150.",
    );
    check(
        &[ratio(0.5), single(3.0), single(4.0)],
        "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); no interval from 100 on.",
    );
    // An interval that reaches zero has no upper end as a ratio.
    let from_nothing = found_number(Estimate {
        point: 0.5,
        interval: Some((0.0, 0.8)),
        count: 4,
        least: None,
    });
    check(
        &[from_nothing, ratio(1.0), ratio(1.0)],
        "It over users: rest is higher at 50 (2.00× (1.25 or more)); no difference found from 100 on.",
    );
}

#[test]
fn who_had_no_success_is_told_in_words() {
    let higher = test_compared(Better::Higher, Measure::Ratio);
    let users = over_levels(&["50", "100", "150"]);
    let rest = found_without_ratio(Without::First, 3);
    check_of(
        &higher,
        &users,
        &[ratio(0.5), ratio(2.0), rest],
        "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); rabbitmq is higher from 100 on (where both had a success, \
         most at 100: 2.00× (1.90 – 2.10)); rest had no success at 150. The lead changes between 50 and 100.",
    );
    check_of(
        &higher,
        &users,
        &[ratio(0.5), rest, found_without_ratio(Without::Both, 3)],
        "It over users: rest is higher at 50 (2.00× (1.90 – 2.11)); rabbitmq is higher at 100; rest had no success at 100; \
         neither had a success at 150. The lead changes between 50 and 100.",
    );
    let (once, none_of_second) = (
        found_without_ratio(Without::First, 1),
        found_without_ratio(Without::Second, 3),
    );
    check_of(
        &higher,
        &users,
        &[ratio(0.5), once, none_of_second],
        "It over users: rest is higher at 50 and at 150 (where both had a success, most at 50: 2.00× (1.90 – 2.11)); \
         rest had no success at 100; rabbitmq had no success at 150.",
    );
    check_of(
        &test_compared(Better::Quicker, Measure::Ratio),
        &users,
        &[ratio(2.0), Found::Nothing, rest],
        "It over users: rest is quicker at 50 (2.00× (1.90 – 2.10)); nothing to compare at 100; rest had no success at 150.",
    );
}
