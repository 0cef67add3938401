//! Repetitions that groups of trials have in common, and the weighted sum of the groups over these.
//!
//! Which trials are compared follows from how many there are, never from their values: of two valid intervals the narrower one would
//! contain the truth too seldom. With two groups the scatter is that of the differences. With more of them a sum over few repetitions
//! has few degrees of freedom; the scatter is then the larger one of that of the sums and of what levels and repetitions leave over.
//! Rates: docs/design/0081.

use std::collections::BTreeMap;

use crate::{
    arithmetic::{
        sample::{mean, size, squares_about},
        student::{critical_95, satterthwaite},
    },
    intervals::{
        blocks::Additive,
        contrast::{Sample, Term},
    },
};

/// The trials of each group in the repetitions that all groups have, in the same order.
pub(crate) type Table<'a> = Vec<Vec<&'a Sample>>;

/// The share of the variance of a trial that a repetition has in common if the host scatters by twice as much as trials do. Pairs are
/// taken if they have the narrower interval then.
const SHARED_VARIANCE: f64 = 0.8;
/// Sums of few repetitions have up to so many times the variance that residuals say, by chance.
const BY_CHANCE: f64 = 3.0;
/// Sums of weights below this share of them are 0.
const ROUNDING: f64 = 1e-9;

/// `None` if the groups are better compared by all of their trials. `pooled`: the degrees of freedom of the variance of groups with a
/// single trial.
pub(crate) fn shared_table<'a>(terms: &[Term<'a>], pooled: Option<f64>) -> Option<Table<'a>> {
    if let Some(whole) = whole_table(terms) {
        return is_narrower(terms, whole.first()?.len(), pooled).then_some(whole);
    }
    let groups: Vec<BTreeMap<u32, Option<&Sample>>> = terms.iter().map(by_repetition).collect();
    let first = groups.first().filter(|_| groups.len() > 1)?;
    let has = |repetition: &u32| {
        let mut groups = groups.iter();
        groups.all(|samples| samples.get(repetition).is_some_and(Option::is_some))
    };
    let shared: Vec<u32> = first.keys().copied().filter(has).collect();
    if !is_narrower(terms, shared.len(), pooled) {
        return None;
    }
    let mut table = Table::new();
    for samples in &groups {
        let shared = shared.iter();
        let paired = shared.filter_map(|repetition| samples.get(repetition).copied()?);
        table.push(paired.collect());
    }
    Some(table)
}

/// `None` for a repetition that a group has twice: that is no pair.
fn by_repetition<'a>(term: &Term<'a>) -> BTreeMap<u32, Option<&'a Sample>> {
    let mut samples = BTreeMap::new();
    for trial in term.trials {
        let known = samples.entry(trial.repetition);
        known
            .and_modify(|known| *known = None)
            .or_insert(Some(trial));
    }
    samples
}

/// All trials, if all groups have the same repetitions in ascending order; the usual case, and the quickest.
fn whole_table<'a>(terms: &[Term<'a>]) -> Option<Table<'a>> {
    let first = terms.first().filter(|_| terms.len() > 1)?.trials;
    let ascends = |trials: &[Sample]| {
        trials
            .windows(2)
            .all(|two| two[0].repetition < two[1].repetition)
    };
    let is_same = |term: &Term<'_>| {
        let mut both = term.trials.iter().zip(first);
        term.trials.len() == first.len()
            && both.all(|(trial, counterpart)| trial.repetition == counterpart.repetition)
    };
    let is_whole = ascends(first) && terms.iter().all(is_same);
    is_whole.then(|| {
        terms
            .iter()
            .map(|term| term.trials.iter().collect())
            .collect()
    })
}

