//! Differences between groups of trials: a weighted sum of the groups' means, with its standard error and degrees of freedom.
//!
//! If all groups have the same repetitions, each repetition gives one difference, and the interval is Student's t over these: the
//! trials of a repetition run close together, so what the machine does to all of them cancels, and it does not matter how
//! differently the groups scatter. Otherwise every group has its own variance, with Satterthwaite's degrees of freedom. Sources:
//! Satterthwaite, Biometrics Bulletin 2 (1946); Abedi and Brecht, ICPE 2017. Why not one pooled variance: docs/design/0046.

use std::collections::BTreeMap;

use crate::{
    sample::{mean, size, squares_about},
    student::{critical_95, satterthwaite, two_sided},
};

/// The value of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Trials of several groups with the same repetition ran close together.
    pub repetition: u32,
    /// The lowest that the value may be; the value itself if that is known exactly.
    pub least: f64,
    pub value: f64,
}

impl Sample {
    /// A value that is known exactly.
    #[must_use]
    pub fn exact(repetition: u32, value: f64) -> Self {
        Self {
            repetition,
            least: value,
            value,
        }
    }
}

/// A weighted sum of means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sum {
    pub(crate) value: f64,
    /// Standard error and degrees of freedom; `None` if the scatter is not known.
    pub(crate) error: Option<(f64, f64)>,
}

impl Sum {
    /// The ends of the 95 % interval.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        let (error, degrees) = self.error?;
        let off = critical_95(degrees) * error;
        Some((self.value - off, self.value + off))
    }

    fn p_value(&self) -> Option<f64> {
        let (error, degrees) = self.error?;
        if error > 0.0 {
            return Some(two_sided(self.value / error, degrees));
        }
        Some(if self.value == 0.0 { 1.0 } else { 0.0 })
    }
}

/// A weighted sum of means, of values that may be known to within a range only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contrast {
    /// Of the values themselves.
    pub(crate) sum: Sum,
    /// The lowest and the highest that it may be.
    pub(crate) ends: (Sum, Sum),
    pub(crate) is_paired: bool,
}

impl Contrast {
    /// The ends of the 95 % interval, whatever the values are in their ranges.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        let ((low, _), (_, high)) = (self.ends.0.interval()?, self.ends.1.interval()?);
        let own = self.sum.interval()?;
        Some((low.min(own.0), high.max(own.1)))
    }

    /// How often trials that differ by chance alone differ at least so much, whatever the values are in their ranges; `None` without
    /// a standard error.
    pub(crate) fn p_value(&self) -> Option<f64> {
        let (low, high) = self.ends;
        if low.value <= 0.0 && high.value >= 0.0 {
            return self.sum.error.map(|_| 1.0);
        }
        let all = [low.p_value()?, self.sum.p_value()?, high.p_value()?];
        Some(all.into_iter().fold(0.0, f64::max))
    }
}

/// A group of trials and its weight. The weights of a difference add up to 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<'a> {
    pub(crate) weight: f64,
    pub(crate) trials: &'a [Sample],
}

/// The variance of a single trial, for groups that have only one, with its degrees of freedom.
pub(crate) type Pooled = Option<(f64, f64)>;

/// The weighted sum of the means of groups, none of which is empty.
pub(crate) fn contrast(terms: &[Term<'_>], pooled: Pooled) -> Contrast {
    let is_paired = is_paired(terms);
    let sum = |end: End| match is_paired {
        true => sum_of_pairs(&by_repetition(terms, end)),
        false => sum_of_groups(terms, end, pooled),
    };
    Contrast {
        sum: sum(End::Value),
        ends: (sum(End::Low), sum(End::High)),
        is_paired,
    }
}

/// Which of the sums that the ranges of the values allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    Value,
    High,
}

impl End {
    /// The value with which a trial of this weight contributes to it.
    fn value(self, weight: f64, trial: &Sample) -> f64 {
        match (self, weight > 0.0) {
            (Self::Low, true) | (Self::High, false) => trial.least,
            _ => trial.value,
        }
    }
}

fn sum_of_pairs(differences: &[f64]) -> Sum {
    let middle = mean(differences);
    let degrees = size(differences.len() - 1);
    let variance = squares_about(differences, middle) / degrees;
    Sum {
        value: middle,
        error: Some(((variance / size(differences.len())).sqrt(), degrees)),
    }
}

