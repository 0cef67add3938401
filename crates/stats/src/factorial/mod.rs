//! A full factorial design: the effect of each factor as a ratio of levels, and how much of the variation each source explains.
//!
//! All arithmetic is on logarithms, so that effects multiply and a ratio is a difference. Each cell counts with the mean of its
//! trials, however many they are, so that a cell with fewer trials biases no factor. Near overload cells scatter very differently, so
//! nothing rests on one variance of all cells: intervals and tests are those of `contrast`. Sources: Jain, The Art of Computer Systems
//! Performance Analysis (1991), chapters 17, 18, 22 and 23; Montgomery, Design and Analysis of Experiments, chapter 5 (unequal numbers:
//! the method of unweighted means).

mod variation;

pub use variation::{Source, Variation};

use crate::{
    arithmetic::sample::{mean, size, squares_about},
    intervals::{
        contrast::{Pooled, Sample, Term, contrast, values},
        estimate::{Estimate, Scale, TestedEstimate, p_value, ratio_interval},
        trials_needed::{TrialsNeeded, differing_trials},
    },
};

/// Values within this share of each other are equal: the difference is rounding.
const SAME_WITHIN: f64 = 1e-9;

/// Why values give no effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEffects {
    /// No factor, one with fewer than two levels, or not as many cells as there are combinations.
    NoGrid,
    /// No trial of this cell has a value; cells count from 0.
    Empty { cell: usize },
    /// A value of this cell is below zero, or no number, and has no logarithm.
    NotPositive { cell: usize },
    /// All values are the same.
    Constant,
    /// The highest cell is above the lowest by less than the metric's resolution, or one value is possible in all cells.
    Unresolved,
}

/// The trials of one cell.
#[derive(Debug, Clone)]
struct Cell {
    /// Logarithms.
    trials: Vec<Sample>,
    mean: f64,
    /// The lowest that the mean may be, as far as the trials' values are known.
    least: f64,
    /// The highest.
    most: f64,
    count: usize,
}

impl Cell {
    fn new(trials: Vec<Sample>) -> Self {
        let logs = values(&trials);
        let count = logs.len();
        let lowest: Vec<f64> = trials.iter().map(|trial| trial.least).collect();
        let highest: Vec<f64> = trials.iter().map(|trial| trial.most).collect();
        Self {
            mean: mean(&logs),
            least: mean(&lowest),
            most: mean(&highest),
            count,
            trials,
        }
    }
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
    resolution: f64,
}

impl Factorial {
    /// A grid with `levels[f]` levels of each factor `f`, at least two, and the values of each cell's trials. The last factor
    /// changes fastest, the first one slowest. A value below the resolution (0: not known) counts as the resolution.
    ///
    /// # Errors
    /// If the values give no effects.
    pub fn new(
        levels: &[usize],
        cells: &[Vec<Sample>],
        resolution: f64,
    ) -> Result<Self, NoEffects> {
        let is_grid = !levels.is_empty()
            && levels.iter().all(|count| *count >= 2)
            && levels
                .iter()
                .try_fold(1_usize, |size, count| size.checked_mul(*count))
                == Some(cells.len());
        match is_grid {
            true => Self::from_samples(levels, cells, resolution),
            false => Err(NoEffects::NoGrid),
        }
    }

    /// The same of one factor, whose levels all have the same `others` cells, at least one, in the same order: those of the first
    /// level first.
    ///
    /// # Errors
    /// If the values give no effects.
    pub fn of_levels(
        levels: usize,
        others: usize,
        cells: &[Vec<Sample>],
        resolution: f64,
    ) -> Result<Self, NoEffects> {
        let is_grid = levels >= 2 && others >= 1 && levels.checked_mul(others) == Some(cells.len());
        match is_grid {
            true => Self::from_samples(&[levels, others], cells, resolution),
            false => Err(NoEffects::NoGrid),
        }
    }

    fn from_samples(
        levels: &[usize],
        cells: &[Vec<Sample>],
        resolution: f64,
    ) -> Result<Self, NoEffects> {
        if let Some(cell) = cells.iter().position(Vec::is_empty) {
            return Err(NoEffects::Empty { cell });
        }
        let fits = |trial: &Sample| trial.value >= 0.0 && trial.value.is_finite();
        if let Some(cell) = cells.iter().position(|trials| !trials.iter().all(fits)) {
            return Err(NoEffects::NotPositive { cell });
        }
        let all: Vec<f64> = cells.iter().flatten().map(|trial| trial.value).collect();
        if all.iter().all(|value| *value <= 0.0) {
            return Err(NoEffects::Constant);
        }
        let groups: Vec<&[Sample]> = cells.iter().map(Vec::as_slice).collect();
        let logs = Scale::from_resolution(resolution).sample_logs(&groups);
        Self::from_logs(
            levels,
            logs.into_iter().map(Cell::new).collect(),
            resolution,
        )
    }

