//! Metrics of a system that a run reads at intervals.

use serde::{Deserialize, Serialize};
use waggle_spec::CountComparison;

/// A metric of the system, read at intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemMetricInfo {
    pub name: String,
    /// What it counts, in a few words.
    pub summary: String,
    /// The unit of its values; `None`: a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<SystemMetricUnit>,
    /// What it should grow by in a trial; `None`: it is compared with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<CountComparison>,
}

/// The unit of the values of a system metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemMetricUnit {
    Microseconds,
    PerSecond,
    /// 0 to 1.
    Share,
    Cpus,
    Bytes,
    BytesPerSecond,
}
