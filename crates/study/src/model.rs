//! The checked study: every value typed, every `${factor}` replaced, only its execution can still fail.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use waggle_metrics::Unit;
use waggle_units::format_size;

use crate::{
    BackgroundLoad, Body, CellVersion, ExpectedVerdict, ExternalComponent, GivenSecret, Inspect,
    Kubeconfig, Level, Limits, LoadModel, Network, Oauth2, OperatingPoints, Pair, Preparation,
    Problem, RecordsBody, Request, Scenario, Schedule, Source, TakenValue, Versions,
};

/// A checked study.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    pub name: String,
    pub question: String,
    /// Name of the system, as in `system.use`.
    pub system: String,
    /// Its components that run already, for [`crate::System::with_external`].
    pub external: Vec<ExternalComponent>,
    /// Of one of them: where it is and who one is there; read by [`Study::take_from_environment`].
    pub kubeconfig: Option<Kubeconfig>,
    /// Where the token of its requests comes from; `None`: they have none.
    pub oauth2: Option<Oauth2>,
    /// Its secrets that are not made at random.
    pub secrets: Vec<GivenSecret>,
    /// Values from outside in its load's headers, each once; filled by [`Study::take_from_environment`].
    pub taken: Vec<TakenValue>,
    /// Decides the order of trials and every random choice.
    pub seed: u64,
    /// Whether the study names its seed; else each run has a new one, and `seed` is an example.
    pub has_own_seed: bool,
    /// Factor names in the order given: the keys of the rows of `cells`, then those of `factors`.
    pub factors: Vec<String>,
    /// Levels that each cell computes from its others, in the order given.
    pub derived: Vec<DerivedLevel>,
    /// At least one.
    pub cells: Vec<Cell>,
    /// What the command line took of the study; `None`: all of it.
    pub selection: Option<Selection>,
    /// Trials of a cell, at least; of one that is searched, at most: [`Search::trials`].
    pub repeat: u32,
    /// Trials of a cell, at most, replacements of disturbed ones not counted; at least `repeat`.
    pub repeat_max: u32,
    /// No trial beyond `repeat` is added that would end later; `None`: [`crate::Plan::adding_limit`] says when.
    pub repeat_max_duration: Option<Duration>,
    pub order: Order,
    /// `None`: the study has one version of its system.
    pub versions: Option<Versions>,
    /// A trial of the sentinel after every so many others; `None`: there is none.
    pub sentinel_every: Option<u32>,
    pub restart: Restart,
    /// The factor from one level of which to the next a prepared system grows.
    pub grow: Option<String>,
    /// CPUs of load worker threads, each once; empty: those that the system does not have, or half of all.
    pub load_cpuset: Vec<usize>,
    /// CPUs of the system, each once and none of the load's; empty: those that the load does not have.
    pub system_cpuset: Vec<usize>,
    /// The widest 95 % interval of a metric that is asked about, as a share of it, of a cell that needs no further trial: its full width.
    pub max_ci_width: f64,
    pub thresholds: Vec<Threshold>,
    /// Paths of the metrics that the study asks about, as in a [`Threshold`]; empty: those that its load model leaves open.
    pub asks: Vec<Vec<String>>,
    /// The path and unit of every metric that the study measures.
    pub metrics: Vec<(String, Unit)>,
    /// The verdict that every cell is expected to have, unless it has its own; `None`: valid.
    pub expect_verdict: Option<ExpectedVerdict>,
    /// The file of the scenario, by the name that the study gives it; `None`: it is in the study.
    pub scenario_file: Option<Source>,
    /// The search in every cell; `None`: every cell has its own load.
    pub search: Option<Search>,
    /// Figures to show next to the study's own.
    pub reference: Option<Reference>,
    /// By which metrics trials of a cell are the best and the worst; `None`: the study does not ask for them.
    pub best_and_worst: Option<BestAndWorst>,
    /// What scaling curves are asked; `None`: nothing more than there always is.
    pub scaling: Option<Scaling>,
    /// Sum of the system's own deadlines, every step of its functional check and stopping every component, in the configuration
    /// with the largest sum.
    pub system_at_most: Duration,
}

/// A part of a study, or a short form of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// One repetition with the shortest phases.
    pub quick: bool,
    /// Three repetitions.
    pub pilot: bool,
    /// The levels that cells were chosen by, each `FACTOR=LEVEL`.
    pub filters: Vec<String>,
    /// The number of cells of the whole study.
    pub cells: usize,
}

/// A level that every cell computes from its other levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedLevel {
    pub name: String,
    /// As written.
    pub formula: String,
    /// The factors that it depends on, also through other derived levels; each once.
    pub factors: Vec<String>,
}

/// Reference results: a table of figures from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    pub title: String,
    /// Who measured it and on what.
    pub source: String,
    /// The file's name as the study gives it.
    pub file: String,
    /// The factors whose levels name the rows; at least one.
    pub match_on: Vec<String>,
    /// At least one.
    pub columns: Vec<ReferenceColumn>,
    /// The rows whose levels a cell has, in the file's order.
    pub rows: Vec<ReferenceRow>,
}

