//! The network of a trial, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DurationText, Share};
use crate::Level;

/// The network between the load and the system: each trial has a network of its own, on this machine, which nothing else uses.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    /// The highest rate of all packets together, both ways, e.g. `100mbit` (kbit, mbit or gbit per second); or `none`, the default.
    pub rate: Option<Level>,
    /// Each packet arrives later by this, so a round trip takes twice as long; none by default. It needs netem in the kernel.
    pub delay: Option<DurationText>,
    /// The share of packets that are lost, e.g. `0.1%`; none by default. It needs netem in the kernel.
    pub loss: Option<Share>,
    /// The largest packet in bytes. By default 1500 with a rate, a delay or a loss; else 65536, as on the loopback interface.
    #[schemars(range(min = 576, max = 65536))]
    pub mtu: Option<u32>,
    /// Settings of the kernel for this network, e.g. `net.core.somaxconn: 128`.
    pub sysctl: Option<IndexMap<String, Level>>,
}
