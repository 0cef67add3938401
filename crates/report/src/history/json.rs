//! A history for other programs. Values that are not known are `null`.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{
    compare::ConditionChange,
    history::{
        HistoryChange, HistoryModel, HistoryRunFacts, HistorySeries, HostScope, MetricHistory,
    },
};
use waggle_metrics::{NamedMetric, Row};

use super::words;
use crate::{
    compare::json::Difference,
    layout::json_values::{Level, Value, levels},
    parts::opening::notes::Note,
    words::labels,
};

/// The format of [`History`]; a change that a reader must know of counts it up.
const FORMAT: u32 = 1;

/// What `waggle history --json` writes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "waggle history")]
pub(crate) struct History<'a> {
    format: u32,
    study: &'a str,
    /// `no change`, `better`, `worse` or `undecided`.
    outcome: &'static str,
    /// The sentences of the page.
    answer: Vec<String>,
    /// Changes of less than this share are left out.
    min_change: f64,
    /// Whether all hosts are one series.
    all_hosts: bool,
    /// In order of time.
    runs: Vec<Run<'a>>,
    cells: Vec<Cell<'a>>,
    series: Vec<Series<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Run<'a> {
    name: &'a str,
    /// UTC.
    started: &'a str,
    host: &'a str,
    /// Trials with a result, and planned ones.
    trials: usize,
    planned: usize,
    /// What differs from the run before on the same host.
    changed: Vec<Difference>,
    /// What people have noted on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    notes: Vec<Note<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cell<'a> {
    name: &'a str,
    levels: Vec<Level<'a>>,
}

/// One metric in one cell on one host.
#[derive(Debug, Serialize, JsonSchema)]
struct Series<'a> {
    /// As in the columns of `tables.csv`, with the unit at the end.
    metric: &'a str,
    heading: &'a str,
    cell: &'a str,
    /// `null`: all hosts.
    host: Option<&'a str>,
    /// The smallest change, as a share, that four of five histories like this one would show, half-way through the runs since the
    /// last change; `null`: these are too few.
    smallest_change: Option<f64>,
    /// With the run as the unit, since the last change; `null`: fewer than three runs.
    over_runs: Option<OverRuns>,
    /// Whether it counts for the outcome: its host is still used.
    current: bool,
    points: Vec<Point<'a>>,
    /// Between changes; none of a series that is too short.
    levels: Vec<Span<'a>>,
    changes: Vec<Change<'a>>,
}

/// A metric over whole runs.
#[derive(Debug, Serialize, JsonSchema)]
struct OverRuns {
    runs: usize,
    value: RunsValue,
    /// Standard deviation of the logarithm of a run's value.
    scatter: f64,
    /// The part of it that the trials within runs explain, and the rest; `null`: not known.
    within: Option<f64>,
    between: Option<f64>,
    /// The share of the variance that lies between runs; `null`: not known.
    share_between: Option<f64>,
}

/// The geometric mean of the runs' values, and the ends of its 95 % interval.
#[derive(Debug, Serialize, JsonSchema)]
struct RunsValue {
    point: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Point<'a> {
    run: &'a str,
    value: Option<Value>,
    verdict: Option<&'static str>,
    /// Whether the system's own value may differ.
    doubtful: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Span<'a> {
    first_run: &'a str,
    last_run: &'a str,
    value: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Change<'a> {
    last_run_before: &'a str,
    first_run_after: &'a str,
    before: f64,
    after: f64,
    /// After ÷ before; what it rests on are runs.
    ratio: Option<Value>,
    /// How often a series without a change shows so clear a step.
    p_value: f64,
    /// `better`, `worse`, `different` or `undecided`.
    judgement: &'static str,
    /// Why it is undecided, or that it is over.
    remark: Option<&'static str>,
    /// Whether a later level is as good as the one before.
    recovered: bool,
    /// Whether a note accepts the new level; absent: none does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    accepted: bool,
    /// What else changed at the same time.
    conditions: Vec<Difference>,
}

