//! Thresholds of the study and what they come to, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{Shortcoming, ThresholdOutcome};

use crate::words::conditions;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Threshold<'a> {
    text: &'a str,
    /// `holds`, `does not hold` or `undecided`, over all cells.
    result: &'static str,
    cells: Vec<ThresholdCell>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ThresholdCell {
    cell: u32,
    result: &'static str,
    /// In µs, per second, a share of 1, bytes or a count.
    observed: Option<f64>,
    why: Option<String>,
}

pub(crate) fn threshold(outcome: &ThresholdOutcome) -> Threshold<'_> {
    let why = |reason: &Shortcoming| conditions::shortcoming(reason, outcome.unit);
    let cell = |entry: &waggle_analysis::ThresholdCell| ThresholdCell {
        cell: entry.cell,
        result: conditions::decision_label(entry.held),
        observed: entry.observed.filter(|value| value.is_finite()),
        why: entry.reason.as_ref().map(why),
    };
    Threshold {
        text: &outcome.text,
        result: conditions::decision_label(outcome.held),
        cells: outcome.cells.iter().map(cell).collect(),
    }
}
