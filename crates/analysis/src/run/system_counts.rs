//! What the system counts next to what the load generator counts, over the whole load of each trial.

use waggle_results::{CountsRow, RunInfo};
use waggle_spec::{ComparedCount, CountComparison};

use crate::{
    cell::{cell_model::CellModel, outcome::counted_trials},
    recording::histogram::as_f64,
    trial::trial_model::TrialModel,
};

/// One metric of the system that is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CountComparisonModel {
    pub metric: String,
    pub info: CountComparison,
    /// One for each cell, in the order of the cells.
    pub cells: Vec<CellCounts>,
}

/// Both counts in the trials of one cell that came to their end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellCounts {
    pub cell: u32,
    /// Trials of which both counts are known, and all.
    pub trials: usize,
    pub of_trials: usize,
    /// Sums over these trials.
    pub client: f64,
    pub server: f64,
    /// The largest difference in a trial, server - client.
    pub largest: f64,
    /// Trials in which they differ by more than the tolerance.
    pub different: usize,
}

impl CountComparisonModel {
    /// How many cells have a trial in which the counts differ by more than the tolerance.
    #[must_use]
    pub fn different_cells(&self) -> usize {
        self.cells.iter().filter(|cell| cell.different > 0).count()
    }
}

pub(crate) fn count_comparisons(
    info: &RunInfo,
    cells: &[CellModel],
    trials: &[TrialModel],
) -> Vec<CountComparisonModel> {
    let mut comparisons = Vec::new();
    for metric in &info.metrics {
        let Some(info) = metric.comparison else {
            continue;
        };
        let counts = cells.iter();
        let counts = counts.map(|cell| cell_counts(&metric.name, info, cell, trials));
        comparisons.push(CountComparisonModel {
            metric: metric.name.clone(),
            cells: counts.collect(),
            info,
        });
    }
    comparisons
}

fn cell_counts(
    metric: &str,
    info: CountComparison,
    cell: &CellModel,
    trials: &[TrialModel],
) -> CellCounts {
    let of_trial = |trial: &TrialModel| {
        let mut metrics = trial.counts()?.metrics.iter();
        let known = metrics.find(|known| known.name == metric)?;
        Some((client_count(info.count, &trial.info.totals), known.growth?))
    };
    let counts: Vec<(f64, f64)> = counted_trials(cell, trials).filter_map(of_trial).collect();
    CellCounts {
        cell: cell.cell,
        of_trials: counted_trials(cell, trials).count(),
        ..CellCounts::new(&counts, info.tolerance)
    }
}

impl CellCounts {
    /// Of the counts of client and server in each trial.
    fn new(counts: &[(f64, f64)], tolerance: f64) -> Self {
        let difference = |(client, server): &(f64, f64)| server - client;
        let is_different = |entry: &&(f64, f64)| difference(entry).abs() > tolerance * entry.0;
        let largest = counts.iter().map(difference);
        Self {
            cell: 0,
            trials: counts.len(),
            of_trials: counts.len(),
            client: counts.iter().map(|(client, _)| client).sum(),
            server: counts.iter().map(|(_, server)| server).sum(),
            largest: largest
                .reduce(|known, entry| {
                    if entry.abs() > known.abs() {
                        entry
                    } else {
                        known
                    }
                })
                .unwrap_or_default(),
            different: counts.iter().filter(is_different).count(),
        }
    }
}

fn client_count(count: ComparedCount, totals: &CountsRow) -> f64 {
    as_f64(match count {
        ComparedCount::Sent => totals.sent,
        ComparedCount::Answered => totals.succeeded + totals.failed,
        ComparedCount::Succeeded => totals.succeeded,
        ComparedCount::Failed => totals.failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_beyond_the_tolerance_is_found_in_its_trial() {
        let check = |counts: &[(f64, f64)], tolerance: f64, different: usize, largest: f64| {
            let cell_counts = CellCounts::new(counts, tolerance);
            assert_eq!(
                (cell_counts.different, cell_counts.largest),
                (different, largest),
                "{counts:?}"
            );
        };
        check(&[], 0.0, 0, 0.0);
        check(&[(100.0, 100.0), (50.0, 50.0)], 0.0, 0, 0.0);
        // The sums are equal, and the trials are not.
        check(&[(100.0, 101.0), (100.0, 99.0)], 0.0, 2, 1.0);
        check(&[(100.0, 101.0), (100.0, 97.0)], 0.01, 1, -3.0);
        check(&[(0.0, 1.0)], 0.5, 1, 1.0);
    }
}
