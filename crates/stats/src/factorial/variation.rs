//! Which share of an outcome's variation goes with each factor, with each pair of factors, and with none; and whether that is more than
//! chance.
//!
//! The share describes. What is tested are contrasts: of a factor the ratio of each level to the first, of factors together the ratio of
//! such ratios. A source is as improbable as its most improbable contrast, times their number (Bonferroni). So a factor is called
//! significant exactly if one of its ratios is. Why no F test and no ANOVA-type statistic: docs/design/0081.

use crate::{
    arithmetic::sample::size,
    factorial::{Cell, Factorial},
    intervals::contrast::{Term, contrast},
};

/// A source of variation. Factors count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// One factor, averaged over all others.
    Factor(usize),
    /// Interaction of two factors, beyond their main effects.
    Pair(usize, usize),
    /// Interactions of three and more factors; includes chance if each cell has one trial.
    Further,
    /// From trial to trial within a cell.
    Trials,
}

/// Significance level of a source by itself.
const SIGNIFICANCE: f64 = 0.05;

/// One part of the variation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variation {
    pub of: Source,
    /// Of the sum of squares of the logarithms, 0 to 1.
    pub share: f64,
    pub degrees: usize,
    /// Probability that trials which differ by chance alone show at least as much; `None` if trials cannot show it.
    pub p_value: Option<f64>,
    /// Whether it is more than chance; also true if trials cannot show it. By this test alone, until [`Self::hold`].
    pub is_significant: bool,
}

impl Variation {
    /// Judges it by the limit of p-values at which several statements hold together.
    pub fn hold(&mut self, limit: f64) {
        self.is_significant = self.p_value.is_none_or(|p_value| p_value <= limit);
    }
}

impl Factorial {
    /// The parts of the variation, which sum up to 1: factors, then pairs, then the rest.
    #[must_use]
    pub fn variation(&self) -> Vec<Variation> {
        let mut parts: Vec<(Source, f64, usize)> = self.mains();
        parts.extend(self.pairs(&parts));
        let whole: f64 = self.squares(&self.effects(&[]));
        let explained: f64 = parts.iter().map(|(_, squares, _)| squares).sum();
        let degrees: usize = parts.iter().map(|(_, _, degrees)| degrees).sum();
        if self.levels.len() > 2 {
            let residual = (whole - explained).max(0.0);
            parts.push((Source::Further, residual, self.cells.len() - 1 - degrees));
        }
        if self.degrees > 0 {
            parts.push((Source::Trials, self.within, self.degrees));
        }
        let total: f64 = parts.iter().map(|(_, squares, _)| squares).sum();
        parts
            .into_iter()
            .map(|(source, squares, degrees)| Variation {
                of: source,
                share: squares / total,
                degrees,
                p_value: self.p_value(source),
                is_significant: (self.p_value(source)).is_none_or(|p_value| p_value < SIGNIFICANCE),
            })
            .collect()
    }

    fn mains(&self) -> Vec<(Source, f64, usize)> {
        (0..self.levels.len())
            .map(|factor| {
                let squares = self.squares(&self.effects(&[factor]));
                (Source::Factor(factor), squares, self.levels[factor] - 1)
            })
            .collect()
    }

    fn pairs(&self, mains: &[(Source, f64, usize)]) -> Vec<(Source, f64, usize)> {
        let mut pairs = Vec::new();
        for (a, (_, of_a, degrees_a)) in mains.iter().enumerate() {
            for (b, (_, of_b, degrees_b)) in mains.iter().enumerate().skip(a + 1) {
                // The design is balanced (every cell counts alike), so the parts are orthogonal: an interaction is the joint
                // effect less both main effects.
                let both = self.squares(&self.effects(&[a, b]));
                let together = (both - of_a - of_b).max(0.0);
                pairs.push((Source::Pair(a, b), together, degrees_a * degrees_b));
            }
        }
        pairs
    }

