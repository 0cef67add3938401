//! Data that has no law, or hardly one.

use proptest::prelude::*;

use crate::{
    intervals::estimate::Scale,
    scaling_law::{
        Errors, HighEfficiency, LawGrowth, LawSettings, LawTrial, NotFitted, Peak, fit_power_law,
        fit_universal_scalability,
        tests::{settings, trials},
    },
};

const SIX: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

fn relative() -> LawSettings<'static> {
    settings(Errors::Relative, 50)
}

#[test]
fn no_law_has_a_reason() {
    let check = |levels: &[f64], values: &[f64], expected: NotFitted| {
        let trials = trials(levels, values);
        let universal = fit_universal_scalability(&trials, &relative());
        assert_eq!(universal, Err(expected), "{levels:?} {values:?}");
        let power = fit_power_law(&trials, &relative());
        assert_eq!(power, Err(expected), "{levels:?} {values:?}");
    };
    check(&[1.0, 2.0], &[1.0, 2.0], NotFitted::TooFewLevels(2));
    check(&SIX[..5], &[3.0; 15], NotFitted::TooFewLevels(5));
    check(&SIX, &[0.0; 6], NotFitted::NothingAboveZero);
    let with_nan = [1.0, 2.0, f64::NAN, 3.0, 4.0, 5.0];
    check(&SIX, &with_nan, NotFitted::ValueNotUsable);
    let below = [-1.0, 2.0, 3.0, 3.0, 4.0, 5.0];
    check(&SIX, &below, NotFitted::ValueNotUsable);
    let none = fit_power_law(&[], &relative());
    assert_eq!(none, Err(NotFitted::TooFewLevels(0)));
}

#[test]
fn levels_that_a_law_cannot_have() {
    let check = |lowest: f64, universal: Option<NotFitted>, power: Option<NotFitted>| {
        let levels = [lowest, 2.0, 3.0, 4.0, 5.0, 6.0];
        let trials = trials(&levels, &SIX);
        let error = fit_universal_scalability(&trials, &relative()).err();
        assert_eq!(error, universal, "{lowest}");
        assert_eq!(fit_power_law(&trials, &relative()).err(), power, "{lowest}");
    };
    let not_positive = Some(NotFitted::LevelNotPositive);
    check(f64::NAN, not_positive, Some(NotFitted::LevelBelowZero));
    check(-1.0, not_positive, Some(NotFitted::LevelBelowZero));
    check(0.0, not_positive, None);
    check(-0.0, not_positive, None);
    check(1.0, None, None);
}

/// Of an empty system the law has the value a.
#[test]
fn a_level_of_zero_is_the_constant() {
    let levels: Vec<f64> = [0.0].into_iter().chain(SIX).collect();
    let settings = LawSettings {
        band_at: &[0.0, 1.0],
        ..relative()
    };
    let check = |curve: &dyn Fn(f64) -> f64, growth: LawGrowth| {
        let values: Vec<f64> = levels
            .iter()
            .flat_map(|level| [0.999, 1.001].map(|factor| factor * curve(*level)))
            .collect();
        let law = fit_power_law(&trials(&levels, &values), &settings).unwrap();
        assert_eq!(law.growth, growth, "{law:?}");
        let off = law.band[0].value / curve(0.0) - 1.0;
        assert!(off.abs() < 0.01, "{:?}", law.band);
        law
    };
    let linear = check(&|n| 5.0 + 3.0 * n, LawGrowth::Linear);
    assert!((linear.constant.estimate.point / 5.0 - 1.0).abs() < 0.01);
    check(&|n| 5.0 + 3.0 * n.powf(1.5), LawGrowth::WorseThanLinear);
    check(&|_| 5.0, LawGrowth::Flat);
    let falls = check(&|n| 50.0 - n, LawGrowth::Falls);
    // The curve is 0 at a level of 50, within twice the highest one.
    assert!(falls.factor.estimate.point < 0.0 && !falls.factor.is_at_bound);
}

#[test]
fn values_that_are_all_equal() {
    let same = trials(&SIX, &[7.0; 12]);
    let power = fit_power_law(&same, &relative()).unwrap();
    assert_eq!(power.growth, LawGrowth::Flat);
    assert!((power.change.point - 1.0).abs() < 1e-9, "{power:?}");
    let universal = fit_universal_scalability(&same, &relative()).unwrap();
    assert!(universal.contention.estimate.point > 0.999, "{universal:?}");
}

