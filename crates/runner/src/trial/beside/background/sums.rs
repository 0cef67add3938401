//! What a background load did while the measured phase of its trial lasted.

use std::{collections::VecDeque, time::Duration};

use tokio::sync::watch;
use waggle_load::{Counts, Interval};

use crate::{
    load::{
        counts::{kinds, tls_obstacle},
        side_load::{SideLoad, SideLoadSums},
    },
    probe::Window,
};

/// The measured load, beside which others run.
pub(in crate::trial) struct MeasuredLoad {
    /// The monotonic clock at its start.
    pub(in crate::trial) started: Duration,
    /// Length of its intervals, and of those of the others.
    pub(in crate::trial) interval: Duration,
    /// Its measured phase, once that is known.
    pub(in crate::trial) window: watch::Receiver<Option<Window>>,
}

/// Limit on the intervals that wait until it is known whether they belong to the measured phase. Those of the measured load are handed
/// over at about the same time.
const WAITING_MAX: usize = 8;

/// Where an interval lies, seen from the measured phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    During,
    After,
}

/// The sums over the intervals of a background load.
pub(super) struct Sums {
    sums: SideLoadSums,
    /// From its start to that of the measured load.
    ahead: Duration,
    /// Length of an interval of the measured load.
    interval: Duration,
    window: watch::Receiver<Option<Window>>,
    waiting: VecDeque<Interval>,
    /// The whole load.
    totals: Counts,
    was_connected: bool,
}

impl Sums {
    pub(super) fn new(load: SideLoad, ahead: Duration, measured: &MeasuredLoad) -> Self {
        Self {
            sums: SideLoadSums::new(load),
            ahead,
            interval: measured.interval,
            window: measured.window.clone(),
            waiting: VecDeque::new(),
            totals: Counts::default(),
            was_connected: false,
        }
    }

    /// Adds the next interval.
    pub(super) fn add(&mut self, interval: Interval) {
        let counts = &interval.counts;
        self.totals.follow(counts);
        // A connection is open after its handshake, and may be closed again with its only request.
        self.was_connected |= counts.connections_open > 0 || counts.sent > 0;
        self.waiting.push_back(interval);
        self.count_waiting(WAITING_MAX);
    }

    /// Why it will never have a connection, with what came in place of one; `None`: it has had one, or may still have one.
    pub(super) fn why_unconnected(&self) -> Option<String> {
        if let Some(obstacle) = tls_obstacle(&self.totals) {
            return Some(format!(": {obstacle}"));
        }
        let has_begun = self.window.borrow().is_some();
        if self.was_connected || !has_begun {
            return None;
        }
        Some(match kinds(&self.totals, &[]) {
            kinds if kinds.is_empty() => " before the measured phase".to_owned(),
            kinds => format!(" before the measured phase: {kinds}"),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.sums.load.name
    }

    /// What it did, as far as it has come.
    pub(super) fn sums(&mut self) -> &SideLoadSums {
        self.count_waiting(0);
        &self.sums
    }

    /// Counts the intervals whose place is known; the oldest of more than `max` in any case.
    fn count_waiting(&mut self, max: usize) {
        let window = *self.window.borrow();
        while let Some(first) = self.waiting.front() {
            let place = window.map(|window| self.place(first, window));
            let is_open = matches!(place, None | Some(Place::After));
            if is_open && self.waiting.len() <= max {
                return;
            }
            if let Some(interval) = self.waiting.pop_front() {
                // The answers after the phase are to requests of the phase: times without them would be too short at the tail.
                match place {
                    None | Some(Place::Before) => self.sums.skip(&interval),
                    Some(Place::During) => self.sums.add(&interval),
                    Some(Place::After) => self.sums.add_answers(&interval),
                }
            }
        }
    }

    /// An interval belongs to the phase in which its middle lies.
    fn place(&self, interval: &Interval, window: Window) -> Place {
        let intervals = |count: u64| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            self.ahead
                .saturating_add(self.interval.saturating_mul(count))
        };
        let middle = interval.start + interval.length / 2;
        if middle < intervals(window.from) {
            Place::Before
        } else if middle < intervals(window.to) {
            Place::During
        } else {
            Place::After
        }
    }
}
