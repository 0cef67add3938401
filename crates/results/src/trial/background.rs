//! Loads that ran beside the measured one.

use serde::{Deserialize, Serialize};

use super::{CountsRow, GeneratorInfo};
use crate::QuantilesInfo;

/// A load that a study has run beside the measured one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundInfo {
    pub name: String,
    /// `None`: it is absent in the trial's cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<BackgroundLoadInfo>,
}

/// What a background load did, over the measured phase of the trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundLoadInfo {
    /// Over those of its intervals whose greater part lies in the measured phase.
    pub measured: CountsRow,
    /// Its own worker threads and connections, likewise.
    pub generator: GeneratorInfo,
    /// From due to done, of succeeded requests that were answered in the measured phase or after it; `None`: there were none.
    pub response_time: Option<QuantilesInfo>,
    /// From sent to done, likewise.
    pub service_time: Option<QuantilesInfo>,
}
