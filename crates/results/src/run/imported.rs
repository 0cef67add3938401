//! Results that another tool measured: which tool, from which files, and what such results do not show.
//!
//! What is not known is absent: such a trial has no `generator`, no `ledger`, no `machine` and no resources. Its intervals have 0
//! as connections, CPU and lag of the engine; a request is due when it was sent.

use serde::{Deserialize, Serialize};

/// Part of `run.json`: the run was imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportedInfo {
    /// With its version, if the files say it: `ab 2.3`.
    pub tool: String,
    /// Names of the files, without their folders.
    pub files: Vec<String>,
    /// Resolution of times in the coarsest of them.
    pub resolution_us: f64,
    /// What at least one of the trials does not show.
    pub unknown: Vec<UnknownFact>,
}

/// Part of `trial.json`: the trial was imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportedTrialInfo {
    pub files: Vec<String>,
    /// Resolution of times in the files.
    pub resolution_us: f64,
    pub unknown: Vec<UnknownFact>,
    /// All that is known of the times; `None`: they are in the histograms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<QuantilesInfo>,
}

/// A distribution of which only some quantiles are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantilesInfo {
    pub mean_us: Option<f64>,
    /// In ascending order; a quantile of 1 is the maximum.
    pub points: Vec<QuantilePoint>,
}

/// One quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantilePoint {
    /// A share of 1.
    pub quantile: f64,
    pub us: f64,
}

/// What imported results do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownFact {
    /// When requests were due: response time is service time.
    DueTimes,
    /// Lag, CPU, connections and capacity of the load generator.
    Generator,
    /// Machine: CPU steal, idle CPUs, kernel, memory.
    Machine,
    /// CPU and memory of the system.
    SystemResources,
    /// Which records arrived.
    Delivery,
    /// Whether the start of the file is a warm-up.
    WarmUp,
    /// Single requests: there are only quantiles of their times, and nothing over time.
    SingleRequests,
    /// Which requests failed: times are those of failed requests too.
    FailedRequests,
    /// When the load started.
    StartTime,
    BytesSent,
    BytesReceived,
}

impl ImportedTrialInfo {
    /// Whether the files do not show it.
    #[must_use]
    pub fn lacks(&self, fact: UnknownFact) -> bool {
        self.unknown.contains(&fact)
    }
}
