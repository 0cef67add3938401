//! Waits for other threads and processes.
//!
//! The timeout of a wait is not an assertion about time: it is long enough for any machine.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Anything a test waits for happens within this time, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(180);
/// Interval of polls.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Returns when `condition` holds; panics with `what` if it does not within [`DEADLINE`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Returns the first value of `find`; panics with `what` if there is none within [`DEADLINE`].
#[track_caller]
pub fn wait_for<T>(what: &str, find: impl FnMut() -> Option<T>) -> T {
    try_for(DEADLINE, find).unwrap_or_else(|| panic!("waited {DEADLINE:?} until {what}"))
}

/// The first value of `find` within this time.
pub fn try_for<T>(deadline: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        // Polled once more after the deadline: the thread may not have run for all that time.
        let is_last = begun.elapsed() > deadline;
        let value = find();
        if value.is_some() || is_last {
            return value;
        }
        thread::sleep(LOOK_EVERY);
    }
}
