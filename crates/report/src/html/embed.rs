//! What the charts need, as JSON with short keys: numbers only, already judged and merged.

use serde_json::{Value, json};
use waggle_stats::Estimate;

use super::{comparisons, curves, disturbed, effects, published};
use crate::{rows, text, words};
use waggle_analysis::{
    CellModel, CellSearch, FindModel, Model, NamedSeries, Percentile, SpectrumPoint, StepModel,
    TrialModel, unit,
};

/// The whole of the page's data.
pub(super) fn chart_model(model: &Model) -> Value {
    json!({
        "counted": words::counted(model.counted),
        "factors": model.factors.iter().map(|factor| json!({ "name": factor.name, "levels": factor.levels })).collect::<Vec<_>>(),
        "cells": model.cells.iter().map(|cell| self::cell(model, cell)).collect::<Vec<_>>(),
        "trials": model.trials.iter().map(trial).collect::<Vec<_>>(),
        "best": model.answer.cell,
        "place": model.info.delivery_at,
        "watches": model.info.watches.iter().map(|watch| &watch.name).collect::<Vec<_>>(),
        "curves": model.curves.as_ref().map(curves::data),
        "comparisons": model.comparisons.iter().map(comparisons::data).collect::<Vec<_>>(),
        "effects": model.effects.as_ref().map(effects::chart_model),
        "published": model.published.as_ref().map(|published| published::data(published, model)),
        "search": model.find.as_ref().map(|find| search(model, find)),
    })
}

/// Every step as `[trial, level, [number of each condition], what it showed]`.
fn search(model: &Model, find: &FindModel) -> Value {
    let conditions: Vec<Value> = find
        .info
        .conditions
        .iter()
        .map(|condition| {
            json!({
                "text": condition.text,
                "name": condition.number.join("."),
                "limit": condition.value,
                "kind": words::unit(unit(&condition.number)),
            })
        })
        .collect();
    let of_cell = |search: &CellSearch| {
        let cell = model.cells.iter().find(|cell| cell.cell == search.cell);
        let steps: Vec<Value> = search
            .steps
            .iter()
            .map(|step| {
                json!([
                    step.key.repetition,
                    step.level,
                    step.numbers,
                    words::evidence(step.evidence)
                ])
            })
            .collect();
        json!({
            "cell": search.cell,
            "label": cell.map(|cell| text::levels(&cell.levels)),
            "holds": search.answer.holds.map(|held| held.level),
            "fails": search.answer.fails,
            "steps": steps,
        })
    };
    json!({
        "what": find.info.what,
        "conditions": conditions,
        "cells": find.cells.iter().map(of_cell).collect::<Vec<_>>(),
    })
}

fn cell(model: &Model, cell: &CellModel) -> Value {
    let levels: Vec<Option<usize>> = model
        .factors
        .iter()
        .map(|factor| {
            let (_, level) = cell.levels.iter().find(|(name, _)| *name == factor.name)?;
            factor.levels.iter().position(|one| one == level)
        })
        .collect();
    let mut told = json!({
        "cell": cell.cell,
        "label": text::levels(&cell.levels),
        "levels": levels,
        "verdict": cell.verdict.map_or("not run", words::verdict),
        "believed": cell.verdict.is_some_and(words::may_be_believed),
        "shown": rows::verdict(cell),
        "goodput": estimate(cell.goodput.as_ref()),
        "p50": percentile(&cell.response.p50),
        "p99": percentile(&cell.response.p99),
        "errors": cell.error_share.map(|share| vec![share]),
        "delay": percentile(&cell.delay.p99),
        "thin": { "p99": cell.response.p99.thin, "delay": cell.delay.p99.thin },
        "spectrum": spectrum(&cell.spectrum),
    });
    if !cell.steps.is_empty() {
        let step =
            |step: &StepModel| json!({ "name": step.name, "spectrum": spectrum(&step.spectrum) });
        told["steps"] = cell.steps.iter().map(step).collect();
    }
    told
}

fn spectrum(points: &[SpectrumPoint]) -> Vec<[f64; 2]> {
    let point = |point: &SpectrumPoint| [rounded(point.quantile, 8), point.us];
    points.iter().map(point).collect()
}

fn percentile(percentile: &Percentile) -> Value {
    estimate(percentile.estimate.as_ref())
}

/// `[point]`, or `[point, low, high]`, or nothing.
fn estimate(estimate: Option<&Estimate>) -> Value {
    let Some(estimate) = estimate else {
        return Value::Null;
    };
    match estimate.interval {
        Some((low, high)) => json!([
            rounded(estimate.point, 3),
            rounded(low, 3),
            rounded(high, 3)
        ]),
        None => json!([rounded(estimate.point, 3)]),
    }
}

fn trial(trial: &TrialModel) -> Value {
    let points: Vec<Value> = trial
        .series
        .points
        .iter()
        .map(|point| {
            json!([
                rounded(point.start_s, 3),
                rounded(point.end_s, 3),
                rounded(point.succeeded_per_s, 1),
                rounded(point.failed_per_s, 1),
                point.p50_us,
                point.p99_us,
                point.in_flight
            ])
        })
        .collect();
    let lines = |points: &[(f64, f64)]| -> Vec<[f64; 2]> {
        points
            .iter()
            .map(|(at, value)| [rounded(*at, 3), rounded(*value, 3)])
            .collect()
    };
    let named = |all: &[NamedSeries]| -> Vec<Value> {
        all.iter()
            .map(|one| json!([one.name, lines(&one.points)]))
            .collect()
    };
    let mut told = json!({
        "cell": trial.key.cell,
        "repetition": trial.key.repetition,
        "position": trial.position,
        "verdict": words::verdict(trial.verdict),
        "phases": trial.phases.iter()
            .map(|phase| json!([words::phase(phase.phase), rounded(phase.start_s, 3), rounded(phase.end_s, 3)]))
            .collect::<Vec<_>>(),
        "recovered": trial.recovery.and_then(|recovery| recovery.at_s()).map(|at_s| rounded(at_s, 3)),
        "points": points,
        "cpu": trial.series.cpu.iter().map(|one| json!([one.component, lines(&one.points)])).collect::<Vec<_>>(),
        "backlog": lines(&trial.series.backlog),
        "before": named(&trial.series.on_the_way),
        "watches": named(&trial.series.watches),
    });
    if let Some(disturbed) = &trial.disturbed {
        told["disturbed"] = disturbed::marks(disturbed);
    }
    told
}

/// Digits nobody can see would double the file.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
