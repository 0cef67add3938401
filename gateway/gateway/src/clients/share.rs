//! A part of something that is limited.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A part of something that is limited.
#[derive(Debug)]
pub(crate) struct Share {
    taken: AtomicUsize,
    max: usize,
}

impl Share {
    pub(super) fn new(max: usize) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            max,
        }
    }

    /// Takes an amount, if it fits.
    pub(crate) fn take(&self, amount: usize) -> bool {
        self.take_up_to(self.max, amount)
    }

    /// Takes an amount, if at most half is taken with it.
    pub(crate) fn take_of_half(&self, amount: usize) -> bool {
        self.take_up_to(self.max / 2, amount)
    }

    fn take_up_to(&self, max: usize, amount: usize) -> bool {
        let before = self.taken.fetch_add(amount, Ordering::Relaxed);
        let fits = before.saturating_add(amount) <= max;
        if !fits {
            self.give_back(amount);
        }
        fits
    }

    /// Takes an amount, whether it fits or not.
    pub(crate) fn add(&self, amount: usize) {
        self.taken.fetch_add(amount, Ordering::Relaxed);
    }

    /// Takes an amount, if it fits or nothing else is taken.
    pub(crate) fn take_within_or_alone(&self, amount: usize) -> bool {
        let before = self.taken.fetch_add(amount, Ordering::Relaxed);
        let fits = before == 0 || before.saturating_add(amount) <= self.max;
        if !fits {
            self.give_back(amount);
        }
        fits
    }

    pub(crate) fn give_back(&self, amount: usize) {
        self.taken.fetch_sub(amount, Ordering::Relaxed);
    }

    pub(super) fn is_unused(&self) -> bool {
        self.taken.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_up_to_its_maximum() {
        let share = Share::new(10);
        assert!(share.take(4) && share.take(6) && !share.take(1));
        share.give_back(4);
        assert!(!share.take(5) && share.take(4));
        share.give_back(10);
        assert!(share.is_unused());
        assert!(share.take_of_half(5) && !share.take_of_half(1) && share.take(5));
    }
}
