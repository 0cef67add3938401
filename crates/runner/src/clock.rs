//! The time axis of a trial: seconds since the start of the load, tied once to the wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// The instant a load started, on both clocks. After it only the monotonic clock is read, as in the engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    start_unix_ns: u64,
}

/// The two clocks are read again if this much time passed between the two readings. The thread was preempted between them, which
/// would shift every delay.
const APART_AT_MOST: Duration = Duration::from_micros(20);
const READINGS_MAX: u32 = 20;

impl Clock {
    pub(crate) fn start() -> Self {
        let mut best = Self::read();
        for _ in 1..READINGS_MAX {
            if best.1 <= APART_AT_MOST {
                break;
            }
            let next = Self::read();
            if next.1 < best.1 {
                best = next;
            }
        }
        best.0
    }

    /// Both clocks, and how long it took to read them.
    fn read() -> (Self, Duration) {
        let before = Instant::now();
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let start = Instant::now();
        let clock = Self {
            start,
            start_unix_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
        };
        (clock, start - before)
    }

    pub(crate) fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// Nanoseconds since 1970.
    pub(crate) fn unix_ns(&self) -> u64 {
        self.start_unix_ns + u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The same at an instant.
    pub(crate) fn unix_ns_at(&self, instant: Instant) -> u64 {
        let after = instant.saturating_duration_since(self.start);
        self.start_unix_ns + u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The instant at which the load has run for this duration.
    pub(crate) fn instant(&self, after: Duration) -> Instant {
        self.start + after
    }

    /// Seconds from the start of the load to an instant; negative before it.
    pub(crate) fn seconds(&self, instant: Instant) -> f64 {
        match instant.checked_duration_since(self.start) {
            Some(after) => after.as_secs_f64(),
            None => -(self.start - instant).as_secs_f64(),
        }
    }
}
