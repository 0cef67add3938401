//! When the pauses of sessions end.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Pauses under way; those of lost sessions stay until their end.
#[derive(Debug)]
pub(crate) struct Pauses(BinaryHeap<Reverse<(u64, u32)>>);

impl Pauses {
    pub(crate) fn with_capacity(sessions: usize) -> Self {
        Self(BinaryHeap::with_capacity(sessions))
    }

    pub(crate) fn add(&mut self, until: u64, session: u32) {
        self.0.push(Reverse((until, session)));
    }

    /// When the next one ends.
    pub(crate) fn next_instant(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((until, _))| *until)
    }

    /// Removes one that has ended by `now`: its end and its session.
    pub(crate) fn take_ended(&mut self, now: u64) -> Option<(u64, u32)> {
        let &Reverse((until, session)) = self.0.peek()?;
        (until <= now).then(|| {
            self.0.pop();
            (until, session)
        })
    }
}
