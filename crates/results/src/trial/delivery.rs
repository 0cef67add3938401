//! How a probe followed the records.

use serde::{Deserialize, Serialize};

use crate::count::{count, optional_count};

/// How delivery was followed, over the whole load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryInfo {
    pub probe: String,
    /// Resolution of delays: the longest time from a poll that reached the store's end to the next record that was seen.
    pub resolution_ms: f64,
    /// The longest time over which each poll returned as much as one may: the probe was behind, not the store.
    pub probe_lag_s: f64,
    /// The same two, of records sent in the measured phase: `resolution_ms` and `probe_lag_s` are of the whole load and the
    /// drain. `None`: nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_resolution_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_probe_lag_s: Option<f64>,
    /// The records whose delays are known; `None`: all. Delays, late records and those out of order are of the sample; all
    /// others are counted when the load is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleInfo>,
    /// The records sent in the measured phase, as far as they were found. `None`: nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredRecords>,
    /// What the store's own instants are; `None`: it shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instants: Option<InstantsInfo>,
    /// The drain ended before the probe had read everything: a record that it did not see may have arrived.
    pub unread: bool,
    /// Visible before they were sent, by the clocks: counted, not dropped.
    #[serde(deserialize_with = "count")]
    pub negative_delays: u64,
    /// From the end of the load until the store was complete; `None`: it never was.
    pub drain_time_s: Option<f64>,
    #[serde(deserialize_with = "count")]
    pub polls: u64,
    #[serde(deserialize_with = "count")]
    pub bytes_read: u64,
    /// CPU seconds that the probed component needed for the reads of the probe, measured by repeating them without load.
    pub probe_cpu_s: Option<f64>,
}

/// The records of the measured phase that a probe found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRecords {
    #[serde(deserialize_with = "count")]
    pub found: u64,
    /// Of a sample: the windows in which any of them was followed. A stretch that was read as a whole counts as one.
    #[serde(
        default,
        deserialize_with = "optional_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub windows: Option<u64>,
}

/// The instants at which a store says that it had records (`arrival_delay.hlog`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstantsInfo {
    /// All of them are multiples of this.
    #[serde(deserialize_with = "count")]
    pub resolution_ns: u64,
    /// The store has shown a record since its instant, so that its delivery delay ends then. Else it may have shown it later.
    pub ends_delay: bool,
}

/// The part of the records that a probe followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleInfo {
    #[serde(deserialize_with = "count")]
    pub followed: u64,
    /// All records that it found.
    #[serde(deserialize_with = "count")]
    pub of: u64,
}
