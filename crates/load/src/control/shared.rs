//! State that workers share while they run: the request to stop, and what ends the run for all of them.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use super::replacement::Replacements;
use crate::job::{Job, What};

/// All state that workers share while they run.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    pub(crate) request_outcomes_full: AtomicBool,
    /// A worker skipped requests and went on to send later ones.
    pub(crate) skipped_under_load: AtomicBool,
    /// When a connection of any worker was open last, in nanoseconds since the start of the run.
    last_open: AtomicU64,
    /// How long no connection was open, if that ended the run.
    pub(crate) unconnected_ns: AtomicU64,
    pub(crate) replacements: Replacements,
}

/// How long a run may continue without an open connection; `None`: until its end.
pub(crate) fn max_unconnected(job: &Job) -> Option<Duration> {
    let limits = &job.limits;
    let time = limits.request_timeout.saturating_add(limits.unconnected);
    let ends_by_count = match &job.what {
        What::Requests { .. } => job.max_requests.is_some(),
        What::Scenario(scenario) => job.max_requests.is_some() || scenario.preparation.is_some(),
    };
    ends_by_count.then_some(time)
}

impl Shared {
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A connection was open at this instant.
    pub(crate) fn is_open(&self, now: u64) {
        self.last_open.fetch_max(now, Ordering::Relaxed);
    }

    /// Ends the run for all workers if none has had an open connection for `most`.
    pub(crate) fn end_unconnected(&self, now: u64, most: u64) {
        let time = now.saturating_sub(self.last_open.load(Ordering::Relaxed));
        if time >= most {
            self.unconnected_ns.store(time, Ordering::Relaxed);
            self.stop();
        }
    }

    /// A worker has reached its limit of tracked requests, which ends the run for all workers.
    pub(crate) fn request_outcomes_are_full(&self) {
        self.request_outcomes_full.store(true, Ordering::Relaxed);
        self.stop();
    }
}
