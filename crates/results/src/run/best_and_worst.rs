//! By which metrics trials are the best and the worst of their cell, as `run.json` has it.

use serde::{Deserialize, Serialize};

/// The best and the worst trial of each cell. Every metric is a path, as in a [`crate::ThresholdInfo`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestAndWorstInfo {
    /// The first one decides, each further one between trials that are equal in those before it.
    pub order: Vec<OrderedMetricInfo>,
    /// The factors whose levels are the rows of the tables; the other factors are their columns.
    pub rows: Vec<String>,
    /// A count of failures; `None`: there is no table of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Vec<String>>,
    /// A count of successes; `None`: there is no table of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successes: Option<SuccessesInfo>,
}

/// A metric by which trials are ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderedMetricInfo {
    pub metric: Vec<String>,
    /// The trial with the lowest value is the best.
    pub is_lowest_best: bool,
}

/// Successes, and all of which they are a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessesInfo {
    pub metric: Vec<String>,
    /// Their sum is all.
    pub of: Vec<Vec<String>>,
}
