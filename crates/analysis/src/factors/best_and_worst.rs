//! The best and the worst trial of each cell, by a list of metrics in order.
//!
//! Only trials that came to their end are ordered: a trial without a result is not one in which nothing succeeded. Of these, one
//! without a value is behind all that have one. Trials that are equal in all metrics are ordered by their repetition, the lower
//! one first, and it is said that they are equal.

use std::cmp::Ordering;

use waggle_metrics::{NamedMetric, Row};
use waggle_results::RunInfo;
use waggle_spec::OrderedMetric;

use crate::{
    cell::{
        cell_model::CellModel,
        outcome::{counted_trials, trials_of_cell},
    },
    info::{factor::Factor, metric_path::without_names},
    metric::trial_value::in_trial,
    trial::trial_model::TrialModel,
};

/// Up to this share of successes they are few.
pub const FEW_SUCCESSES: f64 = 0.95;

/// The best and the worst trial of each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct BestAndWorstModel {
    /// What the study asks for.
    pub info: waggle_spec::BestAndWorst,
    /// The metrics that order trials, the first one first.
    pub order: Vec<OrderMetric>,
    /// One for each cell, in the order of the cells.
    pub cells: Vec<BestAndWorst>,
    /// Where each cell is in the tables.
    pub grid: TableGrid,
}

/// A metric that orders trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderMetric {
    pub name: String,
    /// Its column in `tables.csv`.
    pub column: String,
    pub row: &'static Row,
    pub is_lowest_best: bool,
}

/// Cells by rows and columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableGrid {
    /// The factors of the rows, and of the columns.
    pub row_factors: Vec<String>,
    pub column_factors: Vec<String>,
    /// The levels of each row, and of each column.
    pub rows: Vec<Vec<String>>,
    pub columns: Vec<Vec<String>>,
    /// Of each row, at each column, the place of the cell.
    pub cells: Vec<Vec<Option<usize>>>,
}

/// Of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct BestAndWorst {
    pub cell: u32,
    /// Trials that ran, and those of them that are ordered.
    pub ran: usize,
    pub ordered: usize,
    /// `None`: no trial is ordered.
    pub best: Option<RankedTrial>,
    pub worst: Option<RankedTrial>,
    /// The least and the most failures in a trial.
    pub failures: Option<FailureRange>,
    /// In some trial not all was a success.
    pub has_unsuccessful: bool,
}

/// A trial at an end of the order.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedTrial {
    pub repetition: u32,
    /// Of each metric of the order.
    pub values: Vec<Option<f64>>,
    /// Repetitions that are equal to it in all of them.
    pub ties: Vec<u32>,
    pub successes: Option<SuccessCount>,
    pub failures: Option<f64>,
}

/// Successes, and all of which they are a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuccessCount {
    pub succeeded: f64,
    pub all: f64,
}

/// The least and the most failures in the trials of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureRange {
    pub least: f64,
    pub most: f64,
}

impl SuccessCount {
    /// Whether something did not succeed.
    #[must_use]
    pub fn has_failure(self) -> bool {
        self.succeeded < self.all
    }

    /// Whether no more than [`FEW_SUCCESSES`] succeeded.
    #[must_use]
    pub fn is_few(self) -> bool {
        self.all > 0.0 && self.succeeded / self.all <= FEW_SUCCESSES
    }
}

impl BestAndWorst {
    /// Whether the best trial by the order has more failures than another trial.
    #[must_use]
    pub fn has_fewer_failures_elsewhere(&self) -> bool {
        let best = self.best.as_ref().and_then(|best| best.failures);
        let range = self.failures;
        best.zip(range)
            .is_some_and(|(failures, range)| failures > range.least)
    }

    /// Whether the worst trial by the order has fewer failures than another trial.
    #[must_use]
    pub fn has_more_failures_elsewhere(&self) -> bool {
        let worst = self.worst.as_ref().and_then(|worst| worst.failures);
        let range = self.failures;
        worst
            .zip(range)
            .is_some_and(|(failures, range)| failures < range.most)
    }
}

