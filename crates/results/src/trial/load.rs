//! What the loads of a trial did that are not the measured one: those that filled the system, and those that ran beside it.

use serde::{Deserialize, Serialize};
use waggle_spec::LoadRole;

use super::{CountsRow, GeneratorInfo, StepCounts};
use crate::{QuantilesInfo, count::count};

/// A load that is not the measured one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadInfo {
    pub role: LoadRole,
    pub name: String,
    /// Of a load beside the measured one over those of its intervals whose greater part lies in the measured phase; of others, all.
    pub counts: CountsRow,
    /// Its own worker threads and connections, likewise.
    pub generator: GeneratorInfo,
    /// From due to done, of succeeded requests, those included that were answered after the measured phase; `None`: there were none,
    /// or the load did not come to its end.
    pub response_time: Option<QuantilesInfo>,
    /// From sent to done, likewise.
    pub service_time: Option<QuantilesInfo>,
    /// Of a load that fills the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillInfo>,
    /// Of a scenario, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<LoadStepInfo>,
}

/// The sessions that fill a system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillInfo {
    /// That there are to be, in all.
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
}

/// One step of a load that is not the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadStepInfo {
    pub name: String,
    pub counts: StepCounts,
    pub response_time: Option<QuantilesInfo>,
}
