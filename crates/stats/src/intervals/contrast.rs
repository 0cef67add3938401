//! Differences between groups of trials: a weighted sum of the groups' means, with its standard error and degrees of freedom.
//!
//! Groups that have repetitions in common are compared over these ([`crate::intervals::pairing`]): the trials of a repetition run
//! close together, so what the machine does to all of them cancels. A trial of a repetition that another group lacks counts for
//! the estimate of its own group alone. With too few repetitions in common every group has its own variance, with Satterthwaite's
//! degrees of freedom. Sources: Satterthwaite, Biometrics Bulletin 2 (1946); Abedi and Brecht, ICPE 2017. Why not one pooled
//! variance: docs/design/0046; why not all trials: docs/design/0081.

use crate::{
    arithmetic::{
        sample::{mean, size, squares_about},
        student::{critical_95, satterthwaite, two_sided},
    },
    intervals::pairing::{self, Table},
};

/// The value of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Trials of several groups with the same repetition ran close together.
    pub repetition: u32,
    /// The lowest that the system's own value may be; the value itself if that is known exactly; −∞: anything below.
    pub least: f64,
    pub value: f64,
    /// The highest; ∞: anything above.
    pub most: f64,
}

impl Sample {
    /// A value that is known exactly.
    #[must_use]
    pub fn exact(repetition: u32, value: f64) -> Self {
        Self {
            repetition,
            least: value,
            value,
            most: value,
        }
    }
}

/// Values below this are 0 but for rounding.
const ROUNDING: f64 = 1e-12;

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
        if self.value.abs() < ROUNDING {
            return Some(1.0);
        }
        Some(match error > 0.0 {
            true => two_sided(self.value / error, degrees),
            false => 0.0,
        })
    }
}

/// A weighted sum of means, of values that may be known to within a range only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contrast {
    /// Of the values themselves.
    pub(crate) sum: Sum,
    /// The lowest and the highest that it may be.
    pub(crate) ends: (Sum, Sum),
    /// How many repetitions were compared; `None`: all trials of each group.
    pub(crate) pairs: Option<usize>,
}

impl Contrast {
    pub(crate) fn is_paired(&self) -> bool {
        self.pairs.is_some()
    }

    /// The ends of the 95 % interval, whatever the values are in their ranges.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        let sum_interval = self.sum.interval()?;
        let low = match self.ends.0.value == f64::NEG_INFINITY {
            true => f64::NEG_INFINITY,
            false => self.ends.0.interval()?.0,
        };
        let high = match self.ends.1.value == f64::INFINITY {
            true => f64::INFINITY,
            false => self.ends.1.interval()?.1,
        };
        Some((low.min(sum_interval.0), high.max(sum_interval.1)))
    }

    /// How often trials that differ by chance alone differ at least so much, whatever the values are in their ranges; `None` without
    /// a standard error.
    pub(crate) fn p_value(&self) -> Option<f64> {
        let (low, high) = self.ends;
        if low.value <= 0.0 && high.value >= 0.0 {
            return self.sum.error.map(|_| 1.0);
        }
        // An end that is open is farther from nothing than any other.
        let ends = [low, self.sum, high].into_iter();
        let known = ends.filter(|sum| sum.value.is_finite());
        known
            .map(|sum| sum.p_value())
            .try_fold(0.0, |most: f64, p_value| Some(most.max(p_value?)))
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
    let table = pairing::shared_table(terms, pooled.map(|(_, degrees)| degrees));
    let sum = |end: End| match (end.open_sum(terms), &table) {
        (Some(open), _) => open,
        (None, Some(table)) => sum_of_blocks(terms, table, end),
        (None, None) => sum_of_groups(terms, end, pooled),
    };
    Contrast {
        sum: sum(End::Value),
        ends: (sum(End::Low), sum(End::High)),
        pairs: table.as_ref().and_then(|table| table.first().map(Vec::len)),
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
            (Self::Low, false) | (Self::High, true) => trial.most,
            (Self::Value, _) => trial.value,
        }
    }

    /// The sum if a value on its side has no end; `None` if all have.
    fn open_sum(self, terms: &[Term<'_>]) -> Option<Sum> {
        let mut all = terms.iter().flat_map(|term| {
            let trials = term.trials.iter();
            trials.map(|trial| self.value(term.weight, trial))
        });
        let value = match self {
            Self::Low => f64::NEG_INFINITY,
            Self::High => f64::INFINITY,
            Self::Value => return None,
        };
        all.any(f64::is_infinite)
            .then_some(Sum { value, error: None })
    }
}

