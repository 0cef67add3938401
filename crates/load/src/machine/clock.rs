//! Time as one run counts it: nanoseconds since its start, tied to the wall clock once.
//!
//! Only the monotonic clock is used after the start; a step of the wall clock in mid-run changes no stamp and no latency.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

pub(crate) const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_US: u64 = 1_000;

/// The clock of one run; every worker has a copy with the same start.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Clock {
    monotonic_at_start: u64,
    unix_at_start: u64,
}

/// The clocks are read again if this much time passed between the two readings: the thread was preempted in between, which would
/// be an error of every stamp.
const MAX_APART_NS: u64 = 20_000;
const READINGS_MAX: u32 = 20;

impl Clock {
    /// Starts a run now.
    pub(crate) fn start() -> Self {
        let mut best = Self::read();
        for _ in 1..READINGS_MAX {
            if best.1 <= MAX_APART_NS {
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
    fn read() -> (Self, u64) {
        let before = nanoseconds(clock_gettime(ClockId::Monotonic));
        let unix_at_start = nanoseconds(clock_gettime(ClockId::Realtime));
        let monotonic_at_start = nanoseconds(clock_gettime(ClockId::Monotonic));
        let clock = Self {
            monotonic_at_start,
            unix_at_start,
        };
        (clock, monotonic_at_start - before)
    }

    /// A run that starts `after` from now.
    pub(crate) fn start_after(after: Duration) -> Self {
        let now = Self::start();
        let after = whole_nanoseconds(after);
        Self {
            monotonic_at_start: now.monotonic_at_start + after,
            unix_at_start: now.unix_at_start + after,
        }
    }

    /// Sleeps until the start, if that is not past.
    pub(crate) fn wait_for_start(&self) {
        let now = nanoseconds(clock_gettime(ClockId::Monotonic));
        let left = self.monotonic_at_start.saturating_sub(now);
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }

    /// The same clock for a machine whose monotonic clock is ahead by `offset_ns`.
    pub(crate) fn with_offset(self, offset_ns: i64) -> Self {
        Self {
            monotonic_at_start: self.monotonic_at_start.saturating_add_signed(offset_ns),
            ..self
        }
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(clock_gettime(ClockId::Monotonic)) - self.monotonic_at_start
    }

    /// The monotonic clock's own reading at an instant of the run.
    #[inline]
    pub(crate) fn monotonic(&self, instant: u64) -> u64 {
        self.monotonic_at_start.saturating_add(instant)
    }

    /// The monotonic clock's own reading at the start.
    pub(crate) fn monotonic_start(&self) -> Duration {
        Duration::from_nanos(self.monotonic_at_start)
    }

    /// Nanoseconds since 1970 at an instant of the run.
    #[inline]
    pub(crate) fn unix(&self, instant: u64) -> u64 {
        self.unix_at_start + instant
    }
}

/// CPU time that the calling thread has used.
pub(crate) fn thread_cpu() -> Duration {
    Duration::from_nanos(nanoseconds(clock_gettime(ClockId::ThreadCPUTime)))
}

/// A duration in nanoseconds; longer ones are capped at 584 years.
pub(crate) fn whole_nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Rounded to the nearest microsecond: truncation would make every mean half a microsecond too small.
#[inline]
pub(crate) fn microseconds(ns: u64) -> u64 {
    ns.saturating_add(NS_PER_US / 2) / NS_PER_US
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / NS_PER_S).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % NS_PER_S).unwrap_or(0),
    }
}

#[inline]
fn nanoseconds(time: Timespec) -> u64 {
    // Both clocks count upwards from 1970 or from the start of the machine: never negative.
    time.tv_sec.cast_unsigned() * NS_PER_S + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Clock, NS_PER_S};

    #[test]
    fn a_start_lies_ahead_and_another_machine_has_it_by_its_own_clock() {
        let now = Clock::start();
        let later = Clock::start_after(Duration::from_secs(1_000));
        assert!(later.monotonic(0) >= now.monotonic(0) + 1_000 * NS_PER_S);
        let ahead = later.with_offset(5);
        assert_eq!(ahead.monotonic(0), later.monotonic(0) + 5);
        assert_eq!(later.with_offset(-5).monotonic(0), later.monotonic(0) - 5);
        // The wall clock is the same for all, so that stamps of all generators are of one time.
        assert_eq!(ahead.unix(0), later.unix(0));
        // A start that is past is not waited for.
        now.wait_for_start();
    }
}