impl<'a> History<'a> {
    pub(crate) fn new(model: &'a HistoryModel) -> Self {
        let cells = model.cells.iter().map(|cell| Cell {
            name: &cell.name,
            levels: levels(&cell.levels),
        });
        let all = model.series();
        Self {
            format: FORMAT,
            study: &model.study,
            outcome: words::outcome_label(model.outcome()),
            answer: words::sentences(model),
            min_change: model.min_change,
            all_hosts: model.hosts == HostScope::Together,
            runs: model.runs.iter().map(|run| Run::new(model, run)).collect(),
            cells: cells.collect(),
            series: all
                .map(|(metric, series)| Series::new(model, metric, series))
                .collect(),
        }
    }
}

impl<'a> Run<'a> {
    fn new(model: &'a HistoryModel, run: &'a HistoryRunFacts) -> Self {
        Self {
            name: &run.name,
            started: &run.started_utc,
            host: &model.host_names[run.host],
            trials: run.trials,
            planned: run.planned,
            changed: differences(&run.changes),
            notes: run.notes.iter().map(Note::new).collect(),
        }
    }
}

fn differences(changes: &[ConditionChange]) -> Vec<Difference> {
    changes.iter().map(Difference::new).collect()
}

impl<'a> Series<'a> {
    fn new(model: &'a HistoryModel, metric: &'a MetricHistory, series: &'a HistorySeries) -> Self {
        let row = NamedMetric::of_all(metric.metric).row;
        let run = |point: usize| model.runs[series.points[point].run].name.as_str();
        let points = series.points.iter().map(|point| Point {
            run: &model.runs[point.run].name,
            value: Value::of_metric(row, point.number),
            verdict: point.verdict.map(labels::verdict),
            doubtful: point.is_doubtful,
        });
        let levels = series.levels().into_iter();
        let levels = levels.map(|(first, last, value)| Span {
            first_run: run(first),
            last_run: run(last),
            value: row.in_column(value),
        });
        let changes = series.changes.iter();
        Self {
            metric: &metric.column,
            heading: &metric.name,
            cell: &model.cells[series.cell].name,
            host: series.host.map(|host| model.host_names[host].as_str()),
            smallest_change: series.smallest_change,
            over_runs: series
                .over_runs
                .as_ref()
                .map(|over| OverRuns::new(over, row)),
            current: series.is_current,
            points: points.collect(),
            levels: levels.collect(),
            changes: changes
                .map(|change| Change::new(change, row, words::runs_of(model, series, change)))
                .collect(),
        }
    }
}

impl OverRuns {
    fn new(over: &waggle_stats::OverRuns, row: &Row) -> Self {
        Self {
            runs: over.estimate.count,
            value: RunsValue::new(&over.estimate, row),
            scatter: over.scatter,
            within: over.within,
            between: over.between,
            share_between: over.share_between(),
        }
    }
}

impl RunsValue {
    fn new(estimate: &waggle_stats::Estimate, row: &Row) -> Self {
        let ends = estimate.interval;
        Self {
            point: row.in_column(estimate.point),
            low: ends.map(|(low, _)| row.in_column(low)),
            high: ends.map(|(_, high)| row.in_column(high)),
        }
    }
}

impl<'a> Change<'a> {
    fn new(change: &HistoryChange, row: &Row, [before, after]: [&'a HistoryRunFacts; 2]) -> Self {
        Self {
            last_run_before: &before.name,
            first_run_after: &after.name,
            before: row.in_column(change.before),
            after: row.in_column(change.after),
            ratio: Value::of_ratio(&change.ratio),
            p_value: change.p_value,
            judgement: words::judgement_label(change.judgement),
            remark: words::change_remark(change),
            recovered: change.is_recovered,
            accepted: change.is_accepted,
            conditions: differences(&change.conditions),
        }
    }
}
