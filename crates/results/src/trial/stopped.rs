//! What ended a trial early because the study asks for it.

use serde::{Deserialize, Serialize};

/// A value that was above its bound for so long that the trial was ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoppedInfo {
    pub number: StopNumber,
    /// Which response time, as a share of 1; `None` for the error rate.
    pub quantile: Option<f64>,
    /// The bound: a share of 1, or µs.
    pub above: f64,
    /// Its value in the last interval, in the same unit.
    pub observed: f64,
    /// How long it had to be above the bound.
    pub for_s: f64,
    /// When, in seconds since the start of the load.
    pub at_s: f64,
}

/// Which number of the intervals ended a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopNumber {
    /// The share of the answers that failed.
    ErrorRate,
    ResponseTime,
}
