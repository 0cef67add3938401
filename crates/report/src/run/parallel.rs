//! Two computations at the same time.

use std::{panic, thread};

/// What both return: the first has a thread of its own.
pub(super) fn run_both<A: Send, B>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join(), second)
    });
    let first = first.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
    (first, second)
}
