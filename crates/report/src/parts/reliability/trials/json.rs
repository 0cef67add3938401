//! A trial, for other programs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{TrialModel, in_trial};
use waggle_metrics::NamedMetric;

use crate::{
    parts::reliability::verdicts::reason_json::{ReasonText, reason_text},
    words::labels,
};

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Trial<'a> {
    cell: u32,
    repetition: u32,
    /// In the order of execution, counted from 1.
    position: u32,
    started: &'a str,
    verdict: &'static str,
    reasons: Vec<ReasonText>,
    /// Stretches of the measured phase without a success although requests were waiting, in their order; `null`: not known.
    stalls: Option<Vec<Stall>>,
    /// By name, as in the columns of `tables.csv`, with the unit at the end.
    metrics: BTreeMap<String, f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Stall {
    /// Since the start of the measured phase.
    from_s: f64,
    length_s: f64,
    /// It lasted until the end of the phase.
    to_the_end: bool,
}

pub(crate) fn trial<'a>(trial: &'a TrialModel, all: &[NamedMetric<'_>]) -> Trial<'a> {
    let metric = |named: &NamedMetric<'_>| {
        let value = named.row.in_column(in_trial(named, trial)?);
        value.is_finite().then(|| (named.column(), value))
    };
    Trial {
        cell: trial.info.key.cell,
        repetition: trial.info.key.repetition,
        position: trial.info.position,
        started: &trial.info.started_utc,
        verdict: labels::verdict(trial.verdict),
        reasons: trial.reasons.iter().map(reason_text).collect(),
        stalls: trial.numbers.as_ref().and_then(|numbers| {
            let spans = numbers.stalls.as_ref()?;
            Some(spans.iter().map(stall).collect())
        }),
        metrics: all.iter().filter_map(metric).collect(),
    }
}

pub(crate) fn stall(span: &waggle_stats::StallSpan) -> Stall {
    Stall {
        from_s: span.from_s,
        length_s: span.length_s,
        to_the_end: span.to_the_end,
    }
}
