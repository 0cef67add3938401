//! What one of several load generators says of itself.

use serde::{Deserialize, Serialize};

use crate::count::count;

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