/// What a column of reference results is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceColumn {
    pub name: String,
    /// Path of a metric of the study, as in a [`Threshold`].
    pub metric: Vec<String>,
}

/// One row of reference results.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceRow {
    /// One for each factor of [`Reference::match_on`].
    pub levels: Vec<String>,
    /// One for each column, in the unit of a [`Threshold`] on that metric; `None`: the table has none.
    pub values: Vec<Option<f64>>,
}

/// The best and the worst trial of each cell. Every metric is a path, as in a [`Threshold`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestAndWorst {
    /// The first one decides, each further one between trials that are equal in those before it; at least one.
    pub order: Vec<OrderedMetric>,
    /// The factors whose levels are the rows of the tables; none of a study without factors.
    pub rows: Vec<String>,
    /// A count of failures.
    pub failures: Option<Vec<String>>,
    /// A count of successes.
    pub successes: Option<Successes>,
}

/// A metric by which trials are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedMetric {
    pub metric: Vec<String>,
    /// The trial with the lowest value is the best.
    pub is_lowest_best: bool,
}

/// Successes, and all of which they are a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successes {
    pub metric: Vec<String>,
    /// Their sum is all; at least one.
    pub of: Vec<Vec<String>>,
}

/// What a study asks of its scaling curves: bounds that they may cross, and levels that are compared along them.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Nothing is judged by them; none asks for equality.
    pub bounds: Vec<Threshold>,
    pub pairs: Vec<Pair>,
}

/// The search for the highest level of the load at which conditions hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    pub maximize: Sought,
    /// A trial holds if all of them do; at least one.
    pub conditions: Vec<Threshold>,
    /// `0 < min <= start <= max`; whole numbers but for a rate.
    pub start: f64,
    pub min: f64,
    pub max: f64,
    /// How close the two ends come, as a share of the lower.
    pub precision: f64,
    /// Trials that must hold at the level that is the answer.
    pub confirmations: u32,
    /// Of a cell, over all levels.
    pub max_trials: u32,
    /// As many connections as the load of a search for a rate may get, if its own are the limit; `None`: users and connections are
    /// the level itself.
    pub max_connections: Option<u32>,
    /// `None`: a cell has no trials but those of its search.
    pub operating_points: Option<OperatingPoints>,
}

/// What a search maximizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    /// Requests per second, in open load.
    Rate,
    Users,
    /// In closed load.
    Connections,
}

impl Sought {
    /// As it is written in studies and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Users => "users",
            Self::Connections => "connections",
        }
    }
}

/// The order of trials within each repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Shuffled,
    AsListed,
}

/// How often the system is started from scratch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    EveryTrial,
    /// A cell's trials follow one another on the same processes.
    EveryCell,
}

/// Limits on the head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderLimits {
    /// Status line and headers together.
    pub max_bytes: u64,
    pub max_fields: u32,
}

impl HeaderLimits {
    /// Smallest and largest limit on the bytes.
    const BYTES: (u64, u64) = (1024, 16 * 1024 * 1024);

    /// Checks a limit on the bytes.
    ///
    /// # Errors
    /// What is expected.
    pub fn check_bytes(bytes: u64) -> Result<u64, Problem> {
        let (min, max) = Self::BYTES;
        match (min..=max).contains(&bytes) {
            true => Ok(bytes),
            false => Err(Problem(format!(
                "a size from {} to {}",
                format_size(min),
                format_size(max)
            ))),
        }
    }
}

impl Default for HeaderLimits {
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024,
            max_fields: 1_000,
        }
    }
}

/// One combination of levels, and everything that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Counted from 1: row by row of `cells`, in each row in the order of the full product of the factors (last factor fastest).
    pub number: u32,
    /// One level for each of [`Study::factors`], in that order.
    pub levels: Vec<(String, Level)>,
    /// The value of each of [`Study::derived`], in that order.
    pub derived: Vec<(String, Level)>,
    /// What the study calls it, with the levels of crossed factors; `None`: its levels name it.
    pub short_name: Option<String>,
    /// `None`: that of the study.
    pub expect_verdict: Option<ExpectedVerdict>,
    /// The first cell again, run every so often to show whether the host drifts; not one of the study's own.
    pub is_sentinel: bool,
    /// `None`: the run has one version of it.
    pub version: Option<CellVersion>,
    /// Every parameter of the system with its value in this cell, defaults included.
    pub parameters: BTreeMap<String, Level>,
    /// Of each component that waggle starts and that has any.
    pub limits: BTreeMap<String, Limits>,
    /// `None`: nothing is done before the warm-up.
    pub preparation: Option<Preparation>,
    /// `None`: the machine's own network.
    pub network: Option<Network>,
    pub load: LoadModel,
    /// How the level changes, beginning at 0. Empty: the level is always that of `load`. With stages `load` has the highest
    /// level.
    pub stages: Vec<LoadStage>,
    /// Processes that make the load together; at least 1.
    pub generators: u32,
    /// Load worker threads over all generators; `None`: one for each CPU given to the load, and at least one for each generator.
    pub load_workers: Option<u32>,
    pub protocol: Protocol,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
    /// Largest head of an answer in bytes, and most headers of one.
    pub header_limits: HeaderLimits,
    /// Addresses of this machine from which connections come in turn; empty: the kernel chooses.
    pub source_addresses: Vec<IpAddr>,
    /// Name of the system's endpoint that receives the load.
    pub endpoint: String,
    pub what: What,
    /// Loads beside it, in the order of the study.
    pub background: Vec<BackgroundLoad>,
    pub schedule: Schedule,
    /// In the order of their instants.
    pub faults: Vec<Fault>,
    pub delivery: Option<Delivery>,
}

