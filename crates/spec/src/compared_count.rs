//! A count of the load generator with which a number of the system is compared.

use serde::{Deserialize, Serialize};

/// What is compared, and how closely.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountComparison {
    pub count: ComparedCount,
    /// The largest difference that is no finding, as a share of the load generator's count.
    pub tolerance: f64,
}

/// Requests of the whole load, warm-up included, as the load generator counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparedCount {
    /// All that were sent.
    Sent,
    /// Those that succeeded or failed.
    Answered,
    /// Those that were answered as expected.
    Succeeded,
    /// All others.
    Failed,
}
