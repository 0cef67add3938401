//! A client that is known: its rights, its budgets, and what it has used of them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use super::{file::RawClient, rights::Patterns};
use crate::{
    answers::problem::RETRY_AFTER_MAX,
    clients::{
        floods::Floods,
        memory::{ClientMax, Memory},
    },
};

/// A client that is known, and what it may do.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) name: Box<str>,
    pub(super) write: Patterns,
    pub(super) read: Patterns,
    /// Topics that it may create by their first record.
    pub(super) create: Patterns,
    pub(super) delete: Patterns,
    /// Limits; none is `u64::MAX`.
    pub(super) requests_per_second: u64,
    pub(super) bytes_per_second: u64,
    pub(super) connections: usize,
    pub(super) usage: Arc<Usage>,
    /// What the file says of it.
    pub(super) entry: RawClient,
}

/// What a client has used; it survives a new version of the file.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) requests: Meter,
    pub(super) bytes: Meter,
    pub(super) connections: AtomicUsize,
    pub(super) memory: Arc<Memory>,
    pub(super) floods: Floods,
}

impl Usage {
    pub(super) fn new(max: ClientMax) -> Self {
        Self {
            requests: Meter::default(),
            bytes: Meter::default(),
            connections: AtomicUsize::new(0),
            memory: Arc::new(Memory::new(max)),
            floods: Floods::new(max.floods),
        }
    }
}

/// An amount in the current second.
#[derive(Debug, Default)]
pub(super) struct Meter {
    second: AtomicU64,
    used: AtomicU64,
}

impl Meter {
    /// Adds an amount, if nothing or less than the maximum was used in this second: a request that is larger than what is left is
    /// not refused, or one above the maximum never could be sent. What it takes too much is taken from the seconds after.
    ///
    /// # Errors
    /// The seconds until it would be added.
    pub(super) fn take(&self, amount: u64, max: u64, second: u64) -> Result<(), u64> {
        if max == u64::MAX {
            return Ok(());
        }
        let before = self.second.swap(second, Ordering::Relaxed);
        if before != second {
            let passed = second.saturating_sub(before).max(1);
            let used = self.used.load(Ordering::Relaxed);
            let used = used.min(max.saturating_mul(RETRY_AFTER_MAX));
            let left = used.saturating_sub(max.saturating_mul(passed));
            self.used.store(left, Ordering::Relaxed);
        }
        let used = self.used.load(Ordering::Relaxed);
        if used < max {
            self.used.fetch_add(amount, Ordering::Relaxed);
            return Ok(());
        }
        let seconds = used.checked_div(max).unwrap_or(RETRY_AFTER_MAX);
        Err(seconds.min(RETRY_AFTER_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_counts_by_the_second() {
        let meter = Meter::default();
        let take = |amount, max, second| meter.take(amount, max, second);
        assert_eq!([take(2, 3, 7), take(2, 3, 7)], [Ok(()); 2]);
        assert_eq!(take(1, 3, 7), Err(1));
        assert_eq!([take(9, 3, 8), take(1, 3, 8)], [Ok(()), Err(3)]);
        // It was that of three seconds, and one more for what was left of the second before.
        assert_eq!([take(1, 3, 9), take(1, 3, 10)], [Err(2), Err(1)]);
        assert_eq!([take(1000, 3, 11), take(1, 3, 11)], [Ok(()), Err(60)]);
        // At most a minute is taken in advance, also if the clock is set back.
        assert_eq!([take(1, 3, 70), take(1, 3, 71)], [Err(1), Ok(())]);
        assert_eq!(take(1, 3, 40), Ok(()));
        assert_eq!(take(1, u64::MAX, 8), Ok(()));
        assert_eq!(Meter::default().take(1, 0, 8), Err(60));
    }
}