    /// For each cell the mean of all cells with the same levels of `factors`, less the mean of all; of no factors: of the cell
    /// alone.
    fn effects(&self, factors: &[usize]) -> Vec<f64> {
        let grand = self.cells.iter().map(|cell| cell.mean).sum::<f64>() / size(self.cells.len());
        if factors.is_empty() {
            return self.cells.iter().map(|cell| cell.mean - grand).collect();
        }
        let group = |cell: usize| {
            factors.iter().fold(0, |group, factor| {
                group * self.levels[*factor] + self.level(cell, *factor)
            })
        };
        let groups: usize = factors.iter().map(|factor| self.levels[*factor]).product();
        let mut sums = vec![0.0; groups];
        for (index, cell) in self.cells.iter().enumerate() {
            sums[group(index)] += cell.mean - grand;
        }
        let each = size(self.cells.len() / groups);
        (0..self.cells.len())
            .map(|cell| sums[group(cell)] / each)
            .collect()
    }

    /// In squares of single trials: a cell counts as the harmonic mean of the cells' numbers of trials.
    fn squares(&self, effects: &[f64]) -> f64 {
        let inverses: f64 = self.cells.iter().map(|cell| 1.0 / size(cell.count)).sum();
        let trials = size(self.cells.len()) / inverses;
        trials * effects.iter().map(|effect| effect * effect).sum::<f64>()
    }

    /// Of the most improbable contrast of the source, times the number of its contrasts.
    fn p_value(&self, source: Source) -> Option<f64> {
        if self.degrees == 0 {
            return None;
        }
        let factors = 0..self.levels.len();
        let all: Vec<f64> = match source {
            Source::Factor(factor) => {
                let levels = 1..self.levels[factor];
                levels
                    .filter_map(|level| self.ratio_of_levels(factor, level, 0).p_value)
                    .collect()
            }
            Source::Pair(a, b) => self.joint_p_values(&[a, b]),
            Source::Further => subsets(factors.len())
                .filter(|subset| subset.len() > 2)
                .flat_map(|subset| self.joint_p_values(&subset))
                .collect(),
            Source::Trials => return None,
        };
        let smallest = all.iter().copied().reduce(f64::min)?;
        Some((smallest * size(all.len())).min(1.0))
    }

    /// Of what factors do together at each of their levels but the first.
    fn joint_p_values(&self, factors: &[usize]) -> Vec<f64> {
        let steps = factors.iter().map(|factor| self.levels[*factor] - 1);
        let steps: Vec<usize> = steps.collect();
        let count: usize = steps.iter().product();
        let p_value = |index: usize| self.joint_p_value(factors, &combination(index, &steps));
        (0..count).filter_map(p_value).collect()
    }

    /// Of these levels of the factors against their first ones: the ratio of ratios.
    fn joint_p_value(&self, factors: &[usize], levels: &[usize]) -> Option<f64> {
        let signed = self.cells.iter().enumerate();
        let signed: Vec<(f64, &Cell)> = signed
            .filter_map(|(index, cell)| Some((self.sign(index, factors, levels)?, cell)))
            .collect();
        let weight = size(1 << factors.len()) / size(signed.len());
        let terms: Vec<Term<'_>> = signed
            .iter()
            .map(|(sign, cell)| Term {
                weight: sign * weight,
                trials: &cell.trials,
            })
            .collect();
        contrast(&terms, self.pooled_variance()).p_value()
    }

    /// Of a cell in a ratio of ratios: a level is on one side, the first on the other; cells with another level are on none.
    fn sign(&self, cell: usize, factors: &[usize], levels: &[usize]) -> Option<f64> {
        let signs = factors.iter().zip(levels);
        let signs = signs.map(|(factor, level)| match self.level(cell, *factor) {
            0 => Some(-1.0),
            cell_level => (cell_level == *level).then_some(1.0),
        });
        signs.product()
    }
}

/// The levels of some factors in one of their combinations without a first level; the first factor changes quickest.
fn combination(index: usize, steps: &[usize]) -> Vec<usize> {
    let mut rest = index;
    let mut levels = Vec::new();
    for count in steps {
        levels.push(1 + rest % count);
        rest /= count;
    }
    levels
}

/// All sets of so many factors.
fn subsets(factors: usize) -> impl Iterator<Item = Vec<usize>> {
    (0_usize..1 << factors).map(move |set| {
        (0..factors)
            .filter(|factor| set >> factor & 1 == 1)
            .collect()
    })
}
