//! The study's conditions, compared with every cell's metrics.
//!
//! A condition holds, or does not hold, if all values that the system can have say so: the interval over trials, opened on the side
//! on which a doubt leaves more possible. Otherwise it is undecided.

use waggle_metrics::{Metric, Unit};
use waggle_results::RunInfo;
use waggle_spec::{Comparison, Threshold};
use waggle_stats::{Bias, Range, Reason, ThinTail};

use crate::{
    cell::{
        cell_model::CellModel,
        decision::{Decision, decide},
    },
    info::metric_path::{self, unit},
    metric::{
        aspect::aspect,
        biases::{biases, failure_bias, is_of_failures},
        number::Number,
        windows::Hidden,
    },
};

/// One condition of the study over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdOutcome {
    /// As written in the study.
    pub text: String,
    /// What its metric is counted in.
    pub unit: Unit,
    /// In every cell: it fails if one fails, and holds if all hold.
    pub held: Decision,
    pub cells: Vec<ThresholdCell>,
}

/// One condition in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdCell {
    pub cell: u32,
    pub held: Decision,
    /// The value, if there is one.
    pub observed: Option<f64>,
    /// Why it does not hold, if the value alone does not say so.
    pub reason: Option<Shortcoming>,
}

/// Why a condition does not hold in a cell, or is undecided there.
#[derive(Debug, Clone, PartialEq)]
pub enum Shortcoming {
    /// No level that was searched for holds.
    NoLevelHolds,
    /// No trial of the cell has run.
    NotRun,
    /// The limit lies within the 95 % interval.
    Interval(f64, f64),
    /// The limit lies within the range in which the value is known.
    Within(f64, f64),
    /// It is that of a few windows of a sample: what it is for all records is not known.
    Windows(ThinTail),
    /// The system's own value may differ from the measured one in these directions.
    Doubtful(Vec<Bias>),
    /// So many of the trials did not recover within this time.
    NotRecovered {
        trials: usize,
        of: usize,
        within_s: f64,
    },
    /// In so many of the trials the control of the recovery was bad itself.
    NoReference { trials: usize, of: usize },
    /// No trial of the cell came to the end of its recovery.
    NoRecovery,
    /// The run has no such metric; its path.
    NoMetric(Vec<String>),
}

pub(crate) fn outcome(
    threshold: &Threshold,
    cells: &[CellModel],
    info: &RunInfo,
) -> ThresholdOutcome {
    let cells: Vec<ThresholdCell> = cells.iter().map(|cell| in_cell(threshold, cell)).collect();
    let worst = cells.iter().map(|cell| cell.held).max();
    ThresholdOutcome {
        text: threshold.text.clone(),
        unit: unit(&threshold.metric, &info.metrics),
        held: worst.unwrap_or(Decision::Undecided),
        cells,
    }
}

pub(crate) fn in_cell(threshold: &Threshold, cell: &CellModel) -> ThresholdCell {
    let number = cell.number(&threshold.metric);
    let (held, reason) = match number {
        Some(number) => compare(threshold, number, cell),
        // Nothing is asked of a load that is not there.
        None if cell.lacks(&threshold.metric) => (Decision::Holds, None),
        None => without_value(threshold, cell),
    };
    ThresholdCell {
        cell: cell.cell,
        held,
        observed: number.map(Number::point),
        reason,
    }
}

fn compare(
    threshold: &Threshold,
    number: Number,
    cell: &CellModel,
) -> (Decision, Option<Shortcoming>) {
    let point = number.point();
    let hidden = cell.hidden_value(&threshold.metric);
    let interval = match (threshold.op, hidden) {
        // Equality is asked of counts, which are exact.
        (Comparison::Equal, _) => (point, point),
        (_, Some(Hidden { within, .. })) => (within.low, within.high),
        (_, None) => number.ends(),
    };
    let biases =
        metric_path::metric(&threshold.metric).map_or_else(Vec::new, |metric| cell.biases(metric));
    let range = Range::new(interval, biases.iter().copied());
    let held = decide(threshold.op, range, threshold.value);
    let by_interval = decide(threshold.op, Range::new(interval, []), threshold.value);
    let is_open = |range: (f64, f64)| {
        decide(threshold.op, Range::new(range, []), threshold.value) == Decision::Undecided
    };
    let reason = match (held, by_interval) {
        (Decision::Undecided, Decision::Undecided) => {
            Some(match (hidden, range_of_point(number)) {
                (Some(hidden), _) => Shortcoming::Windows(hidden.thin),
                (None, Some(range)) if is_open(range) => Shortcoming::Within(range.0, range.1),
                _ => Shortcoming::Interval(interval.0, interval.1),
            })
        }
        (Decision::Undecided, _) => Some(Shortcoming::Doubtful(biases)),
        _ => None,
    };
    (held, reason)
}

/// In which a value is known, however the trials scatter; `None`: it is known exactly.
fn range_of_point(number: Number) -> Option<(f64, f64)> {
    match number {
        Number::Estimate(estimate) => Some((estimate.least?, estimate.point)),
        Number::Within(range) => Some((range.low, range.high)),
        Number::Exact(_) => None,
    }
}

/// What a single load shows of a condition: its value and the reasons of its verdict. There is no interval.
#[must_use]
pub fn held_in_load(
    threshold: &Threshold,
    value: f64,
    reasons: &[Reason],
) -> (Decision, Option<Shortcoming>) {
    let metric = metric_path::metric(&threshold.metric);
    let mut biases = metric.map_or_else(Vec::new, |metric| biases(aspect(metric), reasons));
    if metric.is_some_and(is_of_failures) {
        biases = biases.into_iter().filter_map(failure_bias).collect();
    }
    let held = decide(
        threshold.op,
        Range::new((value, value), biases.iter().copied()),
        threshold.value,
    );
    let reason = (held == Decision::Undecided).then_some(Shortcoming::Doubtful(biases));
    (held, reason)
}

fn without_value(threshold: &Threshold, cell: &CellModel) -> (Decision, Option<Shortcoming>) {
    let (held, reason) = match cell.verdict {
        None if cell.is_searched => (Decision::Fails, Shortcoming::NoLevelHolds),
        None => (Decision::Undecided, Shortcoming::NotRun),
        Some(_) if is_recovery(&threshold.metric) => not_recovered(cell),
        Some(_) => (
            Decision::Undecided,
            Shortcoming::NoMetric(threshold.metric.clone()),
        ),
    };
    (held, Some(reason))
}

/// Whether a condition is on the time after the measured phase.
pub fn is_recovery(number: &[String]) -> bool {
    metric_path::metric(number) == Some(Metric::RecoveryTime)
}

/// Why a cell has no time of recovery.
fn not_recovered(cell: &CellModel) -> (Decision, Shortcoming) {
    match &cell.recovery {
        Some(recovery) if recovery.not_recovered() == 0 => (
            Decision::Undecided,
            Shortcoming::NoReference {
                trials: recovery.without_reference(),
                of: recovery.trials.len(),
            },
        ),
        Some(recovery) => (
            Decision::Fails,
            Shortcoming::NotRecovered {
                trials: recovery.not_recovered(),
                of: recovery.trials.len(),
                within_s: recovery.not_within_s().unwrap_or(recovery.asked.duration_s),
            },
        ),
        None => (Decision::Undecided, Shortcoming::NoRecovery),
    }
}
