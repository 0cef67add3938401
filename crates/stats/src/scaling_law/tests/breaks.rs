//! How often a change of the exponent is claimed where there is none, found where there is one, and covered. The rates are in
//! docs/design/0070.

#![expect(clippy::print_stdout, reason = "the page has these rates")]

use crate::{
    arithmetic::{random::Random, sample::size},
    scaling_law::{
        Errors, LawGrowth, LawSettings, LawTrial, PowerLaw, fit_power_law, tests::settings,
    },
};

const LEVELS: [f64; 10] = [0.0, 1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 128e3, 256e3];
const BREAK: f64 = 32e3;

/// How a study is made up.
#[derive(Debug, Clone, Copy)]
struct Study {
    trials: u32,
    /// Of a trial about its level.
    spread: f64,
    /// Of a level about the curve.
    level_spread: f64,
    /// Place of its lowest level.
    first: usize,
}

const USUAL: Study = Study {
    trials: 3,
    spread: 0.03,
    level_spread: 0.0,
    first: 0,
};

/// Linear with this constant up to the break; with this exponent beyond.
fn curve(constant: f64, beyond: f64) -> impl Fn(f64) -> f64 {
    move |n| match n > BREAK {
        true => constant + BREAK / 100.0 * (n / BREAK).powf(beyond),
        false => constant + n / 100.0,
    }
}

fn simulate(study: Study, seed: u64, curve: &dyn Fn(f64) -> f64) -> Vec<LawTrial> {
    let mut random = Random::from_seed(seed);
    let levels = &LEVELS[study.first..];
    let mut trials = Vec::new();
    for level in levels {
        let middle = random.lognormal(curve(*level), study.level_spread);
        trials.extend(
            (0..study.trials)
                .map(|_| LawTrial::exact(*level, random.lognormal(middle, study.spread))),
        );
    }
    trials
}

fn fit(study: Study, resamples: usize, seed: u64, curve: &dyn Fn(f64) -> f64) -> PowerLaw {
    let settings = LawSettings {
        ..settings(Errors::Relative, resamples)
    };
    fit_power_law(&simulate(study, seed, curve), &settings).unwrap()
}

fn claims(study: Study, curve: &dyn Fn(f64) -> f64) -> f64 {
    let is_claimed = |seed: &u64| fit(study, 20, *seed, curve).break_point.is_some();
    size((0..300).filter(is_claimed).count()) / 300.0
}

#[test]
fn a_break_is_seldom_claimed_where_there_is_none() {
    let power = |constant: f64, exponent: f64| {
        move |n: f64| constant + 2_560.0 * (n / 256e3).powf(exponent)
    };
    let linear = curve(50.0, 1.0);
    let (steep, slow) = (power(50.0, 1.3), power(5.0, 0.6));
    let curves: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("linear", &linear),
        ("n^1.3", &steep),
        ("n^0.6", &slow),
        ("flat", &|_| 50.0),
    ];
    let studies = [
        Study { trials: 1, ..USUAL },
        USUAL,
        Study { trials: 5, ..USUAL },
        Study { first: 1, ..USUAL },
        Study {
            level_spread: 0.02,
            ..USUAL
        },
        Study {
            spread: 0.005,
            level_spread: 0.03,
            ..USUAL
        },
        Study {
            trials: 1,
            first: 2,
            ..USUAL
        },
        Study { first: 3, ..USUAL },
    ];
    for study in studies {
        for (name, curve) in &curves {
            let claimed = claims(study, curve);
            println!("{name}, {study:?}: a break is claimed in {claimed}");
            assert!(claimed <= 0.05, "{name}, {study:?}: {claimed}");
        }
    }
}

#[test]
fn the_break_and_the_exponent_beyond_are_covered() {
    let check = |study: Study, constant: f64, beyond: f64, least_found: f64| {
        let curve = curve(constant, beyond);
        let laws = (0..200).map(|seed| fit(study, 100, seed, &curve));
        let breaks: Vec<_> = laws
            .filter_map(|law| Some((law.break_point?, law)))
            .collect();
        let share = |hits: usize| size(hits) / size(breaks.len().max(1));
        let covers = |interval: Option<(f64, f64)>, truth: f64| {
            interval.is_some_and(|(low, high)| low <= truth && truth <= high)
        };
        let level = breaks
            .iter()
            .filter(|(break_point, _)| covers(break_point.level.interval, BREAK));
        let exponent = breaks
            .iter()
            .filter(|(break_point, _)| covers(break_point.exponent.estimate.interval, beyond));
        let (level, exponent) = (share(level.count()), share(exponent.count()));
        let linear = breaks
            .iter()
            .filter(|(break_point, _)| break_point.growth == LawGrowth::Linear);
        let linear = share(linear.count());
        let claimed = size(breaks.len()) / 200.0;
        println!(
            "{study:?}, exponent {beyond}: found {claimed}, covers break {level}, exponent {exponent}, linear before {linear}"
        );
        assert!(claimed >= least_found, "found {claimed}");
        for covered in [level, exponent] {
            assert!(
                (0.90..=0.99).contains(&covered),
                "{study:?} {beyond}: {covered}"
            );
        }
    };
    let five = Study { trials: 5, ..USUAL };
    check(USUAL, 50.0, 1.31, 0.9);
    check(USUAL, 50.0, 1.6, 0.9);
    check(five, 50.0, 1.2, 0.9);
    check(five, 50.0, 1.31, 0.9);
    check(Study { first: 1, ..five }, 50.0, 1.6, 0.9);
    check(
        Study {
            trials: 1,
            spread: 0.01,
            ..USUAL
        },
        50.0,
        1.31,
        0.9,
    );
}

/// A step is no change of the exponent: neither law goes near it.
#[test]
fn another_shape_is_another_shape() {
    let step = |n: f64| if n < 20e3 { 50.0 } else { 500.0 };
    let wave = |n: f64| 50.0 + n / 100.0 * if (3e3..20e3).contains(&n) { 3.0 } else { 1.0 };
    for curve in [&step as &dyn Fn(f64) -> f64, &wave] {
        let law = fit(USUAL, 50, 1, curve);
        assert_eq!(law.growth, LawGrowth::OtherShape, "{law:?}");
    }
}

#[test]
fn a_few_levels_have_no_break() {
    let curve = curve(5.0, 2.5);
    let trials = simulate(USUAL, 1, &curve);
    let check = |levels: &[f64], expected: bool| {
        let subset: Vec<LawTrial> = trials
            .iter()
            .filter(|trial| levels.contains(&trial.level))
            .copied()
            .collect();
        let law = fit_power_law(&subset, &settings(Errors::Relative, 50)).unwrap();
        assert_eq!(law.break_point.is_some(), expected, "{levels:?} {law:?}");
    };
    check(&LEVELS[3..], true);
    // A level of 0 says nothing of exponents.
    check(&[0.0, 8e3, 16e3, 32e3, 64e3, 128e3, 256e3], false);
}
