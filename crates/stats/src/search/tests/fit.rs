//! Whether the interval of the fitted level contains the truth.

use super::*;

/// Searches of which the interval contains the median capacity; those whose bracket does; and the median width of the interval.
fn coverage(settings: Settings, scatter: f64, bad_in_100: usize) -> (f64, f64, f64) {
    const SEARCHES: u32 = 200;
    let truth = 3_000.0;
    let (mut fits, mut brackets, mut widths) = (0, 0, Vec::new());
    for seed in 0..SEARCHES {
        let mut random = Random::from_seed(u64::from(seed));
        let search = run_search(settings, |level, _| {
            let is_below = level <= random.lognormal(truth, scatter);
            let is_bad = random.next_below(100) < bad_in_100;
            match is_below != is_bad {
                true => Evidence::Met,
                false => Evidence::NotMet,
            }
        });
        let answer = search.answer();
        if let Some(fitted) = answer.fitted_level() {
            fits += u32::from((fitted.low..=fitted.high).contains(&truth));
            widths.push(fitted.high / fitted.low);
        }
        let is_above = answer.fails.is_some_and(|level| level >= truth);
        brackets += u32::from(is_above && answer.holds.is_some_and(|held| held.level <= truth));
    }
    widths.sort_by(f64::total_cmp);
    let share = |count: u32| f64::from(count) / f64::from(SEARCHES);
    (share(fits), share(brackets), widths[widths.len() / 2])
}

#[test]
fn the_interval_contains_the_capacity() {
    let quick = Settings {
        confirmations: 1,
        max_trials: 12,
        precision: 0.2,
        ..RATE
    };
    let check = |settings: Settings, scatter: f64, bracket_at_most: f64| {
        let (fit, bracket, width) = coverage(settings, scatter, 1);
        let holds = fit >= 0.9 && bracket <= bracket_at_most && width <= 1.8;
        assert!(holds, "{scatter}: {fit}, {bracket}, {width}");
    };
    check(RATE, 0.0, 1.0);
    check(RATE, 0.05, 0.4);
    check(RATE, 0.1, 0.25);
    check(quick, 0.05, 1.0);
    check(quick, 0.1, 0.7);
}

#[test]
fn a_fitted_level_needs_a_level_that_holds_and_one_that_fails() {
    let level = |level: f64, met: u32, not_met: u32| LevelSummary {
        level,
        met,
        not_met,
        pool_limited: 0,
        instrument_limited: 1,
        silent: 1,
    };
    assert_eq!(
        FittedLevel::new(&[level(10.0, 3, 0), level(20.0, 1, 0)]),
        None
    );
    assert_eq!(FittedLevel::new(&[level(10.0, 0, 2)]), None);
    let fitted = FittedLevel::new(&[level(100.0, 3, 0), level(105.0, 0, 2)]).unwrap();
    assert_eq!(fitted.trials, 5);
    assert!(fitted.low < 100.0 && fitted.high > 105.0, "{fitted:?}");
    assert!((100.0..105.0).contains(&fitted.level), "{fitted:?}");
    // More trials narrow it.
    let more = FittedLevel::new(&[level(100.0, 9, 0), level(105.0, 0, 9)]).unwrap();
    assert!(more.high / more.low < fitted.high / fitted.low);
}
