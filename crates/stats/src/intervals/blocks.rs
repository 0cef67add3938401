//! Blocks: each has one value of every group. How much one block differs from another, over the groups.
//!
//! Groups have levels of their own, which cancel. The scatter is what the fit of groups and blocks leaves over, of all blocks; its
//! degrees of freedom take into account that groups scatter differently (Box, Annals of Mathematical Statistics 25, 1954; Satterthwaite,
//! Biometrics Bulletin 2, 1946). Why not the two blocks alone: docs/design/0049-host-drift.md.

use crate::{
    arithmetic::{
        sample::{mean, size, squares_about},
        student::{critical, two_sided},
    },
    intervals::range::{Estimate, resolved_ratio},
};

/// What a 95 % interval leaves out.
const TAIL: f64 = 0.05;

/// What is left of a table if the levels of its groups and the effects of its blocks are taken out.
pub(crate) struct Additive {
    /// Of each group.
    pub(crate) levels: Vec<f64>,
    /// Of each block; they add up to 0.
    pub(crate) effects: Vec<f64>,
    /// Of a value, the mean over the groups, and its degrees of freedom.
    pub(crate) variance: f64,
    pub(crate) degrees: f64,
}

impl Additive {
    /// Of at least two groups with the same number of blocks, at least two.
    pub(crate) fn fit(groups: &[Vec<f64>]) -> Self {
        let blocks = groups.first().map_or(0, Vec::len);
        let levels: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
        let off_level = |block: usize| -> Vec<f64> {
            let each = groups.iter().zip(&levels);
            each.map(|(group, level)| group[block] - level).collect()
        };
        let effects: Vec<f64> = (0..blocks).map(|block| mean(&off_level(block))).collect();
        let residuals = |(group, level): (&Vec<f64>, &f64)| -> f64 {
            let each = group.iter().zip(&effects);
            let residuals: Vec<f64> = each.map(|(value, effect)| value - level - effect).collect();
            squares_about(&residuals, 0.0)
        };
        let squares: Vec<f64> = groups.iter().zip(&levels).map(residuals).collect();
        let (count, per_group) = (size(groups.len()), size(blocks) - 1.0);
        let sum: f64 = squares.iter().sum();
        let fourth: f64 = squares.iter().map(|square| square * square).sum();
        let alike = match fourth > 0.0 {
            true => sum * sum / fourth,
            false => count,
        };
        Self {
            variance: sum / (per_group * (count - 1.0)),
            degrees: per_group * alike * (count - 1.0) / count,
            levels,
            effects,
        }
    }
}

/// A table of groups and blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    /// The mean of each block, on the log scale.
    means: Vec<f64>,
    groups: usize,
    /// Of the difference of two blocks.
    error: f64,
    degrees: f64,
}

impl Blocks {
    /// From the values of each group, block by block. `None` of fewer than two groups or blocks, if a group lacks a block, or if a
    /// value is not above 0.
    #[must_use]
    pub fn from_groups(groups: &[Vec<f64>]) -> Option<Self> {
        let blocks = groups.first()?.len();
        let is_usable = |value: &f64| *value > 0.0 && value.is_finite();
        let is_whole = |group: &Vec<f64>| group.len() == blocks && group.iter().all(is_usable);
        if groups.len() < 2 || blocks < 2 || !groups.iter().all(is_whole) {
            return None;
        }
        let logs = |group: &Vec<f64>| group.iter().map(|value| value.ln()).collect();
        let groups: Vec<Vec<f64>> = groups.iter().map(logs).collect();
        let fit = Additive::fit(&groups);
        let count = size(groups.len());
        let middle = mean(&fit.levels);
        Some(Self {
            means: fit.effects.iter().map(|effect| middle + effect).collect(),
            groups: groups.len(),
            error: (2.0 * fit.variance / count).sqrt(),
            degrees: fit.degrees,
        })
    }

    /// How many groups it has.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The logarithm of the second block ÷ the first, by their index.
    #[must_use]
    pub fn log_ratio(&self, first: usize, second: usize) -> f64 {
        self.means[second] - self.means[first]
    }

    /// Probability that two equal blocks, by their index, differ at least so much.
    #[must_use]
    pub fn p_value(&self, first: usize, second: usize) -> f64 {
        let difference = self.log_ratio(first, second);
        match self.error > 0.0 {
            true => two_sided(difference / self.error, self.degrees),
            false => f64::from(u8::from(difference == 0.0)),
        }
    }

