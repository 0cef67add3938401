//! The study's conditions, held against every cell's numbers.

use waggle_metrics::{Metric, Unit};
use waggle_results::ThresholdInfo;
use waggle_stats::Verdict;

use crate::{CellModel, metric::unit, path};

/// One condition of the study over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdOutcome {
    /// As written in the study.
    pub text: String,
    /// What its number is counted in.
    pub unit: Unit,
    /// In every cell.
    pub holds: bool,
    pub cells: Vec<ThresholdCell>,
}

/// One condition in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdCell {
    pub cell: u32,
    pub holds: bool,
    /// The number, where there is one.
    pub observed: Option<f64>,
    /// Why it fails where the number alone does not say so.
    pub reason: Option<NotCounted>,
}

/// Why a condition fails in a cell whatever its number is.
#[derive(Debug, Clone, PartialEq)]
pub enum NotCounted {
    /// No level that was searched for holds.
    NoLevelHolds,
    /// No trial of the cell has run.
    NotRun,
    /// The cell may not be believed.
    Verdict(Verdict),
    /// So many of the trials did not recover within this time.
    NotRecovered {
        trials: usize,
        of: usize,
        within_s: f64,
    },
    /// No trial of the cell came to the end of its recovery.
    NoRecovery,
    /// The run has no such metric; its path.
    NoMetric(Vec<String>),
}

pub(crate) fn outcome(threshold: &ThresholdInfo, cells: &[CellModel]) -> ThresholdOutcome {
    let cells: Vec<ThresholdCell> = cells.iter().map(|cell| in_cell(threshold, cell)).collect();
    ThresholdOutcome {
        text: threshold.text.clone(),
        unit: unit(&threshold.metric),
        holds: !cells.is_empty() && cells.iter().all(|cell| cell.holds),
        cells,
    }
}

pub(crate) fn in_cell(threshold: &ThresholdInfo, cell: &CellModel) -> ThresholdCell {
    let number = cell.value(&threshold.metric);
    let counts = |verdict: Verdict| {
        if is_recovery(&threshold.metric) {
            verdict.counts_for_recovery()
        } else {
            verdict.counts_for_thresholds()
        }
    };
    let reason = match (cell.verdict, number) {
        (None, _) if cell.is_searched => Some(NotCounted::NoLevelHolds),
        (None, _) => Some(NotCounted::NotRun),
        (Some(verdict), _) if !counts(verdict) => Some(NotCounted::Verdict(verdict)),
        (Some(_), None) if is_recovery(&threshold.metric) => Some(not_recovered(cell)),
        (Some(_), None) => Some(NotCounted::NoMetric(threshold.metric.clone())),
        _ => None,
    };
    let holds = reason.is_none()
        && number.is_some_and(|number| threshold.op.holds(number, threshold.value));
    ThresholdCell {
        cell: cell.cell,
        holds,
        observed: number,
        reason,
    }
}

/// Whether a condition is on the time after the measured phase.
pub fn is_recovery(number: &[String]) -> bool {
    path::metric(number) == Some(Metric::RecoveryTime)
}

/// Why a cell has no time of recovery.
fn not_recovered(cell: &CellModel) -> NotCounted {
    match &cell.recovery {
        Some(recovery) => NotCounted::NotRecovered {
            trials: recovery.trials.len() - recovery.recovered,
            of: recovery.trials.len(),
            within_s: recovery.not_within_s().unwrap_or(recovery.asked.duration_s),
        },
        None => NotCounted::NoRecovery,
    }
}
