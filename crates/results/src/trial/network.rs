//! The network of a trial, and what it counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::count::count;

/// A network of a trial's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkInfo {
    /// The highest rate of all packets together; `None`: there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_s: Option<u64>,
    /// Each packet arrives later by this.
    pub delay_s: f64,
    /// The share of packets that are lost.
    pub loss: f64,
    /// The largest packet.
    pub mtu: u32,
    /// Settings of the kernel by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
    /// In the measured phase; `None`: the trial did not get that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<NetworkCounts>,
}

/// What the kernel counted in a network, of load and system together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkCounts {
    /// Connections that found the queue of their listener full.
    #[serde(deserialize_with = "count")]
    pub listen_overflows: u64,
    /// SYNs and connections that a listener dropped, for whatever reason.
    #[serde(deserialize_with = "count")]
    pub listen_drops: u64,
    /// SYN cookies that were sent, because the queue of half-open connections was full.
    #[serde(deserialize_with = "count")]
    pub syn_cookies: u64,
    /// Segments that were sent again.
    #[serde(deserialize_with = "count")]
    pub retransmissions: u64,
    /// Segments with the flag RST that were sent.
    #[serde(deserialize_with = "count")]
    pub resets: u64,
}
