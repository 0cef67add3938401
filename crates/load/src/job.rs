//! What a load run is told: whom to call, how, with what, and within which limits.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use crate::{Expect, Prepared, Scenario, Think, Transport};

/// One load run, complete: nothing else is read while it goes on.
#[derive(Debug, Clone)]
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
    /// How long one histogram interval lasts.
    pub interval: Duration,
    /// Hard end: the run stops here even if nobody asks it to.
    pub at_most: Duration,
    /// Most requests over all workers; `None`: until stopped.
    pub requests_at_most: Option<u64>,
    /// Keep an account of every request's fate (two bits each), of a scenario's those that carry a record; no worker sends
    /// more requests than this.
    pub account_at_most: Option<u64>,
    /// Decides every random choice (arrivals, think times).
    pub seed: u64,
}

impl Job {
    /// Workers that send: one without a connection would be of no use, so there are never more than connections.
    #[must_use]
    pub fn sending_workers(&self) -> usize {
        self.workers.len().min(self.model.connections())
    }
}

/// What is sent.
#[derive(Debug, Clone)]
pub enum What {
    /// Requests made ahead, sent in turn; each worker starts at its own place in the list. Never empty.
    Requests {
        requests: Vec<Prepared>,
        expect: Expect,
    },
    /// Sessions of several requests, made as they are sent.
    Scenario(Arc<Scenario>),
}

/// An address that answers requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub address: SocketAddr,
}

/// How requests come about. Latencies of different models are never compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// Each connection keeps `pipelining` requests under way; the next one goes when an answer is whole.
    Closed {
        connections: usize,
        pipelining: usize,
    },
    /// Requests fall due by the clock, whatever the answers do.
    Open {
        rate: Rate,
        arrivals: Arrivals,
        connections: usize,
        pipelining: usize,
    },
    /// Each user has a connection of its own: send, wait for the answer, think.
    Users {
        /// The most that there are at a time.
        users: usize,
        think: Think,
        /// How many are active when; empty: all of them, from the start on. A user that is not needed any more ends
        /// what it has begun and rests. The end of the last stage is the end of the run.
        stages: Vec<UserStage>,
    },
}

impl Model {
    /// Connections that it asks for; each user has one.
    #[must_use]
    pub fn connections(&self) -> usize {
        match self {
            Self::Closed { connections, .. } | Self::Open { connections, .. } => *connections,
            Self::Users { users, .. } => *users,
        }
    }

    /// Requests in flight on each connection, at most.
    #[must_use]
    pub fn pipelining(&self) -> usize {
        match self {
            Self::Closed { pipelining, .. } | Self::Open { pipelining, .. } => *pipelining,
            Self::Users { .. } => 1,
        }
    }
}

/// How many requests of an open load fall due in a second.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// The same from start to end; above 0.
    Constant(f64),
    /// One stage after the other, beginning at a rate of 0. The end of the last one is the end of the run; what was due
    /// and not sent by then counts as skipped.
    Stages(Vec<Stage>),
}

/// A stretch of time in which the rate goes evenly from what it was to another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    pub to_per_s: f64,
    /// 0: a jump.
    pub over: Duration,
}

/// A stretch of time in which the number of active users goes evenly from what it was (0 at first) to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserStage {
    pub to: usize,
    /// 0: a jump.
    pub over: Duration,
}

/// When requests of an open load fall due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    Poisson,
    Uniform,
}

/// The limits of a run. Each has a default in [`Limits::default`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From sent until the answer is whole.
    pub request_timeout: Duration,
    pub connect_timeout: Duration,
    pub head_max_bytes: usize,
    /// Of an answer. Bodies are not kept, so that only the time to answer bounds them by default.
    pub body_max_bytes: u64,
    /// First pause before a connection is opened again after a failure; doubles up to `reconnect_max`.
    pub reconnect_first: Duration,
    pub reconnect_max: Duration,
    /// A load that ends by its count ends without it where no connection was open for `request_timeout` and this long.
    pub unconnected: Duration,
    /// Open load: requests due but not yet sent that may wait in a worker; those beyond are counted as skipped.
    pub due_max: usize,
    /// How long answers are awaited after the load has stopped.
    pub finish: Duration,
    /// Most of an answer's body that is kept, for steps of a scenario that check or capture by it.
    pub body_kept_max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            head_max_bytes: 16 * 1024,
            body_max_bytes: u64::MAX,
            reconnect_first: Duration::from_millis(5),
            reconnect_max: Duration::from_secs(1),
            unconnected: Duration::from_secs(10),
            due_max: 1_000_000,
            finish: Duration::from_secs(10),
            body_kept_max_bytes: 1024 * 1024,
        }
    }
}
