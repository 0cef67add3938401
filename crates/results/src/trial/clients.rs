//! Clients that send a number of requests each, and how they ended.

use serde::{Deserialize, Serialize};

use crate::{FailureKind, count::count};

/// What became of a client that sends a number of requests and ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientInfo {
    #[serde(deserialize_with = "count")]
    pub sent: u64,
    /// Requests with a complete answer, an expected one or not.
    #[serde(deserialize_with = "count")]
    pub completed: u64,
    /// Requests that were answered as expected.
    #[serde(deserialize_with = "count")]
    pub succeeded: u64,
    /// From the start of the load until its last answer, or until it ended early.
    pub seconds: f64,
    pub end: ClientEndInfo,
}

/// How a client ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientEndInfo {
    /// Each of its requests was answered or counted as failed.
    Finished,
    /// At its first error of a socket, or timeout.
    Failed(FailureKind),
    /// The load ended before, at its longest time.
    Stopped,
}