fn sum_of_groups(terms: &[Term<'_>], end: End, pooled: Pooled) -> Sum {
    let (mut value, mut parts) = (0.0, Some(Vec::new()));
    for term in terms {
        let own = term.trials.iter();
        let own: Vec<f64> = own.map(|trial| end.value(term.weight, trial)).collect();
        value += term.weight * mean(&own);
        let part = squared_error(term.weight, &own, pooled);
        parts = parts.zip(part).map(|(mut parts, part)| {
            parts.push(part);
            parts
        });
    }
    Sum {
        value,
        error: parts.map(|parts| {
            let variance: f64 = parts.iter().map(|(error2, _)| error2).sum();
            (variance.sqrt(), satterthwaite(&parts))
        }),
    }
}

/// Squared standard error of a term, and its degrees of freedom.
fn squared_error(weight: f64, values: &[f64], pooled: Pooled) -> Option<(f64, f64)> {
    let count = size(values.len());
    let (variance, degrees) = if values.len() > 1 {
        (
            squares_about(values, mean(values)) / (count - 1.0),
            count - 1.0,
        )
    } else {
        pooled?
    };
    Some((weight * weight * variance / count, degrees))
}

/// Whether all groups have the same repetitions, at least two.
fn is_paired(terms: &[Term<'_>]) -> bool {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for trial in terms.iter().flat_map(|term| term.trials) {
        *counts.entry(trial.repetition).or_default() += 1;
    }
    terms.len() > 1
        && counts.len() > 1
        && counts.values().all(|count| *count == terms.len())
        && terms.iter().all(|term| term.trials.len() == counts.len())
}

/// The weighted sum in each repetition.
fn by_repetition(terms: &[Term<'_>], end: End) -> Vec<f64> {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    for term in terms {
        for trial in term.trials {
            let sum = sums.entry(trial.repetition).or_default();
            *sum += term.weight * end.value(term.weight, trial);
        }
    }
    sums.into_values().collect()
}

pub(crate) fn values(trials: &[Sample]) -> Vec<f64> {
    trials.iter().map(|trial| trial.value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(of: &[(u32, f64)]) -> Vec<Sample> {
        of.iter()
            .map(|&(repetition, value)| Sample::exact(repetition, value))
            .collect()
    }

    fn difference(new: &[(u32, f64)], old: &[(u32, f64)]) -> Contrast {
        let (new, old) = (trials(new), trials(old));
        let term = |weight, trials| Term { weight, trials };
        contrast(&[term(1.0, &new), term(-1.0, &old)], None)
    }

    #[test]
    fn the_same_repetitions_are_pairs() {
        // Differences 1, 2, 3, whatever the order: standard error 1/√3, two degrees.
        let found = difference(
            &[(1, 11.0), (3, 33.0), (2, 22.0)],
            &[(1, 10.0), (2, 20.0), (3, 30.0)],
        );
        assert_eq!((found.sum.value, found.is_paired), (2.0, true));
        let (error, degrees) = found.sum.error.unwrap();
        assert!((error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12 && degrees == 2.0);
        // t = 3.464 with two degrees: 0.0742 in the tables.
        assert!((found.p_value().unwrap() - 0.0742).abs() < 1e-4);
    }

    #[test]
    fn other_repetitions_have_variances_of_their_own() {
        // Variances 1 and 0: standard error 1/√3, the degrees of the one that scatters.
        let found = difference(&[(1, 1.0), (2, 2.0), (3, 3.0)], &[(4, 1.0), (5, 1.0)]);
        assert_eq!((found.sum.value, found.is_paired), (1.0, false));
        let (error, degrees) = found.sum.error.unwrap();
        assert!((error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12 && (degrees - 2.0).abs() < 1e-12);
        // Twice the same repetition is no pair.
        assert!(!difference(&[(1, 1.0), (1, 2.0)], &[(1, 1.0), (2, 2.0)]).is_paired);
    }

    #[test]
    fn a_single_trial_has_no_scatter_of_its_own() {
        assert_eq!(difference(&[(1, 3.0)], &[(1, 1.0)]).sum.error, None);
        assert_eq!(
            difference(&[(1, 3.0)], &[(1, 1.0), (2, 1.0)]).sum.error,
            None
        );
        let (one, other) = (trials(&[(1, 3.0)]), trials(&[(1, 1.0), (2, 3.0)]));
        let term = |weight, trials| Term { weight, trials };
        let terms = [term(1.0, &one), term(-1.0, &other)];
        let (error, _) = contrast(&terms, Some((4.0, 8.0))).sum.error.unwrap();
        assert!((error - (4.0_f64 + 1.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn no_scatter_leaves_nothing_to_chance() {
        assert_eq!(
            difference(&[(1, 2.0), (2, 2.0)], &[(1, 1.0), (2, 1.0)]).p_value(),
            Some(0.0)
        );
        assert_eq!(
            difference(&[(1, 1.0), (2, 1.0)], &[(1, 1.0), (2, 1.0)]).p_value(),
            Some(1.0)
        );
    }
}
