//! What a process has used.

use std::time::Duration;

/// What a component has used so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Usage {
    /// `gateway-0`, or `waggle` for the load generator itself.
    pub(crate) replica: String,
    pub(crate) cpu: Duration,
    pub(crate) rss_bytes: u64,
    pub(crate) threads: u32,
}
