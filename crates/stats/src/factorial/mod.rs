//! A full factorial design: the effect of each factor as a ratio of levels, and how much of the variation each source explains.
//!
//! All arithmetic is on logarithms, so that effects multiply and a ratio is a difference. Each cell counts with the mean of its
//! trials, however many they are, so that a cell with fewer trials biases no factor; intervals rest on the variance within the
//! cells, pooled. Sources: Jain, The Art of Computer Systems Performance Analysis (1991), chapters 17, 18, 22 and 23; Montgomery,
//! Design and Analysis of Experiments, chapter 5 (unequal numbers: the method of unweighted means).

mod variation;

pub use variation::{Source, Variation};

use crate::{
    Estimate,
    sample::{mean, size, squares_about},
    student::critical_95,
};

/// Values within this share of each other are equal: the difference is rounding.
const SAME_WITHIN: f64 = 1e-9;

/// Why values give no effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEffects {
    /// Fewer than two factors with two levels each, or not as many cells as there are combinations.
    NoGrid,
    /// No trial of this cell has a value; cells count from 0.
    Empty { cell: usize },
    /// A value of this cell is zero or less, or no number, and has no logarithm.
    NotPositive { cell: usize },
    /// All values are the same.
    Constant,
}

/// The trials of one cell.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Of the logarithms.
    mean: f64,
    count: usize,
}

/// One outcome over a complete grid of factors.
#[derive(Debug, Clone)]
pub struct Factorial {
    /// How many levels each factor has.
    levels: Vec<usize>,
    cells: Vec<Cell>,
    /// Sum of squares about the cells' means, and its degrees of freedom: 0 if each cell has one trial.
    within: f64,
    degrees: usize,
}

impl Factorial {
    /// A grid with `levels[f]` levels of each factor `f`, at least two, and the values of each cell's trials. The last factor
    /// changes fastest, the first one slowest.
    ///
    /// # Errors
    /// If the values give no effects.
    pub fn new(levels: &[usize], cells: &[Vec<f64>]) -> Result<Self, NoEffects> {
        let is_grid = levels.len() >= 2
            && levels.iter().all(|count| *count >= 2)
            && levels
                .iter()
                .try_fold(1_usize, |size, count| size.checked_mul(*count))
                == Some(cells.len());
        if !is_grid {
            return Err(NoEffects::NoGrid);
        }
        if let Some(cell) = cells.iter().position(Vec::is_empty) {
            return Err(NoEffects::Empty { cell });
        }
        let fits = |value: &f64| *value > 0.0 && value.is_finite();
        if let Some(cell) = cells.iter().position(|values| !values.iter().all(fits)) {
            return Err(NoEffects::NotPositive { cell });
        }
        let logs: Vec<Vec<f64>> = cells
            .iter()
            .map(|values| values.iter().map(|value| value.ln()).collect())
            .collect();
        let all = || logs.iter().flatten().copied();
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
            (log.min(low), log.max(high))
        });
        if high - low < SAME_WITHIN {
            return Err(NoEffects::Constant);
        }
        let of = |logs: &Vec<f64>| Cell {
            mean: mean(logs),
            count: logs.len(),
        };
        Ok(Self {
            levels: levels.to_vec(),
            cells: logs.iter().map(of).collect(),
            within: logs
                .iter()
                .map(|logs| squares_about(logs, mean(logs)))
                .sum(),
            degrees: logs.iter().map(|logs| logs.len() - 1).sum(),
        })
    }

    /// Degrees of freedom of the variance between trials of the same cell; 0: nothing has an interval.
    #[must_use]
    pub fn degrees(&self) -> usize {
        self.degrees
    }

    /// The lowest and the highest cell, each the geometric mean of its trials.
    #[must_use]
    pub fn span(&self) -> (f64, f64) {
        let means = || self.cells.iter().map(|cell| cell.mean);
        let low = means().fold(f64::INFINITY, f64::min);
        let high = means().fold(f64::NEG_INFINITY, f64::max);
        (low.exp(), high.exp())
    }

    /// Each level of a factor but the first, as a ratio to the first: of geometric means over all cells that have it.
    #[must_use]
    pub fn ratios(&self, factor: usize) -> Vec<Estimate> {
        (1..self.levels[factor])
            .map(|level| self.ratio(factor, level, |_| true))
            .collect()
    }

    /// One level of a factor as a ratio to the first, at each level of another factor, in their order.
    #[must_use]
    pub fn ratios_by(&self, factor: usize, level: usize, by: usize) -> Vec<Estimate> {
        (0..self.levels[by])
            .map(|held| self.ratio(factor, level, |cell| self.level(cell, by) == held))
            .collect()
    }

    /// The first factor changes slowest.
    fn level(&self, cell: usize, factor: usize) -> usize {
        let stride: usize = self.levels[factor + 1..].iter().product();
        cell / stride % self.levels[factor]
    }

    fn ratio(&self, factor: usize, level: usize, among: impl Fn(usize) -> bool) -> Estimate {
        let side = |level: usize| {
            let cells = (0..self.cells.len())
                .filter(|cell| among(*cell) && self.level(*cell, factor) == level);
            Side::from_cells(&cells.map(|cell| self.cells[cell]).collect::<Vec<_>>())
        };
        let (new, old) = (side(level), side(0));
        let log = new.mean - old.mean;
        let off = (self.degrees > 0).then(|| {
            let degrees = size(self.degrees);
            let variance = self.within / degrees * (new.inverse + old.inverse);
            critical_95(degrees) * variance.sqrt()
        });
        Estimate {
            point: log.exp(),
            interval: off.map(|off| ((log - off).exp(), (log + off).exp())),
            count: new.count + old.count,
        }
    }
}

/// The cells on one side of a comparison.
struct Side {
    /// Of the cells' means.
    mean: f64,
    /// The variance of that mean, in variances of one trial: the mean of 1 ÷ count, over the number of cells.
    inverse: f64,
    count: usize,
}

impl Side {
    fn from_cells(cells: &[Cell]) -> Self {
        let number = size(cells.len());
        let inverses: f64 = cells.iter().map(|cell| 1.0 / size(cell.count)).sum();
        Self {
            mean: cells.iter().map(|cell| cell.mean).sum::<f64>() / number,
            inverse: inverses / (number * number),
            count: cells.iter().map(|cell| cell.count).sum(),
        }
    }
}

/// Where a series of ratios crosses 1: the last index on the one side and the first on the other. A ratio whose interval contains
/// 1, or that has no interval, is on neither side.
#[must_use]
pub fn crossovers(ratios: &[Estimate]) -> Vec<(usize, usize)> {
    let sides = ratios.iter().enumerate();
    let clear: Vec<(usize, bool)> = sides
        .filter(|(_, ratio)| ratio.interval.is_some())
        .filter_map(|(index, ratio)| Some((index, is_above(ratio)?)))
        .collect();
    clear
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| (pair[0].0, pair[1].0))
        .collect()
}

/// Whether a ratio is above 1; `None` if its interval contains 1.
#[must_use]
pub fn is_above(ratio: &Estimate) -> Option<bool> {
    side_of(ratio, 1.0)
}

/// Whether an estimate is above a value; `None` if its interval contains the value. Without an interval the point decides.
#[must_use]
pub fn side_of(estimate: &Estimate, value: f64) -> Option<bool> {
    let (low, high) = estimate
        .interval
        .unwrap_or((estimate.point, estimate.point));
    match (low > value, high < value) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
