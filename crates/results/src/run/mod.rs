//! `run.json`: what was planned, on which machine, with which versions; written once, before the first trial.

pub(crate) mod artifact;
pub(crate) mod at_start;
pub(crate) mod imported;
pub(crate) mod left_out;
pub(crate) mod sums;
pub(crate) mod system_metric;

use std::fmt;

use serde::{Deserialize, Serialize};
use waggle_spec::{
    BestAndWorst, DerivedLevel, ExpectedVerdict, FeedOrder, LoadKind, RampUp, Reference, Restart,
    Scaling, Search, Selection, SystemPods, Threshold, TrialOrder, WarmUpUntil,
};

use crate::{
    AgentHostInfo, ArtifactInfo, AtStartInfo, ImportedInfo, LeftOutInfo, SystemMetricInfo,
};

/// The whole of `run.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// [`crate::FORMAT`] at the time of writing.
    pub format: u32,
    pub waggle_version: String,
    pub study: String,
    pub question: String,
    /// Name of the study file as the user gave it; its text is in `study.yaml` next to this file.
    pub study_file: String,
    pub seed: u64,
    /// RFC 3339, UTC.
    pub started_utc: String,
    pub system: String,
    /// What the system is, in a sentence, from its file.
    pub system_summary: String,
    /// The components that waggle started were pods; `None`: they were processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_pods: Option<SystemPods>,
    /// The system is made of manifests or a chart in a cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub system_manifests: bool,
    pub components: Vec<ComponentInfo>,
    /// Artifacts whose programs the components run, each version of each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactInfo>,
    pub cells: Vec<CellInfo>,
    /// Every planned trial, in the order of execution; with those that were added.
    pub order: Vec<TrialKey>,
    /// The trials of `order` that were added while the study ran, in the order in which that was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedTrial>,
    pub schedule: ScheduleInfo,
    pub thresholds: Vec<Threshold>,
    /// Paths of the metrics that the study asks about; empty: those that its load model leaves open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Vec<String>>,
    /// The verdict that every cell is expected to have, unless the cell says another one; `None`: `valid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_verdict: Option<ExpectedVerdict>,
    pub load_model: LoadKind,
    pub host: Host,
    /// The hosts that make the load, in the order of their agents' numbers; empty: the runner's host makes it, or they have not joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentHostInfo>,
    /// Where the records come from (file name, count), if records are sent.
    pub records_file: Option<String>,
    /// The probe at which records must arrive; `None`: delivery is not followed.
    pub delivery_probe: Option<String>,
    /// The scenario of the load; `None`: the load is one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioInfo>,
    /// The search in every cell; `None`: each trial has the load of its cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Probes before `delivery_probe` on the records' way, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intermediate_probes: Vec<String>,
    /// Metrics of the system, read at intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<SystemMetricInfo>,
    /// Reference results, shown with the study's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The best and the worst trial of each cell; `None`: the study does not ask for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_and_worst: Option<BestAndWorst>,
    /// What scaling curves are asked; `None`: nothing more than there always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// The tool that measured; `None`: waggle did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedInfo>,
    /// The two versions of the system that the run compares; `None`: it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionsInfo>,
    /// Levels that each cell computes from its others; they are no factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedLevel>,
    /// Cells of the study that are not among [`Self::cells`], because their system could not be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutInfo>,
    /// What the command line took of the study; `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The sums of question, asks and thresholds when the run began; `None`: not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_start: Option<AtStartInfo>,
}

/// Two versions of a system in one run; the factor `version` has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionsInfo {
    pub design: VersionDesign,
    /// What the changed version has in place of the other's, as the user wrote it.
    pub changes: Vec<String>,
    /// The system file of the changed version, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_system: Option<String>,
}

/// How the trials of two versions lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VersionDesign {
    /// One after the other, in random order.
    Blocks,
    /// Both at the same time on the same CPUs.
    Duet,
    /// Both at the same time, each on its half of the CPUs, the other one in the next repetition.
    DuetSwapped,
}

/// The scenario of a load, as it was read for the first cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioInfo {
    pub name: String,
    /// The file it was read from; `None`: it is in the study.
    pub file: Option<NamedText>,
    /// Names of the steps, in the order in which the files of each trial have them.
    pub steps: Vec<String>,
    pub flows: Vec<FlowInfo>,
    pub feeds: Vec<FeedInfo>,
}

/// A file that a study named, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedText {
    /// As the study names it.
    pub name: String,
    pub text: String,
}

/// One flow of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowInfo {
    pub name: String,
    pub weight: u32,
}

/// One feed of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedInfo {
    pub name: String,
    pub order: FeedOrder,
    pub rows: u64,
    /// The file as the study names it; `None`: the rows are in the study.
    pub from: Option<String>,
}

/// One component of the system, as it was started or found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentInfo {
    pub name: String,
    /// The version that the program prints.
    pub version: String,
    /// Its ports with their addresses if it already ran; empty: it was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<String>,
}

