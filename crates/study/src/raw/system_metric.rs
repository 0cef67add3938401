//! Metrics of a system file, key by key.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::ComparedCount;

use super::{Conditions, Share};
use crate::at::Key;

/// A metric of the system that is read repeatedly, as often as CPU and memory: exactly one of prometheus, json and consumer_lag. If
/// the component has several replicas, it is their sum.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SystemMetric {
    /// In which configurations it exists; in all in which its component does, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// What it counts, in a few words.
    #[schemars(required)]
    pub summary: Option<String>,
    /// One of the components.
    #[schemars(required)]
    pub component: Key<String>,
    /// One of its ports.
    #[schemars(required)]
    pub port: Key<String>,
    /// Path and query of the text in the format of Prometheus, or of the JSON.
    pub get: Option<String>,
    /// A metric in the format of Prometheus, as `name` or `name{label="value"}`; the sum of all samples that have these labels.
    pub prometheus: Option<String>,
    /// The number at this JSONPath.
    pub json: Option<String>,
    /// Messages of a topic that a consumer group has not committed yet.
    pub consumer_lag: Option<ConsumerLag>,
    /// By how much the number grows in a second, for one that only counts up; false by default.
    pub per_second: Option<bool>,
    /// The unit of the number: `bytes`, `s`, `ms`, `us`, `/s`, `bytes/s`, `share` (0 to 1) or `%`; a count by default. With per_second,
    /// bytes become bytes per second, and times become CPUs.
    pub unit: Option<MetricUnit>,
    /// What the load generator counts of the whole load that this number, which only counts up, should grow by: the report shows both
    /// and judges the difference.
    pub compare_with: Option<ComparedCount>,
    /// The largest difference in a trial that is no finding, as a share of the load generator's count; 0 by default.
    pub tolerance: Option<Share>,
}

/// The unit of a number that a system exposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum MetricUnit {
    /// No unit.
    #[serde(rename = "count")]
    Count,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Per second.
    #[serde(rename = "/s")]
    PerSecond,
    /// Bytes per second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// A share from 0 to 100.
    #[serde(rename = "%")]
    Percent,
}

/// A consumer group and the topic that it reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsumerLag {
    /// The group's name.
    #[schemars(required)]
    pub group: Option<String>,
    /// The topic's name.
    #[schemars(required)]
    pub topic: Option<String>,
}