#[test]
fn a_straight_line_has_no_peak_and_its_coefficients_are_at_their_bounds() {
    let values: Vec<f64> = SIX.iter().map(|level| 100.0 * level).collect();
    let law = fit_universal_scalability(&trials(&SIX, &values), &relative()).unwrap();
    assert!(law.contention.estimate.point < 1e-6, "{law:?}");
    assert_eq!(law.peak, Peak::NotWithin(64.0));
    assert_eq!(law.high_efficiency, None);
    let power = fit_power_law(&trials(&SIX, &values), &relative()).unwrap();
    assert_eq!(power.growth, LawGrowth::Linear);
}

#[test]
fn a_rate_that_falls_peaks_at_its_lowest_level() {
    let values = [100.0, 60.0, 30.0, 14.0, 7.0, 3.0];
    let law = fit_universal_scalability(&trials(&SIX, &values), &relative()).unwrap();
    assert!(
        matches!(law.peak, Peak::At { level, .. } if level < 1.1),
        "{law:?}"
    );
}

#[test]
fn more_than_linear_is_a_doubt_of_the_measurement() {
    let values = [100.0, 198.0, 390.0, 880.0, 1_500.0, 2_900.0];
    let law = fit_universal_scalability(&trials(&SIX, &values), &relative()).unwrap();
    let Some(HighEfficiency {
        level, efficiency, ..
    }) = law.high_efficiency
    else {
        panic!("{law:?}");
    };
    assert_eq!((level, (efficiency * 100.0).round()), (8.0, 110.0));
}

/// CPUs of 0.25 to 1.5: the lowest level is the unit.
#[test]
fn levels_below_one_are_counted_in_the_lowest() {
    let levels: Vec<f64> = SIX.iter().map(|level| level / 4.0).collect();
    let curve = |n: f64| 100.0 * n / (1.0 + (0.02 + 0.001 * n) * (n - 1.0));
    let values: Vec<f64> = SIX.iter().map(|n| curve(*n)).collect();
    let law = fit_universal_scalability(&trials(&levels, &values), &relative()).unwrap();
    assert_eq!(law.unit, 0.25);
    let off = law.contention.estimate.point - 0.02;
    assert!(off.abs() < 1e-4, "{law:?}");
    assert!(
        matches!(law.peak, Peak::At { level, .. } if (level - 0.25 * (0.98_f64 / 0.001).sqrt()).abs() < 0.01),
        "{law:?}"
    );
}

#[test]
fn the_band_ends_at_twice_the_highest_level() {
    let settings = LawSettings {
        band_at: &[1.0, 32.0, 64.0, 64.1, 1e9],
        ..relative()
    };
    let values = [10.0, 11.0, 12.0, 15.0, 20.0, 31.0];
    let law = fit_power_law(&trials(&SIX, &values), &settings).unwrap();
    let levels: Vec<f64> = law.band.iter().map(|point| point.level).collect();
    assert_eq!(levels, [1.0, 32.0, 64.0]);
    for point in &law.band {
        assert!(point.low <= point.value && point.value <= point.high);
    }
    // The same seed, the same intervals.
    assert_eq!(Ok(law), fit_power_law(&trials(&SIX, &values), &settings));
}

#[test]
fn a_value_below_the_resolution_counts_as_the_resolution() {
    let settings = LawSettings {
        scale: Scale::from_resolution(1.0),
        ..relative()
    };
    let values = [0.0, 0.0, 2.0, 4.0, 8.0, 16.0];
    let law = fit_power_law(&trials(&SIX, &values), &settings).unwrap();
    assert!(law.exponent.estimate.point > 0.5, "{law:?}");
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..1e6_f64,
        prop::sample::select(vec![0.0, 1.0, f64::MAX, f64::MIN_POSITIVE]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_numbers_have_a_law_or_a_reason(
        values in prop::collection::vec((0.0..1e4_f64, any_number().prop_map(f64::abs)), 6..20),
        has_absolute_errors in any::<bool>(),
    ) {
        let errors = if has_absolute_errors { Errors::Absolute } else { Errors::Relative };
        let trials: Vec<LawTrial> = values.iter().map(|(level, value)| LawTrial::exact(*level, *value)).collect();
        let settings = settings(errors, 5);
        if let Ok(law) = fit_universal_scalability(&trials, &settings) {
            prop_assert!((0.0..=1.0).contains(&law.contention.estimate.point));
            prop_assert!((0.0..=1.0).contains(&law.coherency.estimate.point));
        }
        if let Ok(law) = fit_power_law(&trials, &settings) {
            prop_assert!((-5.0..=5.0).contains(&law.exponent.estimate.point));
        }
    }
}
