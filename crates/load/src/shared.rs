//! What workers share while they run: the wish to stop, and what ends the run for all of them.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use crate::Job;

/// All that workers share while they run.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    pub(crate) account_full: AtomicBool,
    /// When a connection of any worker was open last, in nanoseconds since the start of the run.
    last_open: AtomicU64,
    /// For how long no connection was open, where that has ended the run.
    pub(crate) unconnected_ns: AtomicU64,
}

/// How long a run may go on without any open connection; `None`: until its time is over.
pub(crate) fn unconnected_at_most(job: &Job) -> Option<Duration> {
    let limits = &job.limits;
    let time = limits.request_timeout.saturating_add(limits.unconnected);
    job.requests_at_most.map(|_| time)
}

impl Shared {
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A connection was open at this instant.
    pub(crate) fn is_open(&self, now: u64) {
        self.last_open.fetch_max(now, Ordering::Relaxed);
    }

    /// Ends the run for all workers where none has had an open connection for as long as `most`.
    pub(crate) fn end_unconnected(&self, now: u64, most: u64) {
        let time = now.saturating_sub(self.last_open.load(Ordering::Relaxed));
        if time >= most {
            self.unconnected_ns.store(time, Ordering::Relaxed);
            self.stop();
        }
    }

    /// An account has reached its limit, which ends the run for all workers.
    pub(crate) fn account_is_full(&self) {
        self.account_full.store(true, Ordering::Relaxed);
        self.stop();
    }
}
