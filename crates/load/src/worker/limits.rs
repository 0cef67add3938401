//! The limits of a job in the unit of a worker's loop.

use crate::{
    control::shared::max_unconnected, job::Job, machine::clock::whole_nanoseconds,
    pacing::pacer::Pacer,
};

/// How often a worker checks whether it should stop, and for timeouts.
pub(super) const TICK_NS: u64 = 10_000_000;
/// Timeouts are checked at least every this many ticks.
const SCAN_TICKS_MAX: u64 = 10;

/// The limits of the job in the unit of the loop.
pub(super) struct Nanoseconds {
    pub(super) request_timeout: u64,
    pub(super) connect_timeout: u64,
    pub(super) reconnect_first: u64,
    pub(super) reconnect_max: u64,
    pub(super) finish: u64,
    /// Nothing falls due from this instant on.
    pub(super) max_duration: u64,
    /// Nothing is sent from this instant on: the same, or the end of the stages if that is earlier.
    pub(super) end: u64,
    pub(super) scan_ticks: u64,
    pub(super) unconnected: Option<u64>,
}

impl Nanoseconds {
    pub(super) fn new(job: &Job, pacer: &Pacer) -> Self {
        let limits = &job.limits;
        let max_duration = whole_nanoseconds(job.max_duration);
        let request_timeout = whole_nanoseconds(limits.request_timeout);
        let shortest = request_timeout.min(whole_nanoseconds(limits.connect_timeout));
        Self {
            request_timeout,
            connect_timeout: whole_nanoseconds(limits.connect_timeout),
            reconnect_first: whole_nanoseconds(limits.reconnect_first),
            reconnect_max: whole_nanoseconds(limits.reconnect_max),
            finish: whole_nanoseconds(limits.finish),
            max_duration,
            end: max_duration.min(pacer.end()),
            scan_ticks: scan_ticks(shortest),
            unconnected: max_unconnected(job).map(whole_nanoseconds),
        }
    }

    /// Checks timeouts often enough for this one.
    pub(super) fn watch_timeout(&mut self, timeout: u64) {
        self.scan_ticks = self.scan_ticks.min(scan_ticks(timeout));
    }
}

/// A twentieth of the timeout is precise enough.
fn scan_ticks(timeout: u64) -> u64 {
    (timeout / 20 / TICK_NS).clamp(1, SCAN_TICKS_MAX)
}
