//! Waiting for what other threads and processes do.
//!
//! How long a wait may take is a limit after which a test fails and no claim about time: it is long enough for any machine.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Anything a test waits for happens within this time, on a machine with much else to do.
pub const DEADLINE: Duration = Duration::from_secs(180);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Returns when `condition` holds; panics with `what` if it does not within [`DEADLINE`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Returns the first value that `find` gives; panics with `what` if there is none within [`DEADLINE`].
#[track_caller]
pub fn wait_for<T>(what: &str, find: impl FnMut() -> Option<T>) -> T {
    try_for(DEADLINE, find).unwrap_or_else(|| panic!("waited {DEADLINE:?} until {what}"))
}

/// The first value that `find` gives within this time.
pub fn try_for<T>(deadline: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        // Looked at once more after the deadline: the thread may not have run for all that time.
        let is_last = begun.elapsed() > deadline;
        let found = find();
        if found.is_some() || is_last {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
}
