//! The lengths of a histogram interval and of a sampling interval.

use std::time::Duration;

use super::{Schedule, measure::Measured};
use crate::{
    at::{Bounds, Key},
    check::Checker,
    raw::DurationText,
};

/// Of a histogram interval and of a sampling interval.
const INTERVAL: Bounds = Bounds(Duration::from_millis(10), Duration::from_secs(60));
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Defaults for a measured phase of fewer than [`WANTED_INTERVALS`] seconds, the first of which it is a multiple.
const SHORT_INTERVALS: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(100)];
/// With so many the test of steadiness has something to go by.
const WANTED_INTERVALS: u32 = 12;

/// The histogram interval and the sampling interval.
pub(crate) fn intervals(
    checker: &mut Checker<'_>,
    given: &Key<Schedule>,
) -> (Option<Duration>, Option<Duration>) {
    let Some(keys) = given.value() else {
        return (Some(DEFAULT_INTERVAL), Some(DEFAULT_INTERVAL));
    };
    let findings = &mut checker.findings;
    let default = default_interval(&keys.measure);
    let interval = keys.interval.check_bounds(default, INTERVAL, findings);
    let sampling = &keys.sampling_interval;
    let sampling_interval = sampling.check_bounds(DEFAULT_INTERVAL, INTERVAL, findings);
    (interval, sampling_interval)
}

/// The histogram interval of a schedule that does not give it.
fn default_interval(measure: &Key<Measured>) -> Duration {
    let measured = match measure.value() {
        Some(Measured::Time(DurationText(time))) => *time,
        Some(Measured::Requests(_)) | None => return DEFAULT_INTERVAL,
    };
    if measured >= DEFAULT_INTERVAL * WANTED_INTERVALS {
        return DEFAULT_INTERVAL;
    }
    let is_divisor = |interval: &Duration| {
        measured >= *interval && measured.as_nanos().is_multiple_of(interval.as_nanos())
    };
    let divisor = SHORT_INTERVALS.into_iter().find(is_divisor);
    divisor.unwrap_or(DEFAULT_INTERVAL)
}
