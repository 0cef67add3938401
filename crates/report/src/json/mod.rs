//! `report.json`: the report for other programs. What is not known is `null` or absent, never 0.
// long: the document is one value

mod best_and_worst;
mod delays;
mod effects;
mod growth;
mod laws;
mod operating_points;
mod searches;
pub(crate) mod values;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{
    self as analysis, Account, Between, CellModel, Conclusion, LeftOutGroup, Model,
    ThresholdOutcome, TrialModel, headline, in_trial, left_out_of_run,
};
use waggle_metrics::NamedMetric;
use waggle_results::FixedPart;
use waggle_stats::{Aspect, Bias, Reason};

use self::values::{Level, Value, levels};
use crate::{
    csv::numbers,
    labels,
    wording::{self, answer, conditions, findings, warnings},
};

/// The format of [`Report`]; a change that a reader must know of counts it up.
const FORMAT: u32 = 1;

/// `report.json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "waggle report")]
pub(crate) struct Report<'a> {
    format: u32,
    waggle_version: &'a str,
    study: &'a str,
    question: &'a str,
    seed: u64,
    /// RFC 3339, UTC.
    started: &'a str,
    /// `closed`, `open` or `users`.
    load_model: &'static str,
    system: &'a str,
    components: Vec<Component<'a>>,
    host: Host<'a>,
    /// `answered`, `failed`, `open` or `trial_failed`.
    conclusion: &'static str,
    /// That of `waggle report`, without `--strict`.
    exit_code: u8,
    /// The sentences of the page.
    answer: Vec<String>,
    /// Whether what they are about was asked before the run; `null`: not known.
    asked_before: Option<AskedBefore>,
    warnings: Vec<String>,
    factors: Vec<Factor<'a>>,
    /// Each level of each factor as a ratio to its first; empty if the cells form no complete grid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    effects: Vec<effects::Effect<'a>>,
    /// Names of the metrics that the study asks about.
    asks: Vec<String>,
    cells: Vec<Cell<'a>>,
    /// Cells of the study that were not run, because their system could not be had.
    left_out: Vec<LeftOut>,
    thresholds: Vec<Threshold<'a>>,
    /// What metrics follow over a factor with six or more numeric levels; empty if there is no such factor.
    scaling_laws: Vec<laws::ScalingLaw<'a>>,
    /// Where curves cross the bounds and thresholds of the study; empty without such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    scaling_bounds: Vec<growth::BoundResult<'a>>,
    /// Two levels of a factor over another; empty without `scaling.pairs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    scaling_pairs: Vec<growth::PairResult<'a>>,
    /// The best and the worst trial of each cell; `null`: the study does not ask for them.
    best_and_worst: Option<best_and_worst::BestAndWorst<'a>>,
    /// The answer of the search of each cell; empty without `search`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    searches: Vec<searches::CellSearch>,
    /// The cells at shares of their capacities; empty without `search.operating_points`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    operating_points: Vec<operating_points::OperatingPoint<'a>>,
    /// The smallest differences that 80 of 100 runs like this one show; empty of a search, and of single trials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    power: Vec<Power>,
    /// What became of the records of all cells; `null`: no account.
    account: Option<Accounting>,
    /// By cell and repetition; only those that have run.
    trials: Vec<Trial<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AskedBefore {
    /// `asked` or `found by looking`: that of the answer, and of what sections say about metrics in `asks` and in thresholds. All else was
    /// found by looking.
    origin: &'static str,
    /// SHA-256 of question, asks and thresholds when the run began, as `waggle plan` prints it; `null`: they were changed since then.
    sum: Option<String>,
    /// What was changed after the run began: `question`, `asks`, `thresholds`, `study file`.
    changed: Vec<&'static str>,
}

