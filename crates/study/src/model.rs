//! The checked study: every value typed, every `${factor}` replaced, only its execution can still fail.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use waggle_metrics::Unit;
use waggle_spec::{
    Agents, BestAndWorst, DerivedLevel, ExpectedVerdict, FaultKind, LoadModel, LoadStage, Protocol,
    Reference, Restart, RunnerPod, Scaling, Search, Selection, SystemPods, Threshold, TrialOrder,
    fault_target,
};
use waggle_units::format_size;

use crate::{
    BackgroundLoad, Body, CellVersion, ExternalComponent, GivenSecret, Inspect, Kubeconfig, Level,
    Limits, Network, Oauth2, Preparation, Problem, RecordsBody, Request, Scenario, Schedule,
    Source, TakenValue, Versions,
};

/// A checked study.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    pub name: String,
    pub question: String,
    /// Name of the system, as in `system.use`.
    pub system: String,
    /// Its components are pods; `None`: they are processes of this machine.
    pub system_pods: Option<SystemPods>,
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
    pub order: TrialOrder,
    /// `None`: the study has one version of its system.
    pub versions: Option<Versions>,
    /// A trial of the sentinel after every so many others; `None`: there is none.
    pub sentinel_every: Option<u32>,
    pub restart: Restart,
    /// The factor from one level of which to the next a prepared system grows.
    pub grow: Option<String>,
    /// What makes the load on other hosts; `None`: it is made on this machine.
    pub agents: Option<Agents>,
    /// The run is driven from a pod of a cluster; `None`: from this machine, unless it is asked for.
    pub runner: Option<RunnerPod>,
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

/// What is done to a component in mid-trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Of the system; it exists in the cell's configuration and is started by waggle.
    pub component: String,
    /// Counted from 0; `None`: all of them.
    pub replica: Option<u32>,
    /// From the start of the measured phase, within it.
    pub at: Duration,
    pub action: FaultAction,
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultAction {
    Kill {
        /// From the kill to the next start.
        restart_after: Duration,
    },
    /// What the parameters change is applied, and rolled out.
    Upgrade {
        /// What it sets; empty: the pods are replaced by others that are the same.
        set: BTreeMap<String, Level>,
        /// Of all parameters, from then on.
        levels: BTreeMap<String, Level>,
    },
    /// The system's pods have to leave the node of the replica.
    Drain,
}

impl Fault {
    /// What it is of: a replica, `orders-0`, or the whole component.
    #[must_use]
    pub fn name(&self) -> String {
        fault_target(&self.component, self.replica)
    }

    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self.action {
            FaultAction::Kill { .. } => FaultKind::Kill,
            FaultAction::Upgrade { .. } => FaultKind::Upgrade,
            FaultAction::Drain => FaultKind::Drain,
        }
    }

    /// From a kill to the next start.
    #[must_use]
    pub fn restart_after(&self) -> Duration {
        match self.action {
            FaultAction::Kill { restart_after } => restart_after,
            FaultAction::Upgrade { .. } | FaultAction::Drain => Duration::ZERO,
        }
    }

    /// Whether the faults of a cell come one after the other: how long an upgrade or a drain takes, and what it changes, is up to
    /// Kubernetes. Kills of different replicas may overlap.
    pub fn are_in_sequence<'a>(faults: impl IntoIterator<Item = &'a Self>) -> bool {
        let mut faults = faults.into_iter();
        faults.any(|fault| fault.kind() != FaultKind::Kill)
    }
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

    /// When the last fault begins, or the replica that it has killed is restarted, from the start of the measured phase; `None`: there
    /// is none.
    #[must_use]
    pub fn last_restart(&self) -> Option<Duration> {
        let restarts = self
            .faults
            .iter()
            .map(|fault| fault.at + fault.restart_after());
        restarts.max()
    }

    /// The levels of all parameters after each upgrade, in the order of the upgrades.
    #[must_use]
    pub fn upgraded_levels(&self) -> Vec<&BTreeMap<String, Level>> {
        let faults = self.faults.iter();
        let levels = faults.filter_map(|fault| match &fault.action {
            FaultAction::Upgrade { set, levels } if !set.is_empty() => Some(levels),
            _ => None,
        });
        levels.collect()
    }

    /// Whether a node is drained in it.
    #[must_use]
    pub fn has_drains(&self) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| fault.kind() == FaultKind::Drain)
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
