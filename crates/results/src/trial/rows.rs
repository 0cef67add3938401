//! The row types of the files next to `trial.json`.

use serde::{Deserialize, Serialize};

use super::{CountsRow, SessionCounts, StepCounts};
use crate::count::count;

/// A line of `intervals.ndjson`. Latencies are in the `.hlog` files, under the same start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntervalRow {
    /// Since the start of the load.
    pub start_s: f64,
    pub counts: CountsRow,
    #[serde(deserialize_with = "count")]
    pub in_flight: u64,
    #[serde(deserialize_with = "count")]
    pub connections_open: u64,
    pub engine_cpu_s: f64,
    pub engine_cpu_busiest_s: f64,
    pub lag_p99_us: f64,
    /// Sum of times in flight ÷ length.
    pub in_flight_mean: f64,
    /// A scenario's steps, in the order of `trial.json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepCounts>,
    /// A scenario's sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionCounts>,
}

/// A line of `resources.ndjson`: one component replica (or the engine) over one sampling period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceRow {
    /// End of the period, since the start of the load; negative before it.
    pub at_s: f64,
    /// `gateway-0`, …; `waggle` is the load generator itself.
    pub component: String,
    /// CPU used over the period, in cores.
    pub cpu_cores: f64,
    #[serde(deserialize_with = "count")]
    pub rss_bytes: u64,
    pub threads: u32,
}

/// A line of `backlog.ndjson`: how far the store was behind at one poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BacklogRow {
    pub at_s: f64,
    /// Records visible in the store so far.
    #[serde(deserialize_with = "count")]
    pub visible: u64,
}

/// A line of `metrics.ndjson`: a metric of the system at one instant, over all replicas of its component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemMetricRow {
    /// Since the start of the load.
    pub at_s: f64,
    /// Its name.
    pub metric: String,
    pub value: f64,
}
