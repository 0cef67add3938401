//! A cell and how far its metrics are known, for other programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{AskedMetric, CellModel, Model, headline};
use waggle_metrics::NamedMetric;

use crate::{
    layout::json_values::{Level, Value, levels},
    parts::{
        cells::percentiles,
        reliability::verdicts::reason_json::{ReasonText, reason_text},
    },
    words::{labels, names},
};

/// How far a metric is known in a cell.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Asked {
    /// `estimate`, `bound` or `unknown`.
    verdict: &'static str,
    /// The lowest and the highest value that the system can have, in the unit of the metric; `null`: not known.
    low: Option<f64>,
    high: Option<f64>,
    /// Trials that have a doubt about it.
    doubtful_trials: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cell<'a> {
    number: u32,
    name: String,
    levels: Vec<Level<'a>>,
    /// Levels that are computed from these, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    derived: BTreeMap<&'a str, &'a str>,
    /// `null`: no trial has run, or no level holds.
    verdict: Option<&'static str>,
    reasons: Vec<ReasonText>,
    trials: Trials,
    error_rate: Option<f64>,
    /// How far the metrics that the study asks about are known, by name.
    asked: BTreeMap<String, Asked>,
    /// By name, as in the columns of `tables.csv`, with the unit at the end. A percentile is that of a typical trial.
    metrics: BTreeMap<String, Value>,
    /// Percentiles of all requests, and of all records, of the counted trials together, by the same names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pooled: BTreeMap<String, f64>,
    /// What the delivery delay at the last probe rests on; `null`: records were not followed.
    #[schemars(default)]
    delivery_delay: Option<percentiles::json::DeliveryDelay>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Trials {
    planned: u32,
    ran: usize,
    /// Those that the metrics rest on.
    counted: usize,
}

pub(crate) fn cell<'a>(model: &Model, cell: &'a CellModel, all: &[NamedMetric<'_>]) -> Cell<'a> {
    let metric = |named: &NamedMetric<'_>| {
        let number = model.number_of_cell(named, cell.cell)?;
        Some((named.column(), Value::of_metric(named.row, number)?))
    };
    let reason = |cell_reason: &waggle_analysis::CellReason| ReasonText {
        repetition: cell_reason.repetition,
        ..reason_text(&cell_reason.reason)
    };
    Cell {
        number: cell.cell,
        name: names::name_of(model, cell.cell),
        levels: levels(&cell.levels),
        derived: derived_levels(cell),
        verdict: cell.verdict.map(labels::verdict),
        reasons: cell.reasons.iter().map(reason).collect(),
        trials: Trials {
            planned: cell.planned,
            ran: cell.ran,
            counted: cell.counted,
        },
        error_rate: cell.error_rate,
        asked: asked_metrics(model, cell),
        metrics: all.iter().filter_map(metric).collect(),
        pooled: percentiles::json::pooled_percentiles(&cell.pooled),
        delivery_delay: cell.delay_source.map(percentiles::json::DeliveryDelay::new),
    }
}

pub(crate) fn asked_metrics(model: &Model, cell: &CellModel) -> BTreeMap<String, Asked> {
    let named = headline(&model.info).into_iter().zip(&cell.asked);
    let asked = named.map(|(named, asked)| (named.column(), asked_metric(&named, asked)));
    asked.collect()
}

fn asked_metric(named: &NamedMetric<'_>, asked: &AskedMetric) -> Asked {
    let end = |value: f64| {
        let shown = named.row.in_column(value);
        shown.is_finite().then_some(shown)
    };
    Asked {
        verdict: asked.verdict.name(),
        low: asked.range.and_then(|range| end(range.low)),
        high: asked.range.and_then(|range| end(range.high)),
        doubtful_trials: asked.doubtful,
    }
}

pub(crate) fn derived_levels(cell: &CellModel) -> BTreeMap<&str, &str> {
    let levels = cell.derived.iter();
    levels
        .map(|(name, level)| (name.as_str(), level.as_str()))
        .collect()
}
