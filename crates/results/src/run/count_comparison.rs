//! A count of the load generator with which a number of the system is compared, as `run.json` has it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountComparisonInfo {
    pub count: ComparedCount,
    /// The largest difference that is no finding, as a share of the load generator's count.
    pub tolerance: f64,
}

/// Requests of the whole load, warm-up included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedCount {
    Sent,
    /// Succeeded or failed.
    Answered,
    Succeeded,
    Failed,
}
