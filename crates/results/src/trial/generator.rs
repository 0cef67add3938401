//! What the load generator noted of itself.

use serde::{Deserialize, Serialize};
use waggle_spec::Arrivals;

use crate::count::count;

/// Measurements of the load generator itself, over the measured phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorInfo {
    pub workers: u32,
    #[serde(deserialize_with = "count")]
    pub connections_asked: u64,
    /// Fewest open at the end of any interval.
    #[serde(deserialize_with = "count")]
    pub connections_open_min: u64,
    pub cpu_us_per_request: f64,
    /// Share of its CPU that the busiest worker thread used, 0 to 1.
    pub utilization: f64,
    /// The same with its time in the run queue, in which it waited for its CPU.
    pub utilization_wanted: f64,
    /// How long a worker thread waited in the run queue before each of its turns on a CPU.
    pub run_queue_wait_mean_us: f64,
    pub lag_p99_us: f64,
    /// The same at more percentiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagInfo>,
    /// Requests per second asked for; `None` in closed load and users.
    pub offered_per_s: Option<f64>,
    /// How requests are spread, in open load.
    pub arrivals: Arrivals,
    /// What the load generator can send on this machine with this shape of load, found against the null server before the run;
    /// `None` if it was not calibrated.
    pub capacity_per_s: Option<f64>,
    /// Mean number in flight, from the sum of their times.
    pub in_flight_mean: f64,
    /// How many a closed load keeps in flight; `None`: other loads, scenarios, and connections that are opened for each
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_asked: Option<f64>,
    /// The most that an open load has in flight; `None`: other loads, scenarios, and connections that are opened for each
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_max: Option<u64>,
    /// The part of it that belongs to no success of the measured phase: failed requests, and those that were in flight at its end
    /// for longer than others at its start (so it may be negative). The rest is goodput × mean service time.
    pub in_flight_unexplained: f64,
    /// Each of several generators that made the load together; empty if it was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<GeneratorPartInfo>,
}

/// How late the load generator sent, over the measured phase, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LagInfo {
    pub p50_us: f64,
    pub p90_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

/// Measurements of one of several generators that made a load together, over the measured phase; as in
/// [`crate::GeneratorInfo`], which has them for all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorPartInfo {
    #[serde(deserialize_with = "count")]
    pub sent: u64,
    pub utilization: f64,
    pub utilization_wanted: f64,
    pub run_queue_wait_mean_us: f64,
    pub lag_p99_us: f64,
}
