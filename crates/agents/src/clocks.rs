//! Offsets of clocks, each with its bound. Pure.
//!
//! A reading is a request and its answer: the runner's monotonic clock before and after, the agent's in between. Whatever the two ways
//! took, the agent read its clock between the two instants; so the offset lies within half of the round trip of the middle.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of this machine's monotonic clock, which the load engine uses too.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds since 1970 by this machine's wall clock.
pub(crate) fn unix_ns() -> u64 {
    nanoseconds(ClockId::Realtime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither is negative.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// How far an agent's clock is ahead of the runner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The runner's monotonic clock in the middle of the reading.
    pub instant_ns: u64,
    /// The agent's monotonic clock minus the runner's.
    pub offset_ns: i64,
    /// The true offset is at most so far away.
    pub bound_ns: u64,
    /// The agent's wall clock minus the runner's, by the same reading.
    pub wall_offset_ns: i64,
}

/// The instants of one request and its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// The runner's monotonic clock.
    pub(crate) asked_ns: u64,
    pub(crate) answered_ns: u64,
    /// The runner's wall clock when it asked.
    pub(crate) asked_unix_ns: u64,
    /// The agent's clocks.
    pub(crate) monotonic_ns: u64,
    pub(crate) unix_ns: u64,
}

impl Exchange {
    pub(crate) fn reading(&self) -> ClockReading {
        let round_trip = self.answered_ns.saturating_sub(self.asked_ns);
        let middle = self.asked_ns + round_trip / 2;
        let unix_middle = self.asked_unix_ns + round_trip / 2;
        ClockReading {
            instant_ns: middle,
            offset_ns: difference(self.monotonic_ns, middle),
            // Half of an odd number is rounded up.
            bound_ns: round_trip.div_ceil(2),
            wall_offset_ns: difference(self.unix_ns, unix_middle),
        }
    }
}

/// What is known of an agent's clock during a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockError {
    pub before: ClockReading,
    pub after: ClockReading,
    /// How fast the agent's clock goes beside the runner's, from the first reading to the last one, in parts per million; more than
    /// `drift_bound_ppm` away from 0 is certain.
    pub drift_ppm: f64,
    pub drift_bound_ppm: f64,
    /// How wrong an instant of the agent can be that the runner has turned into its own clock's time, by the reading before the load.
    pub error_ns: u64,
    /// Readings while the load ran.
    pub readings: u64,
}

/// Judges the readings of a load: the first one, by which instants are turned, those in between, and the last one.
pub(crate) fn clock_error(
    before: ClockReading,
    between: &[ClockReading],
    after: ClockReading,
) -> ClockError {
    let elapsed = after.instant_ns.saturating_sub(before.instant_ns);
    let moved = after.offset_ns.saturating_sub(before.offset_ns);
    let per_million = |ns: f64| match elapsed {
        0 => 0.0,
        elapsed => ns / as_f64(elapsed) * 1e6,
    };
    let at_end = moved.unsigned_abs() + after.bound_ns;
    let steps = between
        .iter()
        .map(|reading| step_ns(before, *reading, after));
    let stepped = steps.max().unwrap_or(0);
    ClockError {
        before,
        after,
        drift_ppm: per_million(as_f64_signed(moved)),
        drift_bound_ppm: per_million(as_f64(before.bound_ns + after.bound_ns)),
        error_ns: before.bound_ns.max(at_end).max(stepped),
        readings: between.len() as u64,
    }
}

