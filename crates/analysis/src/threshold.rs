//! The study's conditions, held against every cell's numbers.

use waggle_results::ThresholdInfo;
use waggle_stats::Verdict;

use crate::{CellModel, metric::unit, text, words};

/// One condition of the study over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdOutcome {
    /// As written in the study.
    pub text: String,
    /// In every cell.
    pub holds: bool,
    pub cells: Vec<ThresholdCell>,
}

/// One condition in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdCell {
    pub cell: u32,
    pub holds: bool,
    /// The number with its unit, where there is one.
    pub observed: Option<String>,
    /// Why it fails where the number alone does not say so.
    pub reason: Option<String>,
}

pub(crate) fn outcome(threshold: &ThresholdInfo, cells: &[CellModel]) -> ThresholdOutcome {
    let cells: Vec<ThresholdCell> = cells.iter().map(|cell| in_cell(threshold, cell)).collect();
    ThresholdOutcome {
        text: threshold.text.clone(),
        holds: !cells.is_empty() && cells.iter().all(|cell| cell.holds),
        cells,
    }
}

pub(crate) fn in_cell(threshold: &ThresholdInfo, cell: &CellModel) -> ThresholdCell {
    let number = cell.value(&threshold.number);
    let observed = number.map(|value| text::in_unit(value, unit(&threshold.number)));
    let counts = |verdict: Verdict| {
        if is_recovery(&threshold.number) {
            verdict.counts_for_recovery()
        } else {
            words::may_be_believed(verdict)
        }
    };
    let reason = match (cell.verdict, number) {
        (None, _) if cell.is_searched => Some("no level of it holds".to_owned()),
        (None, _) => Some("no trial of it has run".to_owned()),
        (Some(verdict), _) if !counts(verdict) => Some(format!(
            "does not count: the cell is {}",
            words::verdict(verdict)
        )),
        (Some(_), None) if is_recovery(&threshold.number) => Some(not_recovered(cell)),
        (Some(_), None) => Some(format!(
            "the run has no number {}",
            threshold.number.join(".")
        )),
        _ => None,
    };
    let holds = reason.is_none()
        && number.is_some_and(|number| threshold.op.holds(number, threshold.value));
    ThresholdCell {
        cell: cell.cell,
        holds,
        observed,
        reason,
    }
}

/// Whether a condition is on the time after the measured phase.
pub fn is_recovery(number: &[String]) -> bool {
    number == ["recovery"]
}

/// Why a cell has no time of recovery.
fn not_recovered(cell: &CellModel) -> String {
    match &cell.recovery {
        Some(recovery) => format!(
            "{} of {} trials did not recover within {}",
            recovery.trials.len() - recovery.recovered,
            recovery.trials.len(),
            text::set_time_s(recovery.not_within_s().unwrap_or(recovery.asked.at_most_s))
        ),
        None => "no trial of it came to the end of its recovery".to_owned(),
    }
}
