//! What a study asks of its scaling curves, as `run.json` has it.

use serde::{Deserialize, Serialize};

use crate::ThresholdInfo;

/// Bounds that curves may cross, and levels that are compared along them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingInfo {
    /// Conditions that nothing is judged by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<ThresholdInfo>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairInfo>,
}

/// Two levels of a factor; the second is compared with the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairInfo {
    pub factor: String,
    pub levels: [String; 2],
}
