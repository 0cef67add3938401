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
    pub value: f64,
}

/// A weighted sum of means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contrast {
    pub(crate) value: f64,
    /// Standard error and degrees of freedom; `None` if the scatter is not known.
    pub(crate) error: Option<(f64, f64)>,
    pub(crate) is_paired: bool,
}

impl Contrast {
    /// The ends of the 95 % interval.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        let (error, degrees) = self.error?;
        let off = critical_95(degrees) * error;
        Some((self.value - off, self.value + off))
    }

    /// How often trials that differ by chance alone differ at least so much; `None` without a standard error.
    pub(crate) fn p_value(&self) -> Option<f64> {
        let (error, degrees) = self.error?;
        if error > 0.0 {
            return Some(two_sided(self.value / error, degrees));
        }
        Some(if self.value == 0.0 { 1.0 } else { 0.0 })
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
    if let Some(differences) = by_repetition(terms) {
        let middle = mean(&differences);
        let degrees = size(differences.len() - 1);
        let variance = squares_about(&differences, middle) / degrees;
        return Contrast {
            value: middle,
            error: Some(((variance / size(differences.len())).sqrt(), degrees)),
            is_paired: true,
        };
    }
    let value = terms
        .iter()
        .map(|term| term.weight * mean(&values(term.trials)));
    let parts: Option<Vec<(f64, f64)>> = terms
        .iter()
        .map(|term| squared_error(term, pooled))
        .collect();
    Contrast {
        value: value.sum(),
        error: parts.map(|parts| {
            let variance: f64 = parts.iter().map(|(error2, _)| error2).sum();
            (variance.sqrt(), satterthwaite(&parts))
        }),
        is_paired: false,
    }
}

/// Squared standard error of a term, and its degrees of freedom.
fn squared_error(term: &Term<'_>, pooled: Pooled) -> Option<(f64, f64)> {
    let values = values(term.trials);
    let count = size(values.len());
    let (variance, degrees) = if values.len() > 1 {
        (
            squares_about(&values, mean(&values)) / (count - 1.0),
            count - 1.0,
        )
    } else {
        pooled?
    };
    Some((term.weight * term.weight * variance / count, degrees))
}

/// The weighted sum in each repetition; `None` if the groups do not have the same repetitions, or fewer than two.
fn by_repetition(terms: &[Term<'_>]) -> Option<Vec<f64>> {
    let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for term in terms {
        for trial in term.trials {
            let (count, sum) = sums.entry(trial.repetition).or_default();
            *count += 1;
            *sum += term.weight * trial.value;
        }
    }
    let is_complete = terms.len() > 1
        && sums.len() > 1
        && sums.values().all(|(count, _)| *count == terms.len())
        && terms.iter().all(|term| term.trials.len() == sums.len());
    is_complete.then(|| sums.into_values().map(|(_, sum)| sum).collect())
}

pub(crate) fn values(trials: &[Sample]) -> Vec<f64> {
    trials.iter().map(|trial| trial.value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(of: &[(u32, f64)]) -> Vec<Sample> {
        of.iter()
            .map(|&(repetition, value)| Sample { repetition, value })
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
        assert_eq!((found.value, found.is_paired), (2.0, true));
        let (error, degrees) = found.error.unwrap();
        assert!((error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12 && degrees == 2.0);
        // t = 3.464 with two degrees: 0.0742 in the tables.
        assert!((found.p_value().unwrap() - 0.0742).abs() < 1e-4);
    }

    #[test]
    fn other_repetitions_have_variances_of_their_own() {
        // Variances 1 and 0: standard error 1/√3, the degrees of the one that scatters.
        let found = difference(&[(1, 1.0), (2, 2.0), (3, 3.0)], &[(4, 1.0), (5, 1.0)]);
        assert_eq!((found.value, found.is_paired), (1.0, false));
        let (error, degrees) = found.error.unwrap();
        assert!((error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12 && (degrees - 2.0).abs() < 1e-12);
        // Twice the same repetition is no pair.
        assert!(!difference(&[(1, 1.0), (1, 2.0)], &[(1, 1.0), (2, 2.0)]).is_paired);
    }

    #[test]
    fn a_single_trial_has_no_scatter_of_its_own() {
        assert_eq!(difference(&[(1, 3.0)], &[(1, 1.0)]).error, None);
        assert_eq!(difference(&[(1, 3.0)], &[(1, 1.0), (2, 1.0)]).error, None);
        let (one, other) = (trials(&[(1, 3.0)]), trials(&[(1, 1.0), (2, 3.0)]));
        let term = |weight, trials| Term { weight, trials };
        let terms = [term(1.0, &one), term(-1.0, &other)];
        let (error, _) = contrast(&terms, Some((4.0, 8.0))).error.unwrap();
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
