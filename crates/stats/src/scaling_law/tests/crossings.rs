//! Where curves cross bounds and each other, and how their difference grows.

use crate::{
    arithmetic::random::Random,
    intervals::estimate::Scale,
    scaling_law::{
        Crossing, Errors, LawSettings, LawTrial, LevelCurve, difference_slope, fit_power_law,
        tests::settings,
    },
};

const LEVELS: [f64; 7] = [0.0, 1e3, 2e3, 4e3, 8e3, 16e3, 32e3];

fn relative() -> LawSettings<'static> {
    settings(Errors::Relative, 150)
}

/// Three trials at each level that scatter by `spread`.
fn simulate(spread: f64, seed: u64, curve: impl Fn(f64) -> f64) -> Vec<LawTrial> {
    let mut random = Random::from_seed(seed);
    let levels = LEVELS.into_iter().flat_map(|level| [level; 3]);
    levels
        .map(|level| LawTrial::exact(level, random.lognormal(curve(level), spread)))
        .collect()
}

fn law(trials: &[LawTrial]) -> LevelCurve {
    fit_power_law(trials, &relative()).unwrap().curve
}

fn between_levels(trials: &[LawTrial]) -> LevelCurve {
    LevelCurve::interpolate(trials, &relative()).unwrap()
}

fn is_near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.02
}

#[test]
fn a_bound_is_crossed_where_the_curve_is() {
    let trials = simulate(0.002, 1, |n| 10.0 + n / 100.0);
    for curve in [law(&trials), between_levels(&trials)] {
        let check = |bound: f64, level: f64| match curve.cross_bound(bound) {
            Crossing::At {
                level: place,
                interval: Some((low, Some(high))),
                rises: true,
            } => assert!(
                is_near(place, level) && low < place && place < high,
                "{place}"
            ),
            other => panic!("{bound}: {other:?}"),
        };
        check(50.0, 4e3);
        check(170.0, 16e3);
        let stays = |bound: f64| curve.cross_bound(bound);
        assert!(matches!(stays(5.0), Crossing::None { is_above: true, .. }));
        // Within the scatter of the lowest level.
        let starts_there = match stays(10.0) {
            Crossing::Undecided => true,
            Crossing::At { interval, .. } => interval.is_some_and(|(low, _)| low == 0.0),
            Crossing::None { .. } => false,
        };
        assert!(starts_there, "{:?}", stays(10.0));
    }
}

/// The law says something up to twice the highest level, the line from level to level nothing beyond it.
#[test]
fn nothing_is_said_beyond_the_curve() {
    let trials = simulate(0.002, 1, |n| 10.0 + n / 100.0);
    let beyond = |reach: f64| Crossing::None {
        is_above: false,
        level: reach,
    };
    assert_eq!(law(&trials).cross_bound(1e4), beyond(64e3));
    assert_eq!(between_levels(&trials).cross_bound(400.0), beyond(32e3));
    let crossing = law(&trials).cross_bound(400.0);
    assert!(
        matches!(crossing, Crossing::At { level, .. } if is_near(level, 39e3)),
        "{crossing:?}"
    );
}

#[test]
fn what_falls_crosses_downwards() {
    let curve = between_levels(&simulate(0.002, 1, |n| 100.0 * (-n / 1e4).exp()));
    let crossing = curve.cross_bound(100.0 * (-1.0_f64).exp());
    // Straight in logarithms: a quarter of the way from 8,000 to 16,000.
    let expected = 8e3 * 2_f64.powf(0.25);
    assert!(
        matches!(crossing, Crossing::At { level, rises: false, .. } if is_near(level, expected)),
        "{crossing:?}"
    );
}

#[test]
fn a_single_trial_has_no_interval() {
    let trials = [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)];
    let trials = trials.map(|(level, value)| LawTrial::exact(level, value));
    let crossing = between_levels(&trials).cross_bound(3.0);
    assert!(
        matches!(crossing, Crossing::At { level, interval: None, .. } if is_near(level, 3.0)),
        "{crossing:?}"
    );
    assert!(LevelCurve::interpolate(&trials[..1], &relative()).is_err());
}

#[test]
fn two_curves_cross_where_one_overtakes_the_other() {
    // 10 + n/100 and 50 + n/200 meet at 8,000.
    let slow = simulate(0.002, 1, |n| 10.0 + n / 100.0);
    let quick = simulate(0.002, 2, |n| 50.0 + n / 200.0);
    let check = |crossing: Crossing, is_above: bool| match crossing {
        Crossing::At {
            level,
            interval: Some((low, Some(high))),
            rises,
        } => assert!(is_near(level, 8e3) && low < level && level < high && rises == is_above),
        other => panic!("{other:?}"),
    };
    check(law(&slow).cross_curve(&law(&quick)), true);
    check(between_levels(&quick).cross_curve(&law(&slow)), false);
    let far = simulate(0.002, 3, |n| 500.0 + n / 100.0);
    let none = Crossing::None {
        is_above: false,
        level: 0.0,
    };
    assert_eq!(law(&slow).cross_curve(&law(&far)), none);
    let same = simulate(0.002, 4, |n| 10.0 + n / 100.0);
    let outcome = law(&slow).cross_curve(&law(&same));
    assert!(
        !matches!(outcome, Crossing::None { .. }),
        "curves of the same values: {outcome:?}"
    );
}

/// 550 bytes an object more.
#[test]
fn a_difference_that_is_proportional_has_a_slope() {
    let first = simulate(0.0, 1, |n| 300.0 + 1_000.0 * n);
    let second = simulate(0.0, 2, |n| 400.0 + 1_550.0 * n);
    let slope = difference_slope(&first, &second, &relative()).unwrap();
    assert!(
        slope.is_straight && is_near(slope.per_unit.point, 550.0),
        "{slope:?}"
    );
    let swapped = difference_slope(&second, &first, &relative()).unwrap();
    assert!(is_near(swapped.per_unit.point, -550.0), "{swapped:?}");
    assert_eq!(difference_slope(&first, &second[..6], &relative()), None);
}

#[test]
fn a_difference_that_bends_has_no_slope() {
    let first = simulate(0.01, 1, |n| 10.0 + n / 100.0);
    let second = simulate(0.01, 2, |n| 10.0 + n / 100.0 + (n / 1e3).powi(2));
    let slope = difference_slope(&first, &second, &relative()).unwrap();
    assert!(!slope.is_straight, "{slope:?}");
}

#[test]
fn the_interval_of_a_slope_covers_the_truth() {
    let covers = |seed: &u64| {
        let first = simulate(0.04, 2 * seed, |n| 10.0 + n / 100.0);
        let second = simulate(0.04, 2 * seed + 1, |n| 10.0 + n / 50.0);
        let settings = LawSettings {
            scale: Scale::default(),
            ..relative()
        };
        let slope = difference_slope(&first, &second, &settings).unwrap();
        let (low, high) = slope.per_unit.interval.unwrap();
        (low..=high).contains(&0.01)
    };
    let covered = (0..300).filter(covers).count();
    assert!((270..=297).contains(&covered), "{covered} of 300");
}