/// Over the repetitions that all groups have.
fn sum_of_blocks(terms: &[Term<'_>], table: &Table<'_>, end: End) -> Sum {
    let values = |(term, trials): (&Term<'_>, &Vec<&Sample>)| -> Vec<f64> {
        let trials = trials.iter();
        trials.map(|trial| end.value(term.weight, trial)).collect()
    };
    let groups: Vec<Vec<f64>> = terms.iter().zip(table).map(values).collect();
    let weights: Vec<f64> = terms.iter().map(|term| term.weight).collect();
    let (value, error, degrees) = pairing::sum(&weights, &groups);
    Sum {
        value,
        error: Some((error, degrees)),
    }
}

fn sum_of_groups(terms: &[Term<'_>], end: End, pooled: Pooled) -> Sum {
    let (mut value, mut parts) = (0.0, Some(Vec::new()));
    for term in terms {
        let values = term.trials.iter();
        let values: Vec<f64> = values.map(|trial| end.value(term.weight, trial)).collect();
        value += term.weight * mean(&values);
        let part = squared_error(term.weight, &values, pooled);
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

pub(crate) fn values(trials: &[Sample]) -> Vec<f64> {
    trials.iter().map(|trial| trial.value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(pairs: &[(u32, f64)]) -> Vec<Sample> {
        pairs
            .iter()
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
        let contrast = difference(
            &[(1, 11.0), (3, 33.0), (2, 22.0)],
            &[(1, 10.0), (2, 20.0), (3, 30.0)],
        );
        assert_eq!((contrast.sum.value, contrast.is_paired()), (2.0, true));
        let (error, degrees) = contrast.sum.error.unwrap();
        assert!((error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12 && degrees == 2.0);
        // t = 3.464 with two degrees: 0.0742 in the tables.
        assert!((contrast.p_value().unwrap() - 0.0742).abs() < 1e-4);
    }

    #[test]
    fn other_repetitions_have_variances_of_their_own() {
        // Variances 1 and 0: standard error 1/√3, the degrees of the one that scatters.
        let contrast = difference(&[(1, 1.0), (2, 2.0), (3, 3.0)], &[(4, 1.0), (5, 1.0)]);
        assert_eq!((contrast.sum.value, contrast.is_paired()), (1.0, false));
        let (error, degrees) = contrast.sum.error.unwrap();
        assert!((error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12 && (degrees - 2.0).abs() < 1e-12);
        // Two pairs have one degree of freedom.
        assert!(!difference(&[(1, 1.0), (2, 2.0)], &[(1, 1.0), (2, 1.0)]).is_paired());
        // Twice the same repetition is no pair.
        assert!(!difference(&[(1, 1.0), (1, 2.0)], &[(1, 1.0), (2, 2.0)]).is_paired());
    }

    #[test]
    fn a_single_trial_has_no_scatter_of_its_own() {
        assert_eq!(difference(&[(1, 3.0)], &[(1, 1.0)]).sum.error, None);
        assert_eq!(
            difference(&[(1, 3.0)], &[(1, 1.0), (2, 1.0)]).sum.error,
            None
        );
        let (group, other) = (trials(&[(1, 3.0)]), trials(&[(1, 1.0), (2, 3.0)]));
        let term = |weight, trials| Term { weight, trials };
        let terms = [term(1.0, &group), term(-1.0, &other)];
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
