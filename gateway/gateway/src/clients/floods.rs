//! What a client does over HTTP/2 that leads nowhere, on all of its connections: streams that it resets, frames without content.
//!
//! Each connection has its own limit, and a client that opens one after the other would begin afresh with each.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use waggle_wire::http2::server::Waste;

/// Time over which they are counted.
const WINDOW: Duration = Duration::from_secs(10);
/// As many in that time, if no flag says otherwise.
pub(super) const FLOOD_MAX: u64 = 10_000;

/// What one client has done in vain.
#[derive(Debug)]
pub(crate) struct Floods {
    max: u64,
    count: Mutex<Count>,
    /// Whether something is counted: a client that does nothing in vain costs no lock.
    is_counting: AtomicBool,
}

#[derive(Debug)]
struct Count {
    since: Instant,
    vain: u64,
}

impl Floods {
    pub(super) fn new(max: u64) -> Self {
        Self {
            max,
            count: Mutex::new(Count {
                since: Instant::now(),
                vain: 0,
            }),
            is_counting: AtomicBool::new(false),
        }
    }

    /// Counts what was done, against which answered requests are set; false if it is too much.
    pub(crate) fn note(&self, waste: Waste, now: Instant) -> bool {
        if self.max == u64::MAX || (waste.vain == 0 && !self.is_counting.load(Ordering::Relaxed)) {
            return true;
        }
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(count.since) >= WINDOW {
            (count.since, count.vain) = (now, 0);
        }
        let before = count.vain.saturating_sub(u64::from(waste.answered));
        count.vain = before + u64::from(waste.vain);
        self.is_counting.store(count.vain > 0, Ordering::Relaxed);
        count.vain <= self.max
    }

    /// Whether nothing need be known of it.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.vain == 0 || now.saturating_duration_since(count.since) >= WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floods_are_counted_by_the_time_and_against_answers() {
        let floods = Floods::new(10);
        let begin = Instant::now();
        let note = |vain, answered, now| floods.note(Waste { vain, answered }, now);
        assert!(note(10, 0, begin) && !floods.is_quiet(begin));
        assert!(!note(1, 0, begin) && note(1, 2, begin));
        assert!(note(0, 99, begin) && floods.is_quiet(begin));
        assert!(!note(11, 99, begin));
        let later = begin + WINDOW;
        assert!(floods.is_quiet(later) && note(10, 0, later) && !note(1, 0, later));
        assert!(Floods::new(u64::MAX).note(
            Waste {
                vain: 99,
                answered: 0
            },
            begin
        ));
    }
}
