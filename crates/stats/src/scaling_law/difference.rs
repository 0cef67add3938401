//! How the difference of two curves grows: the slope of a straight line through the differences of their levels.
//!
//! Each difference weighs by what its two levels scatter, in proportion to their values. The interval is Student's t, with the scatter
//! of the trials or, if that is larger, that of the differences about the line.

use crate::{
    arithmetic::{
        sample::size,
        student::{critical_95, f_tail},
    },
    intervals::estimate::Estimate,
    scaling_law::{
        LawSettings, LawTrial,
        levels::{Levels, Usable},
    },
};

/// Levels that both have; fewer leave nothing to judge a line by.
const MIN_LEVELS: usize = 3;
/// A difference that is farther from the line than this share of the largest one contradicts it, if chance does not explain it.
const MAX_DEVIATION: f64 = 0.15;
const MAX_P_VALUE: f64 = 0.01;

/// What the second of two has more than the first, for each unit of the factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferenceSlope {
    pub per_unit: Estimate,
    /// False if the differences are on no straight line: then there is no such number.
    pub is_straight: bool,
}

/// The difference at one level.
struct Difference {
    level: f64,
    value: f64,
    /// Its variance, if logarithms of trials have a variance of 1.
    variance: f64,
}

/// The slope of second less first over the levels that both have; `None` of fewer than three levels.
#[must_use]
pub fn difference_slope(
    first: &[LawTrial],
    second: &[LawTrial],
    settings: &LawSettings<'_>,
) -> Option<DifferenceSlope> {
    let usable = Usable {
        min_levels: MIN_LEVELS,
        min_exact: 0,
        with_zero: true,
        unit: |_, _| 1.0,
    };
    let both = [first, second].map(|trials| Levels::group(trials, settings, usable).ok());
    let [Some(first), Some(second)] = both else {
        return None;
    };
    let differences = differences(&first, &second);
    if differences.len() < MIN_LEVELS {
        return None;
    }
    let (middle, slope, width) = line(&differences)?;
    let off = |difference: &Difference| {
        difference.value - middle.1 - slope * (difference.level - middle.0)
    };
    let squares: f64 = differences
        .iter()
        .map(|difference| off(difference).powi(2) / difference.variance)
        .sum();
    let degrees = (
        size(differences.len() - 2),
        first.scatter().1 + second.scatter().1,
    );
    let about_line = squares / degrees.0;
    let of_trials = match degrees.1 > 0.0 {
        true => (first.scatter().0 + second.scatter().0) / degrees.1,
        false => 0.0,
    };
    let (variance, variance_degrees) = match about_line > of_trials {
        true => (about_line, degrees.0),
        false => (of_trials, degrees.1),
    };
    let reach = critical_95(variance_degrees) * (variance / width).sqrt();
    let largest = differences
        .iter()
        .map(|difference| difference.value.abs())
        .fold(0.0, f64::max);
    let is_near = differences
        .iter()
        .all(|difference| off(difference).abs() <= MAX_DEVIATION * largest);
    let is_chance = of_trials <= 0.0 || f_tail(about_line / of_trials, degrees) > MAX_P_VALUE;
    Some(DifferenceSlope {
        per_unit: Estimate {
            point: slope,
            interval: Some((slope - reach, slope + reach)),
            count: first.trials + second.trials,
            least: None,
        },
        is_straight: is_near || (is_chance && degrees.1 > 0.0),
    })
}

/// Second less first at each level that both have.
fn differences(first: &Levels, second: &Levels) -> Vec<Difference> {
    let mut differences = Vec::new();
    for level in &first.all {
        let mut others = second.all.iter();
        let Some(other) = others.find(|other| other.level == level.level) else {
            continue;
        };
        let (value, of_other) = (first.restore(level.mean), second.restore(other.mean));
        differences.push(Difference {
            level: level.level,
            value: of_other - value,
            variance: value * value / level.weight() + of_other * of_other / other.weight(),
        });
    }
    differences
}

/// Its middle (level and value), its slope, and the weighted sum of squares of the levels about their mean; `None` if all levels are
/// the same.
fn line(differences: &[Difference]) -> Option<((f64, f64), f64, f64)> {
    let sum = |term: &dyn Fn(&Difference) -> f64| weighted_sum(differences, term);
    let weights = sum(&|_| 1.0);
    let level = sum(&|difference| difference.level) / weights;
    let value = sum(&|difference| difference.value) / weights;
    let width = sum(&|difference| (difference.level - level).powi(2));
    let slope = sum(&|difference| (difference.level - level) * (difference.value - value)) / width;
    slope.is_finite().then_some(((level, value), slope, width))
}

fn weighted_sum(differences: &[Difference], term: impl Fn(&Difference) -> f64) -> f64 {
    let terms = differences.iter();
    terms
        .map(|difference| term(difference) / difference.variance)
        .sum()
}