    /// The second block ÷ the first, by their index, of a metric with this resolution (0: not known). Its interval holds together
    /// with those of so many comparisons; there is none if the resolution does not tell the first block from 0.
    #[must_use]
    pub fn ratio(
        &self,
        (first, second): (usize, usize),
        resolution: f64,
        comparisons: usize,
    ) -> Option<Estimate> {
        let (old, new) = (self.means[first], self.means[second]);
        let off = critical(TAIL / size(comparisons.max(1)), self.degrees) * self.error;
        let difference = new - old;
        let resolved = resolved_ratio((new.exp(), old.exp()), resolution);
        let interval = resolved.map(|(low, high)| {
            (
                (difference - off).exp().min(low),
                (difference + off).exp().max(high),
            )
        });
        Estimate::finite(difference.exp(), interval, 2 * self.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    #[test]
    fn two_blocks_are_pairs() {
        // Logarithms differ by 1, 2 and 3: standard error 1/√3, t = 3.464 with two degrees.
        let groups: Vec<Vec<f64>> = [(0.0_f64, 1.0_f64), (1.0, 3.0), (-1.0, 2.0)]
            .map(|(old, new)| vec![old.exp(), new.exp()])
            .to_vec();
        let blocks = Blocks::from_groups(&groups).unwrap();
        assert!((blocks.error - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12);
        let ratio = blocks.ratio((0, 1), 0.0, 1).unwrap();
        assert!((ratio.point.ln() - 2.0).abs() < 1e-12);
        let back = blocks.ratio((1, 0), 0.0, 1).unwrap();
        assert!((back.point.ln() + 2.0).abs() < 1e-12);
        // The residuals are −1/2, 0 and 1/2: two of the three groups scatter.
        assert!((blocks.degrees - 4.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let check = |groups: &[Vec<f64>]| assert_eq!(Blocks::from_groups(groups), None);
        check(&[]);
        check(&[vec![1.0, 2.0]]);
        check(&[vec![1.0], vec![2.0]]);
        check(&[vec![1.0, 2.0], vec![2.0]]);
        check(&[vec![1.0, 2.0], vec![2.0, 0.0]]);
        check(&[vec![1.0, 2.0], vec![2.0, f64::INFINITY]]);
    }

    #[test]
    fn no_scatter_leaves_the_resolution() {
        let blocks = Blocks::from_groups(&[vec![2.0, 3.0], vec![2.0, 3.0]]).unwrap();
        assert!(blocks.p_value(0, 1) == 0.0 && blocks.p_value(0, 0) == 1.0);
        let interval = |resolution| blocks.ratio((0, 1), resolution, 1).unwrap().interval;
        let check = |resolution: f64, (low, high): (f64, f64)| {
            let ends = interval(resolution).unwrap();
            assert!((ends.0 - low).abs() < 1e-12 && (ends.1 - high).abs() < 1e-12);
        };
        check(0.0, (1.5, 1.5));
        check(1.0, (1.0, 3.5 / 1.5));
        assert_eq!(interval(4.0), None);
    }

    /// How often any of all pairs of equal blocks has a p-value below 1 % of its share, and how often an interval lacks 1. The
    /// scatter of the first group differs from that of the others.
    #[test]
    fn equal_blocks_are_seldom_said_to_differ() {
        let check = |groups: usize, blocks: usize, scatter: f64| {
            let pairs = blocks * (blocks - 1) / 2;
            let each = |seed: u64| -> (bool, bool) {
                let mut random = Random::from_seed(seed);
                let mut group = |index| -> Vec<f64> {
                    let group_scatter = if index == 0 { scatter } else { 0.03 };
                    let values = (0..blocks).map(|_| random.lognormal(1_000.0, group_scatter));
                    values.collect()
                };
                let table: Vec<Vec<f64>> = (0..groups).map(&mut group).collect();
                let table = Blocks::from_groups(&table).unwrap();
                let all = (0..blocks).flat_map(|a| (a + 1..blocks).map(move |b| (a, b)));
                let all: Vec<(usize, usize)> = all.collect();
                let (low, high) = (0.01 / size(pairs), 1.0);
                let is_shown = all.iter().any(|(a, b)| table.p_value(*a, *b) < low);
                let is_wrong = all.iter().any(|pair| {
                    let result = table.ratio(*pair, 0.0, pairs).unwrap();
                    !result
                        .interval
                        .is_some_and(|(low, top)| low <= high && high <= top)
                });
                (is_shown, is_wrong)
            };
            let result: Vec<(bool, bool)> = (0..1_000).map(each).collect();
            let share = |is: &dyn Fn(&(bool, bool)) -> bool| {
                size(result.iter().filter(|outcome| is(outcome)).count()) / 1_000.0
            };
            let (shown, wrong) = (share(&|outcome| outcome.0), share(&|outcome| outcome.1));
            assert!(shown <= 0.02, "{groups} {blocks} {scatter}: {shown}");
            assert!(wrong <= 0.07, "{groups} {blocks} {scatter}: {wrong}");
        };
        for blocks in [2, 3, 5, 8] {
            for groups in [2, 3, 4, 12] {
                check(groups, blocks, 0.03);
                check(groups, blocks, 0.6);
            }
        }
    }
}
