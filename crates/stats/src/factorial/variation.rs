//! Which share of an outcome's variation goes with each factor, with each pair of factors, and with none.

use super::{Factorial, SAME_WITHIN};
use crate::{sample::size, student::f_tail};

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

/// Most rounds of the search for the smallest effect that ranges allow.
const DESCENT_ROUNDS: usize = 200;

/// Significance level of the F test.
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
            .map(|(of, squares, degrees)| Variation {
                of,
                share: squares / total,
                degrees,
                p_value: self.p_value(of),
                is_significant: (self.p_value(of)).is_none_or(|p_value| p_value < SIGNIFICANCE),
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
        let factors = mains.len();
        let all = (0..factors).flat_map(|a| (a + 1..factors).map(move |b| (a, b)));
        all.map(|(a, b)| {
            // The design is balanced (every cell counts alike), so the parts are orthogonal: an interaction is the joint effect
            // less both main effects.
            let both = self.squares(&self.effects(&[a, b]));
            let ((_, of_a, degrees_a), (_, of_b, degrees_b)) = (mains[a], mains[b]);
            let together = (both - of_a - of_b).max(0.0);
            (Source::Pair(a, b), together, degrees_a * degrees_b)
        })
        .collect()
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

    /// The ANOVA-type statistic: the F distribution whose degrees of freedom follow from the cells' own variances. The F test on one
    /// pooled variance calls nothing something in up to a quarter of designs with one cell near overload (docs/design/0046).
    fn p_value(&self, of: Source) -> Option<f64> {
        if of == Source::Trials || self.degrees == 0 {
            return None;
        }
        let weights = self.projection(of);
        let cells = self.cells.len();
        let of_pair = |one: usize, other: usize| weights[one * cells + other];
        let means = self.closest_means(&weights);
        let (mut squares, mut products) = (0.0, 0.0);
        for (one, cell) in self.cells.iter().enumerate() {
            for (other, beside) in self.cells.iter().enumerate() {
                let weight = of_pair(one, other);
                squares += weight * means[one] * means[other];
                products += weight * weight * cell.error2 * beside.error2;
            }
        }
        let own = |index: usize| of_pair(index, index) * self.cells[index].error2;
        let trace: f64 = (0..cells).map(own).sum();
        if trace <= 0.0 {
            // Without scatter nothing is left to chance.
            return Some(if squares > SAME_WITHIN * SAME_WITHIN {
                0.0
            } else {
                1.0
            });
        }
        let below: f64 = (0..cells)
            .map(|index| own(index) * own(index) / self.cells[index].degrees)
            .sum();
        let trace2 = trace * trace;
        Some(f_tail(
            squares.max(0.0) / trace,
            (trace2 / products, trace2 / below),
        ))
    }

    /// The means of the cells, each within its range, of which a projection explains least: what is shown of these is shown of all.
    fn closest_means(&self, projection: &[f64]) -> Vec<f64> {
        let mut means: Vec<f64> = self.cells.iter().map(|cell| cell.mean).collect();
        let is_exact = self.cells.iter().all(|cell| cell.least >= cell.mean);
        if is_exact {
            return means;
        }
        // Coordinate descent: the sum of squares is convex, and the ranges are a box.
        for _ in 0..DESCENT_ROUNDS {
            let mut moved: f64 = 0.0;
            for (index, cell) in self.cells.iter().enumerate() {
                let row = &projection[index * means.len()..][..means.len()];
                let slope: f64 = row
                    .iter()
                    .zip(&means)
                    .map(|(weight, mean)| weight * mean)
                    .sum();
                if row[index] <= 0.0 {
                    continue;
                }
                let best =
                    (means[index] - slope / row[index]).clamp(cell.least.min(cell.mean), cell.mean);
                moved = moved.max((best - means[index]).abs());
                means[index] = best;
            }
            if moved < SAME_WITHIN {
                break;
            }
        }
        means
    }

    /// The projection of the cells' means on what a source explains, row by row.
    fn projection(&self, of: Source) -> Vec<f64> {
        let cells = self.cells.len();
        let factors: Vec<usize> = (0..self.levels.len()).collect();
        let weight = |one: usize, other: usize| -> f64 {
            let is_same = |factor: usize| self.level(one, factor) == self.level(other, factor);
            // Of a factor in the source: whether it is the same level, less the mean; of another: the mean.
            let of_factors = |within: &[usize]| -> f64 {
                let part = |factor: &usize| {
                    let mean = 1.0 / size(self.levels[*factor]);
                    match within.contains(factor) {
                        true => f64::from(u8::from(is_same(*factor))) - mean,
                        false => mean,
                    }
                };
                factors.iter().map(part).product()
            };
            match of {
                Source::Factor(factor) => of_factors(&[factor]),
                Source::Pair(a, b) => of_factors(&[a, b]),
                Source::Further => {
                    let mains: f64 = factors.iter().map(|factor| of_factors(&[*factor])).sum();
                    let all = factors.iter();
                    let pairs: f64 = all
                        .flat_map(|a| (a + 1..factors.len()).map(move |b| [*a, b]))
                        .map(|pair| of_factors(&pair))
                        .sum();
                    f64::from(u8::from(one == other)) - of_factors(&[]) - mains - pairs
                }
                Source::Trials => 0.0,
            }
        };
        (0..cells * cells)
            .map(|index| weight(index / cells, index % cells))
            .collect()
    }
}
