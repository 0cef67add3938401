//! What was done to a system before its load.

use serde::{Deserialize, Serialize};

use super::StepCounts;
use crate::{QuantilesInfo, count::count};

/// The preparation of the system, in the trial in which it was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparationInfo {
    /// In their order, as far as they were run. A load that had nothing to add was not.
    pub loads: Vec<PrepareLoadInfo>,
    /// How long the system was left alone after them; `None`: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotInfo>,
}

/// A prepared system that is kept on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotInfo {
    /// Names its content: the system, its configuration and the loads.
    pub key: String,
    /// When it was made. RFC 3339, UTC.
    pub made_utc: String,
    #[serde(deserialize_with = "count")]
    pub bytes: u64,
    /// Whether the trial started with it; else the trial has made it.
    pub is_reused: bool,
}

/// One load of a preparation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareLoadInfo {
    pub name: String,
    /// Sessions that it had to do, in all.
    #[serde(deserialize_with = "count")]
    pub sessions: u64,
    /// Those that an earlier trial on the same system had done.
    #[serde(deserialize_with = "count")]
    pub done_before: u64,
    #[serde(deserialize_with = "count")]
    pub completed: u64,
    #[serde(deserialize_with = "count")]
    pub failed: u64,
    /// Requests that were sent again.
    #[serde(deserialize_with = "count")]
    pub retries: u64,
    pub seconds: f64,
    /// All requests.
    pub counts: StepCounts,
    /// Of succeeded requests; `None`: there were none.
    pub response_time: Option<QuantilesInfo>,
    /// By step, in their order.
    pub steps: Vec<PrepareStepInfo>,
}

/// One step of a load of a preparation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrepareStepInfo {
    pub name: String,
    pub counts: StepCounts,
    pub response_time: Option<QuantilesInfo>,
}