/// `None`: the study does not ask for it.
pub(crate) fn best_and_worst(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
) -> Option<BestAndWorstModel> {
    let asked = info.best_and_worst.as_ref()?;
    let reader = Reader::new(asked, info);
    Some(BestAndWorstModel {
        order: reader
            .order
            .iter()
            .map(|(named, is_lowest_best)| OrderMetric::new(named, *is_lowest_best))
            .collect(),
        cells: cells.iter().map(|cell| reader.cell(cell, trials)).collect(),
        grid: TableGrid::new(&asked.rows, factors, cells),
        info: asked.clone(),
    })
}

/// The metrics of the study, as they are read from trials.
struct Reader<'a> {
    order: Vec<(NamedMetric<'a>, bool)>,
    failures: Option<NamedMetric<'a>>,
    successes: Option<(NamedMetric<'a>, Vec<NamedMetric<'a>>)>,
}

impl OrderMetric {
    /// A value in the unit of its column.
    #[must_use]
    pub fn in_column(&self, value: f64) -> f64 {
        self.row.in_column(value)
    }

    fn new(named: &NamedMetric<'_>, is_lowest_best: bool) -> Self {
        Self {
            name: named.heading(),
            column: named.column(),
            row: named.row,
            is_lowest_best,
        }
    }
}

impl<'a> Reader<'a> {
    fn new(asked: &'a waggle_spec::BestAndWorst, info: &RunInfo) -> Self {
        let ordered = |metric: &'a OrderedMetric| {
            Some((without_names(&metric.metric, info)?, metric.is_lowest_best))
        };
        let resolve = |path: &'a Vec<String>| without_names(path, info);
        Self {
            order: asked.order.iter().filter_map(ordered).collect(),
            failures: asked.failures.as_ref().and_then(resolve),
            successes: asked.successes.as_ref().and_then(|successes| {
                let totals: Option<Vec<_>> = successes.of.iter().map(resolve).collect();
                Some((resolve(&successes.metric)?, totals?))
            }),
        }
    }

    fn cell(&self, cell: &CellModel, trials: &[TrialModel]) -> BestAndWorst {
        let mut ordered: Vec<RankedTrial> = counted_trials(cell, trials)
            .map(|trial| self.trial(trial))
            .collect();
        ordered.sort_by(|a, b| {
            let by_metrics = self.compare(&a.values, &b.values);
            by_metrics.then(a.repetition.cmp(&b.repetition))
        });
        let with_ties = |trial: &RankedTrial| self.with_ties(trial, &ordered);
        BestAndWorst {
            cell: cell.cell,
            ran: trials_of_cell(cell.cell, trials).len(),
            ordered: ordered.len(),
            best: ordered.first().map(with_ties),
            worst: ordered.last().map(with_ties),
            failures: FailureRange::new(ordered.iter().filter_map(|trial| trial.failures)),
            has_unsuccessful: ordered
                .iter()
                .filter_map(|trial| trial.successes)
                .any(SuccessCount::has_failure),
        }
    }

    fn with_ties(&self, trial: &RankedTrial, all: &[RankedTrial]) -> RankedTrial {
        let is_tie = |other: &&RankedTrial| {
            other.repetition != trial.repetition
                && self.compare(&other.values, &trial.values) == Ordering::Equal
        };
        let ties = all.iter().filter(is_tie);
        RankedTrial {
            ties: ties.map(|other| other.repetition).collect(),
            ..trial.clone()
        }
    }

    fn trial(&self, trial: &TrialModel) -> RankedTrial {
        let value = |named: &NamedMetric<'_>| in_trial(named, trial);
        let order = self.order.iter();
        let successes = self.successes.as_ref().and_then(|(succeeded, totals)| {
            Some(SuccessCount {
                succeeded: value(succeeded)?,
                all: totals.iter().map(value).sum::<Option<f64>>()?,
            })
        });
        RankedTrial {
            repetition: trial.info.key.repetition,
            values: order.map(|(named, _)| value(named)).collect(),
            ties: Vec::new(),
            successes,
            failures: self.failures.as_ref().and_then(value),
        }
    }

    /// The better one is less.
    fn compare(&self, a: &[Option<f64>], b: &[Option<f64>]) -> Ordering {
        let pairs = self.order.iter().zip(a.iter().zip(b));
        let mut compared =
            pairs.map(|((_, is_lowest_best), (a, b))| compare_values(*a, *b, *is_lowest_best));
        let differs = compared.find(|ordering| ordering.is_ne());
        differs.unwrap_or(Ordering::Equal)
    }
}

