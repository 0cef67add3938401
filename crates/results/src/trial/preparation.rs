//! What was done to a system before its load.

use serde::{Deserialize, Serialize};

use crate::count::count;

/// The preparation of the system, in the trial in which it was done; its loads are among those of the trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparationInfo {
    /// How long the system was left alone after its loads; `None`: it was not.
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