/// How wrong an instant is at a reading that is certainly off the line between the first reading and the last one, on which a clock
/// lies that goes evenly; else 0.
fn step_ns(before: ClockReading, reading: ClockReading, after: ClockReading) -> u64 {
    let elapsed = after.instant_ns.saturating_sub(before.instant_ns).max(1);
    let share = as_f64(reading.instant_ns.saturating_sub(before.instant_ns)) / as_f64(elapsed);
    let moved = after.offset_ns.saturating_sub(before.offset_ns);
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a drift")]
    let on_line = before.offset_ns + (as_f64_signed(moved) * share) as i64;
    let explained = reading.bound_ns + before.bound_ns.max(after.bound_ns);
    match reading.offset_ns.abs_diff(on_line) > explained {
        true => reading.offset_ns.abs_diff(before.offset_ns) + reading.bound_ns,
        false => 0,
    }
}

/// The best of several readings: that with the least bound.
pub(crate) fn best_reading(
    readings: impl IntoIterator<Item = ClockReading>,
) -> Option<ClockReading> {
    readings.into_iter().min_by_key(|reading| reading.bound_ns)
}

fn difference(first: u64, second: u64) -> i64 {
    let difference = i128::from(first) - i128::from(second);
    i64::try_from(difference).unwrap_or(match difference > 0 {
        true => i64::MAX,
        false => i64::MIN,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of days in nanoseconds, for ratios"
)]
fn as_f64(ns: u64) -> f64 {
    ns as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of days in nanoseconds, for ratios"
)]
fn as_f64_signed(ns: i64) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(instant_ms: u64, offset_us: i64, bound_us: u64) -> ClockReading {
        ClockReading {
            instant_ns: instant_ms * 1_000_000,
            offset_ns: offset_us * 1_000,
            bound_ns: bound_us * 1_000,
            wall_offset_ns: 0,
        }
    }

    proptest! {
        /// Whatever the ways take, and however far the clocks are apart, the true offset lies within the bound.
        #[test]
        fn the_true_offset_is_within_the_bound(
            asked in 0_u64..1 << 60, way in 0_u64..1 << 40, back in 0_u64..1 << 40, ahead in -(1_i64 << 59)..1 << 59,
        ) {
            let monotonic_ns = (asked + way).saturating_add_signed(ahead);
            prop_assume!((asked + way).checked_add_signed(ahead).is_some());
            let exchange = Exchange {
                asked_ns: asked,
                answered_ns: asked + way + back,
                asked_unix_ns: 1 << 60,
                monotonic_ns,
                unix_ns: (1 << 60) + way,
            };
            let reading = exchange.reading();
            prop_assert!(reading.offset_ns.abs_diff(ahead) <= reading.bound_ns, "{reading:?}");
            prop_assert!(reading.wall_offset_ns.unsigned_abs() <= reading.bound_ns, "{reading:?}");
        }
    }

    #[test]
    fn an_even_drift_is_an_error_at_the_end() {
        // 100 ppm over 10 s.
        let between = [reading(5_000, 500, 20)];
        let error = clock_error(reading(0, 0, 10), &between, reading(10_000, 1_000, 30));
        assert!((error.drift_ppm - 100.0).abs() < 1e-9, "{error:?}");
        assert!((error.drift_bound_ppm - 4.0).abs() < 1e-9, "{error:?}");
        assert_eq!((error.error_ns, error.readings), (1_030_000, 1));
    }

    #[test]
    fn a_step_in_between_is_an_error_and_a_slow_answer_is_none() {
        let (before, after) = (reading(0, 0, 10), reading(10_000, 0, 10));
        let slow = clock_error(before, &[reading(4_000, 900, 1_000)], after);
        assert_eq!(slow.error_ns, 10_000);
        let step = clock_error(before, &[reading(4_000, 900, 100)], after);
        assert_eq!(step.error_ns, 1_000_000);
        let alone = clock_error(before, &[], before);
        assert_eq!((alone.error_ns, alone.readings), (10_000, 0));
    }

    #[test]
    fn the_reading_with_the_least_bound_is_the_best() {
        let readings = [reading(0, 5, 9), reading(1, 6, 3), reading(2, 7, 4)];
        assert_eq!(best_reading(readings), Some(readings[1]));
        assert_eq!(best_reading([]), None);
    }
}
