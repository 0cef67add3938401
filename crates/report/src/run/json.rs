//! `report.json`: the report for other programs. What is not known is `null` or absent, never 0.
// long: the document is one value

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{Conclusion, Model, headline, kubelet_readings, left_out_of_run};
use waggle_metrics::NamedMetric;

use crate::{
    metric_columns::numbers,
    parts::{
        capacity::{operating_points, search},
        cells::{
            best_and_worst,
            left_out::json::LeftOut,
            overview::json::{Cell, cell},
        },
        factors::{effects, growth, laws, level_ratios},
        opening::{
            self,
            json::{AskedBefore, Power, asked_before, power},
            warnings,
        },
        reliability::{
            trials::json::{Trial, trial},
            verdicts::json::{Threshold, threshold},
        },
        system::delivery::json::{Accounting, accounting},
    },
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
    /// CPU and memory of the system are what kubelets read, less often than waggle reads; absent: waggle read them, or nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubelet_readings: Option<KubeletReadings>,
    /// `answered`, `failed`, `open` or `trial_failed`: a trial failed, or no request succeeded.
    conclusion: &'static str,
    /// That of `waggle report`, without `--strict`.
    exit_code: u8,
    /// The sentences of the page.
    answer: Vec<String>,
    /// Whether what they are about was asked before the run; `null`: not known.
    asked_before: Option<AskedBefore>,
    warnings: Vec<String>,
    /// What people have noted on the run; absent: nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    notes: Vec<opening::notes::Note<'a>>,
    factors: Vec<Factor<'a>>,
    /// Each level of each factor as a ratio to its first; empty if the cells form no complete grid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    effects: Vec<effects::json::Effect<'a>>,
    /// Each level of a factor as a ratio to its first, cell by cell; empty where effects or comparisons show that already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    level_ratios: Vec<level_ratios::json::CellRatio<'a>>,
    /// Names of the metrics that the study asks about.
    asks: Vec<String>,
    cells: Vec<Cell<'a>>,
    /// Cells of the study that were not run, because their system could not be had.
    left_out: Vec<LeftOut>,
    thresholds: Vec<Threshold<'a>>,
    /// What metrics follow over a factor with six or more numeric levels; empty if there is no such factor.
    scaling_laws: Vec<laws::json::ScalingLaw<'a>>,
    /// Where curves cross the bounds and thresholds of the study; empty without such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    scaling_bounds: Vec<growth::json::BoundResult<'a>>,
    /// Two levels of a factor over another; empty without `scaling.pairs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    scaling_pairs: Vec<growth::json::PairResult<'a>>,
    /// The best and the worst trial of each cell; `null`: the study does not ask for them.
    best_and_worst: Option<best_and_worst::json::BestAndWorst<'a>>,
    /// The answer of the search of each cell; empty without `search`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    searches: Vec<search::json::CellSearch>,
    /// The cells at shares of their capacities; empty without `search.operating_points`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    operating_points: Vec<operating_points::json::OperatingPoint<'a>>,
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

/// Of one replica in one trial.
#[derive(Debug, Serialize, JsonSchema)]
struct KubeletReadings {
    /// The shortest time between two readings, in seconds; `null`: no replica was read twice in a trial.
    shortest_s: Option<f64>,
    /// The longest one.
    longest_s: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Factor<'a> {
    name: &'a str,
    levels: &'a [String],
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
        let components = info.components.iter().map(|part| Component {
            name: &part.name,
            version: &part.version,
        });
        Self {
            format: FORMAT,
            waggle_version: &info.waggle_version,
            study: &info.study,
            question: &info.question,
            seed: info.seed,
            started: &info.started_utc,
            load_model: info.load_model.name(),
            system: &info.system,
            components: components.collect(),
            host: host(model),
            kubelet_readings: kubelet_readings(model).map(|readings| KubeletReadings {
                shortest_s: readings.apart_s.map(|(shortest, _)| shortest),
                longest_s: readings.apart_s.map(|(_, longest)| longest),
            }),
            conclusion,
            exit_code,
            answer: opening::words::sentences(model),
            asked_before: asked_before(model),
            warnings: warnings::sentences(model),
            notes: model.notes.iter().map(opening::notes::Note::new).collect(),
            factors: model.factors.iter().map(factor).collect(),
            effects: effects::json::effects(model),
            level_ratios: level_ratios::json::level_ratios(model),
            asks: headline(info).iter().map(NamedMetric::column).collect(),
            cells: model
                .cells
                .iter()
                .map(|part| cell(model, part, &all))
                .collect(),
            left_out: left_out_of_run(info).iter().map(LeftOut::new).collect(),
            thresholds: model.thresholds.iter().map(threshold).collect(),
            scaling_laws: laws::json::laws(model),
            scaling_bounds: growth::json::bounds(model),
            scaling_pairs: growth::json::pairs(model),
            best_and_worst: model
                .best_and_worst
                .as_ref()
                .map(best_and_worst::json::best_and_worst),
            searches: search::json::searches(model),
            operating_points: operating_points::json::operating_points(model),
            power: power(model),
            account: model.account.as_ref().map(accounting),
            trials: model.trials.iter().map(|part| trial(part, &all)).collect(),
        }
    }
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
