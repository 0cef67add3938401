//! Levels whose values are bounds, because the load generator was the limit.

use super::*;
use crate::{
    arithmetic::{random::Random, sample::size},
    scaling_law::{LawBound, NotFitted, fit_power_law, fit_universal_scalability},
};

const SEEDS: u64 = 200;
const THREADS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
const CONTENTION: f64 = 0.03;

/// Rates of a system that the load generator cannot load beyond 10,000 per second: what it reaches there is a bound, if it is noted.
fn limited_trials(random: &mut Random, is_noted: bool) -> Vec<LawTrial> {
    const MOST: f64 = 10_000.0;
    let mut all = Vec::new();
    for level in THREADS {
        let rate = 1_000.0 * level / (1.0 + CONTENTION * (level - 1.0));
        for _ in 0..4 {
            let trial = LawTrial::exact(level, random.lognormal(rate.min(MOST), 0.03));
            let bound = (is_noted && rate > MOST).then_some(LawBound::AtLeast);
            all.push(LawTrial { bound, ..trial });
        }
    }
    all
}

/// How often the interval of the contention contains the truth, and the mean of the contention.
fn contention(is_noted: bool) -> (f64, f64) {
    let (mut covered, mut sum) = (0_usize, 0.0);
    for seed in 0..SEEDS {
        let trials = limited_trials(&mut Random::from_seed(seed), is_noted);
        let law = fit_universal_scalability(&trials, &settings(Errors::Relative, 150)).unwrap();
        let (low, high) = ends(&law.contention);
        covered += usize::from((low..=high).contains(&CONTENTION));
        sum += law.contention.estimate.point / 200.0;
    }
    (size(covered) / 200.0, sum)
}

#[test]
fn a_bound_does_not_bend_the_curve() {
    let (covered, mean) = contention(true);
    assert!(
        covered >= 0.9 && (mean - CONTENTION).abs() < 0.005,
        "{covered} {mean}"
    );
    // As if they were exact.
    let (covered, _) = contention(false);
    assert!(covered < 0.5, "{covered}");
}

#[test]
fn a_bound_on_the_wrong_side_of_the_curve_counts() {
    // Exact up to 8, and at least twice what the law would have at 16: the curve is drawn there.
    let trials = |bound: Option<LawBound>| -> Vec<LawTrial> {
        let mut all: Vec<LawTrial> = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]
            .into_iter()
            .flat_map(|level| [0.99, 1.01].map(|off| LawTrial::exact(level, 1_000.0 * off)))
            .collect();
        all.extend([0.99, 1.01].map(|off| LawTrial {
            level: 16.0,
            value: 2_000.0 * off,
            bound,
        }));
        all
    };
    let change = |bound| {
        let law = fit_power_law(&trials(bound), &settings(Errors::Relative, 50)).unwrap();
        law.change.point
    };
    assert!((change(Some(LawBound::AtMost)) - 1.0).abs() < 0.01);
    assert!((change(Some(LawBound::AtLeast)) - change(None)).abs() < 0.05);
}

#[test]
fn a_law_needs_levels_that_are_exact() {
    let trials = |exact: usize| -> Vec<LawTrial> {
        let levels = THREADS.into_iter().enumerate();
        let trial = |(index, level): (usize, f64)| LawTrial {
            bound: (index >= exact).then_some(LawBound::AtLeast),
            ..LawTrial::exact(level, 1_000.0 * level)
        };
        levels.map(trial).collect()
    };
    let fit = |exact| fit_universal_scalability(&trials(exact), &settings(Errors::Relative, 20));
    assert_eq!(fit(3).unwrap_err(), NotFitted::TooFewExactLevels(3));
    assert!(fit(4).is_ok());
}
