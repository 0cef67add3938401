//! A load run: its targets, protocol, requests, load model and limits; and its division among generators (`share`) and workers
//! (`partition`).

pub(crate) mod partition;
pub(crate) mod share;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use waggle_spec::{Arrivals, OnSocketError, Think};

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
    pub model: Model,
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
        self.workers.len().min(groups)
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

/// The load model: what makes the next request due. Latencies of different models are never compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Model {
    /// Each connection keeps `pipelining` requests in flight; the next one is sent when an answer is complete.
    Closed {
        connections: usize,
        pipelining: usize,
    },
    /// Requests fall due by the clock, independent of answers.
    Open {
        rate: Rate,
        arrivals: Arrivals,
        connections: usize,
        pipelining: usize,
    },
    /// Each user has its own connection: send, wait for the answer, pause for the think time.
    Users {
        /// Highest number of users at a time.
        users: usize,
        think_time: Think,
        /// Number of active users over time; empty: all of them, from the start on. A user that is no longer needed finishes what
        /// it has begun and becomes idle. The run ends with the last stage.
        stages: Vec<UserStage>,
    },
    /// Each client sends its requests over its own connections, one at a time on each, and ends. All begin at the start of the load,
    /// which ends with the last of them. For requests, not for a scenario, over HTTP/1.1.
    Clients {
        clients: usize,
        /// Of each client.
        connections: usize,
        /// Of each client; at least as many as connections.
        requests: u64,
        on_error: OnSocketError,
    },
}

impl Model {
    /// Number of connections; each user has one.
    #[must_use]
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => *connections,
            Self::Users { users, .. } => *users,
            Self::Clients {
                clients,
                connections,
                ..
            } => clients.saturating_mul(*connections),
        }
    }

    /// Connections that belong together, so that they are of the same worker: how many groups there are, and the connections of each.
    pub(crate) fn groups(&self) -> (usize, usize) {
        match self {
            Self::Clients {
                clients,
                connections,
                ..
            } => (*clients, *connections),
            Self::Closed { .. } | Self::Open { .. } | Self::Users { .. } => (self.connections(), 1),
        }
    }

    /// Most requests in flight on each connection.
    #[must_use]
    pub fn pipelining(&self) -> usize {
        match self {
            Self::Closed { pipelining, .. } | Self::Open { pipelining, .. } => *pipelining,
            Self::Users { .. } | Self::Clients { .. } => 1,
        }
    }
}

/// Rate of an open load, in requests per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Rate {
    /// The same from start to end; above 0.
    Constant(f64),
    /// Stages in order, beginning at a rate of 0. The run ends with the last one; requests that were due but not sent by then
    /// count as skipped.
    Stages(Vec<Stage>),
}

/// A stretch of time in which the rate changes linearly to `to_per_s`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    pub to_per_s: f64,
    /// 0: a jump.
    pub over: Duration,
}

/// A stretch of time in which the number of active users changes linearly to `to`, from 0 at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStage {
    pub to: usize,
    /// 0: a jump.
    pub over: Duration,
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