    fn from_logs(levels: &[usize], cells: Vec<Cell>, resolution: f64) -> Result<Self, NoEffects> {
        let all = || cells.iter().flat_map(|cell| &cell.trials);
        let ends = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
            (log.value.min(low), log.value.max(high))
        });
        if ends.1 - ends.0 < SAME_WITHIN {
            return Err(NoEffects::Constant);
        }
        let degrees: usize = cells.iter().map(|cell| cell.count - 1).sum();
        let within = cells
            .iter()
            .map(|cell| squares_about(&values(&cell.trials), cell.mean))
            .sum();
        let design = Self {
            levels: levels.to_vec(),
            cells,
            within,
            degrees,
            resolution,
        };
        match design.is_resolved() {
            true => Ok(design),
            false => Err(NoEffects::Unresolved),
        }
    }

    /// Whether no value is possible in all cells, as far as they are bounded: the ranges of their means have none in common, and they differ
    /// by more than the metric's resolution.
    fn is_resolved(&self) -> bool {
        let is_bounded = |cell: &&Cell| cell.least.is_finite() && cell.most.is_finite();
        let ends = self.cells.iter();
        let ends = ends.map(|cell| match is_bounded(&cell) {
            true => (cell.least, cell.most),
            false => (cell.mean, cell.mean),
        });
        let (highest_least, lowest_most) = ends.fold(
            (f64::NEG_INFINITY, f64::INFINITY),
            |(least, most), (low, high)| (least.max(low), most.min(high)),
        );
        let (low, high) = self.span();
        highest_least > lowest_most && high - low >= self.resolution
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
            .map(|level| {
                let sides = (level, 0);
                self.ratio(factor, sides, self.pooled_variance(), |_| true)
                    .estimate
            })
            .collect()
    }

    /// One level of a factor as a ratio to the first, at each level of another factor, in their order. With two factors that is one
    /// cell against another, and there is no interval if one of them has a single trial.
    #[must_use]
    pub fn ratios_by(&self, factor: usize, level: usize, by: usize) -> Vec<TestedEstimate> {
        let pooled = self.pooled_variance().filter(|_| self.levels.len() > 2);
        (0..self.levels[by])
            .map(|held| {
                let is_held = |cell: usize| self.level(cell, by) == held;
                self.ratio(factor, (level, 0), pooled, is_held)
            })
            .collect()
    }

    /// A level of a factor as a ratio to another one: of geometric means over all cells that have it.
    #[must_use]
    pub fn ratio_of_levels(&self, factor: usize, level: usize, base: usize) -> TestedEstimate {
        self.ratio(factor, (level, base), self.pooled_variance(), |_| true)
    }

    /// Trials of each cell that show that two levels of a factor differ, by a p-value up to this limit; `None` as in
    /// [`trials_to_differ`](crate::intervals::trials_needed::trials_to_differ).
    #[must_use]
    pub fn trials_to_differ(
        &self,
        factor: usize,
        (level, base): (usize, usize),
        limit: f64,
    ) -> Option<TrialsNeeded> {
        let (new, old) = (
            self.side(factor, level, |_| true),
            self.side(factor, base, |_| true),
        );
        let difference = contrast(
            &[terms(&new, 1.0), terms(&old, -1.0)].concat(),
            self.pooled_variance(),
        );
        let trials = |side: &[&Cell]| side.iter().map(|cell| cell.count).max().unwrap_or(1);
        differing_trials(&difference, (trials(&new), trials(&old)), limit)
    }

    /// The geometric mean over all cells that have a level of a factor.
    #[must_use]
    pub fn mean_of_level(&self, factor: usize, level: usize) -> Estimate {
        let side = self.side(factor, level, |_| true);
        let level_mean = contrast(&terms(&side, 1.0), self.pooled_variance());
        Estimate {
            point: level_mean.sum.value.exp(),
            interval: level_mean
                .interval()
                .map(|(low, high)| (low.exp(), high.exp())),
            count: side.iter().map(|cell| cell.count).sum(),
            least: None,
        }
    }

    /// The cells that have a level of a factor.
    fn side(&self, factor: usize, level: usize, among: impl Fn(usize) -> bool) -> Vec<&Cell> {
        (0..self.cells.len())
            .filter(|cell| among(*cell) && self.level(*cell, factor) == level)
            .map(|cell| &self.cells[cell])
            .collect()
    }

    /// The first factor changes slowest.
    fn level(&self, cell: usize, factor: usize) -> usize {
        let stride: usize = self.levels[factor + 1..].iter().product();
        cell / stride % self.levels[factor]
    }

    /// One level of a factor ÷ another one.
    fn ratio(
        &self,
        factor: usize,
        (level, base): (usize, usize),
        pooled: Pooled,
        among: impl Fn(usize) -> bool,
    ) -> TestedEstimate {
        let new = self.side(factor, level, &among);
        let old = self.side(factor, base, &among);
        let middle =
            |side: &[&Cell]| side.iter().map(|cell| cell.mean).sum::<f64>() / size(side.len());
        let levels = (middle(&new), middle(&old));
        let difference = contrast(&[terms(&new, 1.0), terms(&old, -1.0)].concat(), pooled);
        let interval = ratio_interval(
            &difference,
            (levels.0.exp(), levels.1.exp()),
            self.resolution,
        );
        TestedEstimate {
            p_value: interval.and_then(|ends| p_value(&difference, ends)),
            is_paired: difference.is_paired(),
            estimate: Estimate {
                point: difference.sum.value.exp(),
                interval,
                count: new.iter().chain(&old).map(|cell| cell.count).sum(),
                least: None,
            },
        }
    }

    /// Of a single trial, over all cells.
    fn pooled_variance(&self) -> Pooled {
        (self.degrees > 0).then(|| (self.within / size(self.degrees), size(self.degrees)))
    }
}

/// The mean of cells, as terms of a contrast.
fn terms<'a>(cells: &[&'a Cell], sign: f64) -> Vec<Term<'a>> {
    let weight = sign / size(cells.len());
    let term = |cell: &&'a Cell| Term {
        weight,
        trials: &cell.trials,
    };
    cells.iter().map(term).collect()
}

/// Where a series of ratios crosses 1: the last index on the one side and the first on the other. Of each ratio whether it is shown
/// to be above 1, or below; `None`: neither is shown.
#[must_use]
pub fn crossovers(sides: &[Option<bool>]) -> Vec<(usize, usize)> {
    let sides = sides.iter().enumerate();
    let clear: Vec<(usize, bool)> = sides
        .filter_map(|(index, is_above)| Some((index, (*is_above)?)))
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
