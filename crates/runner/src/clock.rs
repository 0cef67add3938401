//! The time axis of a trial: seconds since the start of the load, tied once to the wall clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// The instant a load started, on both clocks. After it only the monotonic clock moves, as in the engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    start_unix_ns: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            start: Instant::now(),
            start_unix_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// Nanoseconds since 1970.
    pub(crate) fn unix_ns(&self) -> u64 {
        self.start_unix_ns + u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Seconds from the start of the load to an instant; negative before it.
    pub(crate) fn seconds(&self, instant: Instant) -> f64 {
        match instant.checked_duration_since(self.start) {
            Some(after) => after.as_secs_f64(),
            None => -(self.start - instant).as_secs_f64(),
        }
    }
}