/// Whether so many repetitions are expected to show more than all trials do.
fn is_narrower(terms: &[Term<'_>], shared: usize, pooled: Option<f64>) -> bool {
    let is_complete = terms.iter().all(|term| term.trials.len() == shared);
    if shared < 2 || !is_difference(terms) {
        return shared > 1 && is_complete;
    }
    if is_complete && shared > 2 {
        return true;
    }
    let squares: f64 = terms.iter().map(|term| term.weight * term.weight).sum();
    let degrees = size(shared - 1) * size(terms.len() - 1);
    let of_pairs = critical_95(degrees).powi(2) * (1.0 - SHARED_VARIANCE) * squares / size(shared);
    let parts = terms.iter().map(|term| squared_error(term, pooled));
    let parts: Option<Vec<(f64, f64)>> = parts.collect();
    parts.is_none_or(|parts| {
        let variance: f64 = parts.iter().map(|(error2, _)| error2).sum();
        of_pairs <= critical_95(satterthwaite(&parts)).powi(2) * variance
    })
}

/// Of all trials of a group, as a share of the variance of a trial, with its degrees of freedom; `None` if they are not known.
fn squared_error(term: &Term<'_>, pooled: Option<f64>) -> Option<(f64, f64)> {
    let count = size(term.trials.len());
    let trial_degrees = match term.trials.len() {
        1 => pooled?,
        _ => count - 1.0,
    };
    Some((term.weight * term.weight / count, trial_degrees))
}

/// Whether what all groups have in common cancels.
fn is_difference(terms: &[Term<'_>]) -> bool {
    let sum: f64 = terms.iter().map(|term| term.weight).sum();
    let size: f64 = terms.iter().map(|term| term.weight.abs()).sum();
    sum.abs() <= ROUNDING * size
}

/// The weighted sum of the means of groups that have the same repetitions, at least two, in the same order; with its standard error and
/// degrees of freedom.
pub(crate) fn sum(weights: &[f64], groups: &[Vec<f64>]) -> (f64, f64, f64) {
    let count = groups.first().map_or(0, Vec::len);
    let in_repetition = |index: usize| -> f64 {
        let each = weights.iter().zip(groups);
        each.map(|(weight, group)| weight * group[index]).sum()
    };
    let sums: Vec<f64> = (0..count).map(in_repetition).collect();
    let middle = mean(&sums);
    let degrees = size(count) - 1.0;
    let of_sums = squares_about(&sums, middle) / degrees;
    let (variance, degrees) = match of_residuals(weights, groups) {
        Some((of_residuals, more)) if of_residuals < of_sums => {
            // The host may slow down one side more than the other. If the sums scatter by far more than the residuals say, the residuals'
            // degrees of freedom count less.
            let share = (BY_CHANCE * of_residuals / of_sums).min(1.0);
            (of_sums, degrees + (more - degrees).max(0.0) * share * share)
        }
        Some(of_residuals) => of_residuals,
        None => (of_sums, degrees),
    };
    (middle, (variance / size(count)).sqrt(), degrees)
}

/// The variance of the sum of a repetition by what is left over if levels and repetitions are taken out, for more than two groups of
/// equal weight.
fn of_residuals(weights: &[f64], groups: &[Vec<f64>]) -> Option<(f64, f64)> {
    let weight = weights.first()?.abs();
    let is_equal = |coefficient: &f64| (coefficient.abs() - weight).abs() <= ROUNDING * weight;
    let sum: f64 = weights.iter().sum();
    let cancels = sum.abs() <= ROUNDING * weight * size(weights.len());
    if weights.len() < 3 || !cancels || !weights.iter().all(is_equal) {
        return None;
    }
    let fit = Additive::fit(groups);
    Some((
        weight * weight * size(groups.len()) * fit.variance,
        fit.degrees,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::random::Random,
        intervals::contrast::{Contrast, contrast},
    };

    fn difference(new: &[Sample], old: &[Sample]) -> Contrast {
        let term = |weight, trials| Term { weight, trials };
        contrast(&[term(1.0, new), term(-1.0, old)], None)
    }

    fn half_width(contrast: &Contrast) -> f64 {
        let (low, high) = contrast.sum.interval().unwrap();
        (high - low) / 2.0
    }

    /// Trials scatter by 3 %, the host by more from repetition to repetition: one more trial of one cell takes nothing from the interval
    /// of five pairs, nor from how often it contains the truth. By all trials it was three to five times as wide.
    #[test]
    fn an_added_trial_never_widens_the_interval() {
        const SEEDS: u64 = 2_000;
        let check = |host: f64, added: u32| {
            let (mut before, mut after, mut covered) = (0.0, 0.0, 0_usize);
            for seed in 0..SEEDS {
                let mut random = Random::from_seed(seed);
                let (mut new, mut old) = (Vec::new(), Vec::new());
                for repetition in 1..=5 + added {
                    let host = host * random.normal();
                    let mut sample = || Sample::exact(repetition, host + 0.03 * random.normal());
                    new.push(sample());
                    old.push(sample());
                }
                old.truncate(5);
                before += half_width(&difference(&new[..5], &old));
                let contrast = difference(&new, &old);
                after += half_width(&contrast);
                let (low, high) = contrast.sum.interval().unwrap();
                covered += usize::from((low..=high).contains(&0.0));
            }
            let covered = size(covered) / 2_000.0;
            assert!(
                after <= before * (1.0 + 1e-9),
                "{host} {added}: {before} {after}"
            );
            assert!(covered >= 0.94, "{host} {added}: {covered}");
            // Five pairs of 3 %: 2.776 · 0.03 · √(2/5).
            assert!(after / 2_000.0 < 0.053, "{host} {added}: {after}");
        };
        for host in [0.0, 0.1, 0.2] {
            check(host, 1);
            check(host, 3);
        }
    }

    #[test]
    fn pairs_are_taken_where_they_show_more() {
        let check = |new: &[u32], old: &[u32], expected: Option<usize>| {
            let samples = |repetitions: &[u32]| -> Vec<Sample> {
                let each = repetitions.iter();
                each.map(|repetition| Sample::exact(*repetition, f64::from(*repetition)))
                    .collect()
            };
            let contrast = difference(&samples(new), &samples(old));
            assert_eq!(contrast.pairs, expected, "{new:?} {old:?}");
        };
        check(&[1, 2, 3], &[1, 2, 3], Some(3));
        check(&[3, 1, 2], &[1, 2, 3], Some(3));
        check(&[1, 2, 3, 4], &[1, 2, 3], Some(3));
        check(&[1, 3, 4, 6], &[1, 2, 3, 4, 5], Some(3));
        check(&[1, 2, 3, 4, 5, 6], &[1, 2, 3], Some(3));
        // Two pairs have one degree of freedom: their interval is 12.7 standard errors wide.
        check(&[1, 2], &[1, 2], None);
        check(&[1, 2, 4, 5], &[1, 2, 3, 6], None);
        check(&[1, 2, 3], &[4, 5, 6], None);
        check(&[1, 1, 2, 3, 4, 5], &[1, 1, 2, 3, 4, 5], Some(4));
    }

    /// Differences of the means of many groups: with a host that scatters by itself, and one that slows down one side as much as trials
    /// scatter.
    #[test]
    fn many_groups_have_the_degrees_of_their_residuals() {
        let check = |(groups, repetitions): (usize, u32),
                     (scatter, sided): (f64, f64),
                     least: f64| {
            let covered = (0..2_000).filter(|seed| {
                let mut random = Random::from_seed(*seed);
                let mut cells = vec![Vec::new(); groups];
                for repetition in 0..repetitions {
                    let (host, side) = (0.2 * random.normal(), sided * random.normal());
                    for (index, cell) in cells.iter_mut().enumerate() {
                        let spread = if index == 0 { scatter } else { 0.05 };
                        let side = if index < groups / 2 { side } else { 0.0 };
                        let value = host + side + spread * random.normal();
                        cell.push(Sample::exact(repetition, value));
                    }
                }
                let term = |(index, trials): (usize, &'_ Vec<Sample>)| -> (f64, Vec<Sample>) {
                    let sign = if index < groups / 2 { 2.0 } else { -2.0 };
                    (sign / size(groups), trials.clone())
                };
                let signed: Vec<(f64, Vec<Sample>)> = cells.iter().enumerate().map(term).collect();
                let terms: Vec<Term<'_>> = signed
                    .iter()
                    .map(|(weight, trials)| Term {
                        weight: *weight,
                        trials,
                    })
                    .collect();
                let (low, high) = contrast(&terms, None).sum.interval().unwrap();
                (low..=high).contains(&0.0)
            });
            let share = size(covered.count()) / 2_000.0;
            assert!(
                share >= least,
                "{groups} {repetitions} {scatter} {sided}: {share}"
            );
        };
        for groups in [4, 12] {
            for repetitions in [3, 5] {
                check((groups, repetitions), (0.05, 0.0), 0.94);
                check((groups, repetitions), (0.6, 0.0), 0.92);
                check((groups, repetitions), (0.05, 0.05), 0.86);
            }
        }
    }
}
