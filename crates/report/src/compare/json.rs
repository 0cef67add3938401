//! A comparison for other programs. Values that are not known are `null`.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{
    Number,
    compare::{
        CompareModel, Condition, ConditionChange, Judgement, MetricComparison, MetricPair,
        SampleUnit,
    },
};
use waggle_metrics::NamedMetric;
use waggle_stats::TrialsNeeded;

use super::words;
use crate::{
    layout::json_values::{Level, Value, levels},
    parts::cells::left_out::json::LeftOut,
    words::labels,
};

/// The format of [`Comparison`]; a change that a reader must know of counts it up.
const FORMAT: u32 = 1;

/// What `waggle compare --json` writes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "waggle comparison")]
pub(crate) struct Comparison<'a> {
    format: u32,
    study: &'a str,
    /// `same`, `better`, `worse` or `undecided`, over the metrics that the study asks about.
    outcome: &'static str,
    /// The sentences of the report.
    answer: Vec<String>,
    /// Ratios from 1 ÷ (1 + margin) to 1 + margin are the same.
    margin: f64,
    /// What one value is: a trial or the mean of a run; paired if both sides ran in the same repetitions, or in turn.
    sample: &'static str,
    /// The one that is compared with, and the one that is compared.
    sides: Vec<Side<'a>>,
    cells: Vec<Cell<'a>>,
    /// Cells that only one side has.
    only_in_first: &'a [String],
    only_in_second: &'a [String],
    /// Cells that a side left out, because their system could not be had.
    left_out_of_first: Vec<LeftOut>,
    left_out_of_second: Vec<LeftOut>,
    /// What else differs.
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Side<'a> {
    name: &'a str,
    /// When its runs began, UTC.
    started: &'a [String],
    /// Trials with a result, and planned ones.
    trials: usize,
    planned: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cell<'a> {
    name: &'a str,
    levels: Vec<Level<'a>>,
    /// Of each side.
    verdicts: [Option<&'static str>; 2],
    /// Accepted records that are missing, of each side.
    missing: [Option<u64>; 2],
    /// Failed ÷ answered requests, of each side.
    error_rates: [Option<f64>; 2],
    metrics: Vec<Metric<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Metric<'a> {
    /// As in the columns of `tables.csv`, with the unit at the end.
    name: &'a str,
    heading: &'a str,
    /// Whether the study asks about it.
    asked: bool,
    first: Option<Value>,
    second: Option<Value>,
    /// The second ÷ the first.
    ratio: Option<Value>,
    paired: bool,
    /// How often sides that differ by the margin, or less, show at least so much.
    p_value: Option<f64>,
    /// `same`, `better`, `worse`, `different` or `undecided`.
    judgement: &'static str,
    /// Why it is undecided.
    why: Option<String>,
    /// Values of each side that would decide, if the true ratio is the observed one and the scatter is as small as it may well be.
    trials_needed_min: Option<usize>,
    /// The same if the scatter is as large as it may well be; `null`: not known, or more than 200.
    trials_needed: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    what: String,
    first: String,
    second: String,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(model: &'a CompareModel) -> Self {
        let sides = model.sides.iter().map(|side| Side {
            name: &side.name,
            started: &side.started_utc,
            trials: side.trials,
            planned: side.planned,
        });
        Self {
            format: FORMAT,
            study: &model.study,
            outcome: words::outcome_label(model.outcome()),
            answer: words::sentences(model),
            margin: model.margin,
            sample: match model.unit {
                SampleUnit::PairedTrials => "paired_trials",
                SampleUnit::Trials => "trials",
                SampleUnit::PairedRuns => "paired_runs",
                SampleUnit::Runs => "runs",
            },
            sides: sides.collect(),
            cells: (0..model.cells.len())
                .map(|index| cell(model, index))
                .collect(),
            only_in_first: &model.unmatched[0],
            only_in_second: &model.unmatched[1],
            left_out_of_first: model.left_out_cells[0].iter().map(LeftOut::new).collect(),
            left_out_of_second: model.left_out_cells[1].iter().map(LeftOut::new).collect(),
            differences: model.changes.iter().map(Difference::new).collect(),
        }
    }
}

fn cell(model: &CompareModel, index: usize) -> Cell<'_> {
    let cell = &model.cells[index];
    let metrics = model.metrics.iter();
    let metrics = metrics.filter_map(|compared| metric(compared, index, model.unit));
    Cell {
        name: &cell.name,
        levels: levels(&cell.levels),
        verdicts: cell.verdicts.map(|verdict| verdict.map(labels::verdict)),
        missing: cell.missing,
        error_rates: cell.error_rates,
        metrics: metrics.collect(),
    }
}

/// `None` if the cell does not have it.
fn metric(compared: &MetricComparison, cell: usize, unit: SampleUnit) -> Option<Metric<'_>> {
    let pair = compared.cells.get(cell)?;
    let row = NamedMetric::of_all(compared.metric).row;
    let value = |number: Number| Value::of_metric(row, number);
    Some(Metric {
        name: &compared.column,
        heading: &compared.name,
        asked: compared.is_asked,
        first: pair.numbers[0].and_then(value),
        second: pair.numbers[1].and_then(value),
        ratio: pair.ratio.as_ref().and_then(Value::of_ratio),
        paired: pair.is_paired,
        p_value: pair.p_value,
        judgement: words::judgement_label(pair.judgement),
        why: words::open_reason(pair, unit),
        trials_needed_min: trials_needed(pair).map(|needed| needed.least),
        trials_needed: trials_needed(pair).and_then(|needed| needed.most),
    })
}

fn trials_needed(pair: &MetricPair) -> Option<TrialsNeeded> {
    match pair.judgement {
        Judgement::Undecided(open) => open.trials_needed,
        _ => None,
    }
}

impl Difference {
    /// The texts of files as they are.
    pub(crate) fn new(change: &ConditionChange) -> Self {
        let (what, _) = words::change(change);
        Self {
            what: match &change.what {
                Condition::Component(name) => format!("component {name}"),
                _ => what,
            },
            first: change.first.clone(),
            second: change.second.clone(),
        }
    }
}
