//! What all loads have that are not the measured one: rates and shares of their counts.

use waggle_stats::Part;

use crate::recording::histogram::as_f64;

/// How many there were per second; `None` if it took no time.
pub(crate) fn per_second(count: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| as_f64(count) / seconds)
}

/// Failed requests of all that were answered or lost.
pub(crate) fn failed_share(succeeded: u64, failed: u64) -> Part {
    Part {
        of: failed,
        all: failed + succeeded,
    }
}