/// A stretch of time in which the level of the load changes evenly to another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadStage {
    /// 0: the level changes at once.
    pub duration: Duration,
    /// Requests per second if the load is open, else users.
    pub target: f64,
}

/// A replica that is killed in mid-trial and restarted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Of the system; it exists in the cell's configuration and is started by waggle.
    pub component: String,
    /// Counted from 0.
    pub replica: u32,
    /// From the start of the measured phase, within it.
    pub at: Duration,
    /// From the kill to the next start.
    pub restart_after: Duration,
}

impl Fault {
    /// The replica's name: `orders-0`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}-{}", self.component, self.replica)
    }
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The same request again and again.
    Request(Box<Request>),
    /// Sessions of several requests.
    Scenario(Arc<Scenario>),
}

impl Cell {
    /// The levels of the factors, then the derived levels.
    pub fn all_levels(&self) -> impl Iterator<Item = &(String, Level)> {
        self.levels.iter().chain(&self.derived)
    }

    /// The name of the request, or of the scenario for all of its requests.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.what {
            What::Request(request) => &request.name,
            What::Scenario(scenario) => &scenario.name,
        }
    }

    /// When the last component that is killed is restarted, from the start of the measured phase; `None`: nothing is killed.
    #[must_use]
    pub fn last_restart(&self) -> Option<Duration> {
        let restarts = self
            .faults
            .iter()
            .map(|fault| fault.at + fault.restart_after);
        restarts.max()
    }

    /// The longest time that an answer is waited for.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        match &self.what {
            What::Request(request) => request.timeout,
            What::Scenario(scenario) => scenario.timeout(),
        }
    }

    /// The background loads that run in this cell, each with its model.
    pub fn running_background(&self) -> impl Iterator<Item = (&BackgroundLoad, &LoadModel)> {
        let loads = self.background.iter();
        loads.filter_map(|load| Some((load, load.model.as_ref()?)))
    }

    /// The longest time that an answer is waited for after the load has stopped, those of background loads included.
    #[must_use]
    pub fn longest_timeout(&self) -> Duration {
        let background = self.running_background();
        let background = background.map(|(load, _)| load.request.timeout);
        background.fold(self.timeout(), Duration::max)
    }

    /// The records that a request carries, if it does.
    #[must_use]
    pub fn records(&self) -> Option<&RecordsBody> {
        match &self.what {
            What::Request(request) => match &request.body {
                Body::Records(records) => Some(records),
                Body::None | Body::Text(_) | Body::File(_) | Body::Random(_) => None,
            },
            What::Scenario(_) => None,
        }
    }

    /// What is measured of answers, if they are inspected.
    #[must_use]
    pub fn inspect(&self) -> Option<&Inspect> {
        match &self.what {
            What::Request(request) => request.inspect.as_ref(),
            What::Scenario(_) => None,
        }
    }

    /// The scenario, if that is what is sent.
    #[must_use]
    pub fn scenario(&self) -> Option<&Scenario> {
        match &self.what {
            What::Scenario(scenario) => Some(scenario),
            What::Request(_) => None,
        }
    }
}

/// Delivery accounting: records are followed until a probe sees them.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// Names of the system's probes, in the order in which records arrive; at the last one they must arrive. At least one.
    pub probes: Vec<String>,
    /// Time between two polls.
    pub poll_interval: Duration,
    /// A record seen later than this after it was sent is `late`; `None`: none is.
    pub late_threshold: Option<Duration>,
}

/// A condition on a cell's metrics, e.g. `put-readings.response_time.p99 < 50ms`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As written.
    pub text: String,
    /// The metric's path, e.g. `["put-readings", "response_time", "p99"]`.
    pub metric: Vec<String>,
    pub op: ThresholdOp,
    /// In the metric's own unit: µs for times, 1/s for rates, a share of 1 for shares, else a count.
    pub value: f64,
}

/// How a metric is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdOp {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}