/// Which difference of a metric would be shown.
#[derive(Debug, Serialize, JsonSchema)]
struct Power {
    metric: String,
    /// `cells`: two of them; `runs`: the only cell, and that of another run.
    between: &'static str,
    /// Trials of a cell, the fewest of all.
    trials: usize,
    /// Standard deviation of the logarithm of a trial.
    scatter: f64,
    degrees_of_freedom: f64,
    /// Trials are compared repetition by repetition.
    paired: bool,
    /// The smallest difference, as a share: 0.25 is a ratio of 1.25 or 0.8; `null`: none.
    smallest_difference: Option<f64>,
    /// So many trials would show this smaller difference; `null`: no number within reason.
    more: Option<MoreTrials>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MoreTrials {
    trials: usize,
    difference: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Component<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Host<'a> {
    name: &'a str,
    kernel: &'a str,
    cpu_model: &'a str,
    cpus: u32,
    memory_bytes: u64,
    /// Load generator and system share the machine.
    shared: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Factor<'a> {
    name: &'a str,
    levels: &'a [String],
}

/// How far a metric is known in a cell.
#[derive(Debug, Serialize, JsonSchema)]
struct Asked {
    /// `estimate`, `bound` or `unknown`.
    verdict: &'static str,
    /// The lowest and the highest value that the system can have, in the unit of the metric; `null`: not known.
    low: Option<f64>,
    high: Option<f64>,
    /// Trials that have a doubt about it.
    doubtful_trials: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cell<'a> {
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
    delivery_delay: Option<delays::DeliveryDelay>,
}

/// Cells that are left out for the same reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    /// Their names, or the levels that only they have.
    cells: String,
    count: usize,
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Trials {
    planned: u32,
    ran: usize,
    /// Those that the metrics rest on.
    counted: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReasonText {
    /// The trial; `null`: all of them together.
    repetition: Option<u32>,
    verdict: &'static str,
    text: String,
    /// What it makes doubtful.
    doubts: Vec<Doubt>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Doubt {
    /// `requests`, `times`, `delivery`, `cpu`, `accounting` or `generator`.
    about: &'static str,
    /// Where the system's own value is: `at_most` or `at_least` the measured one, within a `factor` of it, or `unknown`.
    own_value: &'static str,
    factor: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Threshold<'a> {
    text: &'a str,
    /// `holds`, `does not hold` or `undecided`, over all cells.
    result: &'static str,
    cells: Vec<ThresholdCell>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ThresholdCell {
    cell: u32,
    result: &'static str,
    /// In µs, per second, a share of 1, bytes or a count.
    observed: Option<f64>,
    why: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Accounting {
    accepted: u64,
    delivered: u64,
    missing: u64,
    duplicates: u64,
    rejected: u64,
    rejected_delivered: u64,
    unknown: u64,
    unknown_delivered: u64,
    unexpected: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Trial<'a> {
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
struct Stall {
    /// Since the start of the measured phase.
    from_s: f64,
    length_s: f64,
    /// It lasted until the end of the phase.
    to_the_end: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(model: &'a Model) -> Self {
        let info = &model.info;
        let (conclusion, exit_code) = match model.conclusion(false) {
            Conclusion::Answered => ("answered", 0),
            Conclusion::Failed => ("failed", 3),
            Conclusion::Open => ("open", 4),
            Conclusion::TrialFailed => ("trial_failed", 5),
        };
        let all = numbers(model);
        let components = info.components.iter().map(|one| Component {
            name: &one.name,
            version: &one.version,
        });
        Self {
            format: FORMAT,
            waggle_version: &info.waggle_version,
            study: &info.study,
            question: &info.question,
            seed: info.seed,
            started: &info.started_utc,
            load_model: labels::load_model(info.load_model),
            system: &info.system,
            components: components.collect(),
            host: host(model),
            conclusion,
            exit_code,
            answer: answer::sentences(model),
            asked_before: asked_before(model),
            warnings: warnings::sentences(model),
            factors: model.factors.iter().map(factor).collect(),
            effects: effects::effects(model),
            asks: headline(info).iter().map(NamedMetric::column).collect(),
            cells: model
                .cells
                .iter()
                .map(|one| cell(model, one, &all))
                .collect(),
            left_out: left_out_of_run(info).iter().map(LeftOut::new).collect(),
            thresholds: model.thresholds.iter().map(threshold).collect(),
            scaling_laws: laws::laws(model),
            scaling_bounds: growth::bounds(model),
            scaling_pairs: growth::pairs(model),
            best_and_worst: model
                .best_and_worst
                .as_ref()
                .map(best_and_worst::best_and_worst),
            searches: searches::searches(model),
            operating_points: operating_points::operating_points(model),
            power: power(model),
            account: model.account.as_ref().map(accounting),
            trials: model.trials.iter().map(|one| trial(one, &all)).collect(),
        }
    }
}

impl LeftOut {
    pub(crate) fn new(group: &LeftOutGroup) -> Self {
        Self {
            cells: wording::left_out::cells(group),
            count: group.count,
            reason: wording::left_out::reason(&group.reason),
        }
    }
}

fn asked_before(model: &Model) -> Option<AskedBefore> {
    let origin = model.asked_before.origin(true)?;
    let (sum, changed) = match &model.asked_before {
        analysis::AskedBefore::Same {
            digest,
            is_study_changed,
        } => {
            let changed = is_study_changed.then_some(FixedPart::StudyFile);
            (Some(digest.clone()), changed.into_iter().collect())
        }
        analysis::AskedBefore::Changed(parts) => (None, parts.clone()),
        analysis::AskedBefore::Unknown => (None, Vec::new()),
    };
    Some(AskedBefore {
        origin: wording::asked_before::label(origin),
        sum,
        changed: changed
            .into_iter()
            .map(wording::asked_before::part)
            .collect(),
    })
}

fn power(model: &Model) -> Vec<Power> {
    let Some(power) = analysis::power(model) else {
        return Vec::new();
    };
    let between = match power.between {
        Between::Cells => "cells",
        Between::Runs => "runs",
    };
    let metric = |one: analysis::MetricPower| Power {
        between,
        trials: one.trials,
        scatter: one.scatter.deviation,
        degrees_of_freedom: one.scatter.degrees,
        paired: one.is_paired(),
        smallest_difference: one.smallest,
        more: one
            .more
            .map(|(trials, difference)| MoreTrials { trials, difference }),
        metric: one.column,
    };
    power.metrics.into_iter().map(metric).collect()
}

fn host(model: &Model) -> Host<'_> {
    let host = &model.info.host;
    Host {
        name: &host.name,
        kernel: &host.kernel,
        cpu_model: &host.cpu_model,
        cpus: host.cpus,
        memory_bytes: host.memory_bytes,
        shared: host.shared_with_system,
    }
}

fn factor(factor: &waggle_analysis::Factor) -> Factor<'_> {
    Factor {
        name: &factor.name,
        levels: &factor.levels,
    }
}

fn cell<'a>(model: &Model, cell: &'a CellModel, all: &[NamedMetric<'_>]) -> Cell<'a> {
    let metric = |named: &NamedMetric<'_>| {
        let number = model.number_of_cell(named, cell.cell)?;
        Some((named.column(), Value::of_metric(named.row, number)?))
    };
    let reason = |one: &waggle_analysis::CellReason| ReasonText {
        repetition: one.repetition,
        ..reason_text(&one.reason)
    };
    Cell {
        number: cell.cell,
        name: wording::name_of(model, cell.cell),
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
        pooled: delays::pooled_percentiles(&cell.pooled),
        delivery_delay: cell.delay_source.map(delays::DeliveryDelay::new),
    }
}

fn asked_metrics(model: &Model, cell: &CellModel) -> BTreeMap<String, Asked> {
    let named = headline(&model.info).into_iter().zip(&cell.asked);
    let of_metric = |(named, asked): (NamedMetric<'_>, &waggle_analysis::AskedMetric)| {
        let end = |value: f64| {
            let shown = named.row.in_column(value);
            shown.is_finite().then_some(shown)
        };
        let known = Asked {
            verdict: asked.verdict.name(),
            low: asked.range.and_then(|range| end(range.low)),
            high: asked.range.and_then(|range| end(range.high)),
            doubtful_trials: asked.doubtful,
        };
        (named.column(), known)
    };
    named.map(of_metric).collect()
}

fn derived_levels(cell: &CellModel) -> BTreeMap<&str, &str> {
    let levels = cell.derived.iter();
    levels
        .map(|(name, level)| (name.as_str(), level.as_str()))
        .collect()
}

fn reason_text(reason: &Reason) -> ReasonText {
    let doubts = reason.finding.doubts().into_iter();
    ReasonText {
        repetition: None,
        verdict: labels::verdict(reason.verdict),
        text: findings::reason(reason),
        doubts: doubts.map(doubt).collect(),
    }
}

fn doubt(doubt: waggle_stats::Doubt) -> Doubt {
    let (own_value, factor) = match doubt.bias {
        Bias::AtMost | Bias::ByLag => ("at_most", None),
        Bias::AtLeast => ("at_least", None),
        Bias::Factor(factor) => ("factor", Some(factor)),
        Bias::Unknown => ("unknown", None),
    };
    Doubt {
        about: match doubt.aspect {
            Aspect::Goodput => "requests",
            Aspect::Times => "times",
            Aspect::Delivery => "delivery",
            Aspect::Cpu => "cpu",
            Aspect::Accounting => "accounting",
            Aspect::Generator => "generator",
        },
        own_value,
        factor,
    }
}

fn threshold(outcome: &ThresholdOutcome) -> Threshold<'_> {
    let cell = |one: &waggle_analysis::ThresholdCell| ThresholdCell {
        cell: one.cell,
        result: conditions::decision_label(one.held),
        observed: one.observed.filter(|value| value.is_finite()),
        why: one
            .reason
            .as_ref()
            .map(|why| conditions::shortcoming(why, outcome.unit)),
    };
    Threshold {
        text: &outcome.text,
        result: conditions::decision_label(outcome.held),
        cells: outcome.cells.iter().map(cell).collect(),
    }
}

fn accounting(account: &Account) -> Accounting {
    Accounting {
        accepted: account.accepted,
        delivered: account.delivered,
        missing: account.missing.sum,
        duplicates: account.duplicates.sum,
        rejected: account.rejected.sum,
        rejected_delivered: account.rejected_delivered.sum,
        unknown: account.unknown.sum,
        unknown_delivered: account.unknown_delivered,
        unexpected: account.stray.sum,
    }
}

fn trial<'a>(trial: &'a TrialModel, all: &[NamedMetric<'_>]) -> Trial<'a> {
    let metric = |named: &NamedMetric<'_>| {
        let value = named.row.in_column(in_trial(named, trial)?);
        value.is_finite().then(|| (named.column(), value))
    };
    Trial {
        cell: trial.key.cell,
        repetition: trial.key.repetition,
        position: trial.position,
        started: &trial.started_utc,
        verdict: labels::verdict(trial.verdict),
        reasons: trial.reasons.iter().map(reason_text).collect(),
        stalls: trial.numbers.as_ref().and_then(|numbers| {
            let spans = numbers.stalls.as_ref()?;
            Some(spans.iter().map(stall).collect())
        }),
        metrics: all.iter().filter_map(metric).collect(),
    }
}

fn stall(span: &waggle_stats::StallSpan) -> Stall {
    Stall {
        from_s: span.from_s,
        length_s: span.length_s,
        to_the_end: span.to_the_end,
    }
}

/// The report for other programs; [`report_schema`] describes it.
#[must_use]
pub fn report_json(model: &Model) -> String {
    let json = serde_json::to_string_pretty(&Report::new(model));
    json.expect("keys are names and numbers are finite, so that all of it can be written") + "\n"
}

/// The JSON Schema of [`report_json`].
#[must_use]
pub fn report_schema() -> schemars::Schema {
    schemars::schema_for!(Report<'_>)
}