/// One cell: its levels in the order of the study's factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellInfo {
    /// Counted from 1.
    pub cell: u32,
    pub levels: Vec<(String, String)>,
    /// The value of each of [`RunInfo::derived`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<(String, String)>,
    /// A short name from the study; `None`: its levels name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The verdict that this cell is expected to have; `None`: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect_verdict: Option<ExpectedVerdict>,
    /// The first cell again, run every so often to show whether the host drifts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sentinel: bool,
}

/// A trial that was added while the study ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedTrial {
    pub key: TrialKey,
    pub reason: AddedReason,
}

/// Why a trial was added.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AddedReason {
    /// The interval of a metric that is asked about is too wide: the widest, as a share of the metric; `None`: there is no interval.
    Wide { width: Option<f64> },
    /// The machine has disturbed this trial of the cell, which is kept.
    Disturbed { repetition: u32 },
    /// It is a trial of the sentinel, and so many others have run.
    Sentinel,
}

/// Which trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialKey {
    pub cell: u32,
    /// Counted from 1.
    pub repetition: u32,
}

impl fmt::Display for TrialKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cell {}, repetition {}", self.cell, self.repetition)
    }
}

impl RunInfo {
    /// The cell of a number.
    #[must_use]
    pub fn cell(&self, cell: u32) -> Option<&CellInfo> {
        self.cells.iter().find(|info| info.cell == cell)
    }

    /// The order of execution without the trials that were added.
    #[must_use]
    pub fn planned_order(&self) -> Vec<TrialKey> {
        let is_planned = |key: &TrialKey| !self.added.iter().any(|added| added.key == *key);
        self.order.iter().copied().filter(is_planned).collect()
    }

    /// Position of a trial in the order of execution, counted from 1.
    #[must_use]
    pub fn position(&self, key: TrialKey) -> Option<u32> {
        let before = self.order.iter().position(|planned| *planned == key)?;
        u32::try_from(before + 1).ok()
    }
}

/// The schedule's numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleInfo {
    /// Trials of a cell, at least.
    pub repeat: u32,
    /// Trials of a cell, at most, replacements of disturbed ones not counted; `None`: as many as `repeat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_max: Option<u32>,
    pub order: TrialOrder,
    #[serde(flatten)]
    pub warm_up_until: WarmUpUntil,
    /// The longest that the warm-up may take, or its length.
    pub warm_up_timeout_s: f64,
    /// With `measure_requests` the longest that it may take.
    pub measure_s: f64,
    /// The requests after which the measured phase ends, in the first cell; `None`: when its time is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure_requests: Option<u64>,
    pub drain_timeout_s: f64,
    pub interval_s: f64,
    /// Widest 95 % interval over trials of a metric that is asked about, as a share of it, for which no further trials are
    /// added.
    pub max_ci_width: f64,
    /// How often the system was restarted.
    pub restart: Restart,
    /// The load after the measured phase, in the first cell; `None`: it ends with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryInfo>,
    /// The level with which the warm-up begins, in the first cell; `None`: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_up: Option<RampUp>,
    /// The value of the machine for which cool-downs wait, in the first cell; `None`: they wait until the CPUs are idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cool_down_until: Option<CoolDownUntilInfo>,
}

/// A value of the machine for which cool-downs wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoolDownUntilInfo {
    /// `/sys/class/thermal/thermal_zone*/temp × 0.001`.
    pub value: String,
    /// `below 60`.
    pub bound: String,
    pub poll_interval_s: f64,
    pub timeout_s: f64,
}

impl ScheduleInfo {
    /// The most trials of a cell, replacements of disturbed ones not counted.
    #[must_use]
    pub fn max_repetitions(&self) -> u32 {
        self.repeat_max.unwrap_or(self.repeat)
    }
}

/// A load that drops to a lower level, and when the system counts as recovered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryInfo {
    /// The level to which it drops: requests per second in open load, else users.
    pub level: f64,
    /// The highest p99 of response time that is good, in each interval.
    pub p99_us: f64,
    /// How long it continues.
    pub duration_s: f64,
    /// The same level in the warm-up, as the reference; `None`: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlInfo>,
}

/// When a load had the level of the recovery before it was measured. Seconds count from its start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlInfo {
    pub start_s: f64,
    pub end_s: f64,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub name: String,
    pub kernel: String,
    pub cpu_model: String,
    pub cpus: u32,
    pub memory_bytes: u64,
    pub open_files_max: u64,
    /// CPUs of the load engine and of the system; empty: not pinned.
    pub load_cpus: Vec<u32>,
    pub system_cpus: Vec<u32>,
    /// True if generator and system share the machine.
    pub shared_with_system: bool,
    /// True if loops of the idle class kept the CPUs from halting.
    pub idle_poll: bool,
}
