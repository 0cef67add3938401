//! The state of a running trial.

use waggle_load::Interval;
use waggle_results::TrialKey;

/// The running trial.
#[derive(Debug)]
pub(super) struct Now {
    pub(super) position: u32,
    pub(super) key: TrialKey,
    pub(super) active_requests: u64,
    pub(super) connections_open: u64,
    /// The load of the preparation that runs.
    pub(super) preparing: Option<Preparing>,
    /// Visible and accepted records.
    pub(super) draining: Option<(u64, u64)>,
}

/// What a load of the preparation has done so far.
#[derive(Debug)]
pub(super) struct Preparing {
    pub(super) name: String,
    pub(super) done: u64,
    pub(super) sessions: u64,
}

impl Now {
    pub(super) fn new(position: u32, key: TrialKey) -> Self {
        Self {
            position,
            key,
            active_requests: 0,
            connections_open: 0,
            preparing: None,
            draining: None,
        }
    }

    /// Takes over the state at the end of an interval; returns the cell.
    pub(super) fn follow(&mut self, interval: &Interval) -> u32 {
        self.preparing = None;
        self.active_requests = interval.counts.in_flight;
        self.connections_open = interval.counts.connections_open;
        self.key.cell
    }
}
