//! A load run: its targets, protocol, requests, load model and limits; and its division among generators (`share`) and workers
//! (`partition`).

pub(crate) mod partition;
pub(crate) mod share;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use waggle_spec::{LoadModel, LoadStage, Protocol};
use waggle_wire::http1::answer::ReadLimits;

use crate::{
    inspection::Inspect,
    requests::{expect::Expect, prepared::Prepared},
    scenario::model::Scenario,
    transport::settings::Transport,
};

/// One load run, complete: nothing else is read while it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Name of the request in histograms and counts.
    pub name: String,
    /// Connections are spread evenly over these; never empty.
    pub targets: Vec<Target>,
    pub transport: Transport,
    pub model: LoadModel,
    /// How the level of an open load, or of users, changes in order, beginning at 0; empty: it is always that of the model, which
    /// is the highest otherwise. The load ends with the last stage: requests that were due but not sent by then count as skipped,
    /// and a user that is no longer needed finishes what it has begun.
    pub stages: Vec<LoadStage>,
    pub what: What,
    pub limits: Limits,
    /// One worker thread for each entry, but never more than there are connections; `Some(n)` pins that thread to CPU n.
    pub workers: Vec<Option<usize>>,
    /// Length of one interval.
    pub interval: Duration,
    /// Hard limit on the length of the run.
    pub max_duration: Duration,
    /// Most requests over all workers; `None`: until stopped.
    pub max_requests: Option<u64>,
    /// Tracks the outcome of every request (two bits each), in a scenario of those that carry a record; the run ends if a worker
    /// has tracked this many. `None`: nothing is tracked.
    pub max_tracked_requests: Option<u64>,
    /// Seed of every random choice (arrivals, think times).
    pub seed: u64,
}

impl Job {
    /// Number of workers that send: never more than connections or clients, because one without any would be of no use.
    #[must_use]
    pub fn sending_workers(&self) -> usize {
        let (groups, _) = self.model.groups();
        self.workers.len().min(groups as usize)
    }

    /// Sessions of a scenario at the same time on one connection: one over HTTP/1.1, one for each stream over HTTP/2.
    #[must_use]
    pub fn sessions_per_connection(&self) -> usize {
        match self.transport.protocol {
            Protocol::Http1 => 1,
            Protocol::Http2 | Protocol::Auto => self.model.pipelining() as usize,
        }
    }
}

/// What is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum What {
    /// Prepared requests, sent in turn; each worker starts at its own index in the list. Never empty.
    Requests {
        requests: Vec<Prepared>,
        expect: Expect,
        /// `None`: bodies are compared as `expect` asks, and nothing else is done with them.
        inspect: Option<Inspect>,
    },
    /// Sessions of several requests, which are made as they are sent.
    Scenario(Arc<Scenario>),
}

/// An address that answers requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub address: SocketAddr,
}

/// The limits of a run. Each has a default in [`Limits::default`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From sent until the answer is complete.
    pub request_timeout: Duration,
    pub connect_timeout: Duration,
    /// Of an answer's head; over HTTP/2 each field counts 32 bytes more, of which this limit has room for `head_max_fields`.
    pub head_max_bytes: usize,
    /// Most header lines of an answer.
    pub head_max_fields: usize,
    /// Of an answer. Bodies are not kept, so by default only the request timeout bounds them.
    pub body_max_bytes: u64,
    /// First pause before reconnecting after a failure; doubles up to `reconnect_max`.
    pub reconnect_first: Duration,
    pub reconnect_max: Duration,
    /// A load that ends by a number of requests ends early if no connection was open for `request_timeout` plus this long.
    pub unconnected: Duration,
    /// Open load: most due requests that may wait in a worker; more are counted as skipped.
    pub due_max: usize,
    /// How long to wait for pending answers after the load has stopped.
    pub finish: Duration,
    /// Most of an answer's body that is kept, for steps of a scenario that check or capture by it.
    pub body_kept_max_bytes: usize,
}

impl From<&Limits> for ReadLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            head_max_bytes: limits.head_max_bytes,
            head_max_fields: limits.head_max_fields,
            body_max_bytes: limits.body_max_bytes,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            head_max_bytes: 64 * 1024,
            head_max_fields: 1_000,
            body_max_bytes: u64::MAX,
            reconnect_first: Duration::from_millis(5),
            reconnect_max: Duration::from_secs(1),
            unconnected: Duration::from_secs(10),
            due_max: 1_000_000,
            finish: Duration::from_secs(10),
            // A page of a list may be large.
            body_kept_max_bytes: 16 * 1024 * 1024,
        }
    }
}