/// The better one is less; a missing one is behind all others.
fn compare_values(a: Option<f64>, b: Option<f64>, is_lowest_best: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if is_lowest_best => a.total_cmp(&b),
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

impl FailureRange {
    /// `None`: no trial has a count.
    fn new(counts: impl Iterator<Item = f64>) -> Option<Self> {
        let ranges = counts.map(|count| Self {
            least: count,
            most: count,
        });
        ranges.reduce(|known, other| Self {
            least: known.least.min(other.least),
            most: known.most.max(other.most),
        })
    }
}

impl TableGrid {
    /// Factors with one level are in no head. Rows and columns are in the order of the cells.
    pub(crate) fn new(rows: &[String], factors: &[Factor], cells: &[CellModel]) -> Self {
        let varying = factors.iter().filter(|factor| factor.levels.len() > 1);
        let columns = varying.filter(|factor| !rows.contains(&factor.name));
        let column_factors: Vec<String> = columns.map(|factor| factor.name.clone()).collect();
        let mut grid = Self {
            row_factors: rows.to_vec(),
            column_factors,
            rows: Vec::new(),
            columns: Vec::new(),
            cells: Vec::new(),
        };
        for cell in cells {
            let (row, column) = grid.levels_of(cell);
            if !grid.rows.contains(&row) {
                grid.rows.push(row);
            }
            if !grid.columns.contains(&column) {
                grid.columns.push(column);
            }
        }
        grid.columns = grid.in_order_of_levels(factors);
        grid.cells = vec![vec![None; grid.columns.len()]; grid.rows.len()];
        for (place, cell) in cells.iter().enumerate() {
            let (row, column) = grid.levels_of(cell);
            let row = grid.rows.iter().position(|levels| *levels == row);
            let column = grid.columns.iter().position(|levels| *levels == column);
            if let Some((row, column)) = row.zip(column) {
                grid.cells[row][column] = Some(place);
            }
        }
        grid
    }

    fn levels_of(&self, cell: &CellModel) -> (Vec<String>, Vec<String>) {
        let level = |factor: &String| {
            let entry = cell.levels.iter().find(|(name, _)| name == factor);
            entry.map(|(_, level)| level.clone()).unwrap_or_default()
        };
        let levels = |factors: &[String]| factors.iter().map(level).collect();
        (levels(&self.row_factors), levels(&self.column_factors))
    }

    fn in_order_of_levels(&self, factors: &[Factor]) -> Vec<Vec<String>> {
        let place = |(name, level): (&String, &String)| {
            let factor = factors.iter().find(|factor| factor.name == *name)?;
            factor.levels.iter().position(|known| known == level)
        };
        let mut columns = self.columns.clone();
        columns.sort_by_key(|levels| -> Vec<Option<usize>> {
            self.column_factors.iter().zip(levels).map(place).collect()
        });
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_behind_all_others() {
        let check = |values: [Option<f64>; 2], is_lowest_best: bool, expected: Ordering| {
            let ordering = compare_values(values[0], values[1], is_lowest_best);
            assert_eq!(ordering, expected, "{values:?}");
        };
        check([Some(2.0), Some(1.0)], false, Ordering::Less);
        check([Some(2.0), Some(1.0)], true, Ordering::Greater);
        check([None, Some(0.0)], false, Ordering::Greater);
        check([None, Some(9.0)], true, Ordering::Greater);
        check([None, None], true, Ordering::Equal);
        check([Some(1.0), Some(1.0)], false, Ordering::Equal);
    }

    #[test]
    fn up_to_95_percent_are_few() {
        let check = |succeeded: f64, all: f64, expected: (bool, bool)| {
            let count = SuccessCount { succeeded, all };
            assert_eq!((count.has_failure(), count.is_few()), expected, "{count:?}");
        };
        check(100.0, 100.0, (false, false));
        check(96.0, 100.0, (true, false));
        check(95.0, 100.0, (true, true));
        check(0.0, 0.0, (false, false));
    }
}
