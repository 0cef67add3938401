//! Whether a probe keeps up with its store, and how exactly it knows the arrival of a record.

use std::time::Duration;

use tokio::time::Instant;

/// Statistics of the polls so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) polls: u64,
    pub(crate) bytes_read: u64,
    pub(crate) rows_read: u64,
    /// Start of the last poll that reached the end of the store: a record that is shown later may have been there since.
    caught_up: Instant,
    /// The longest time that a record may have been there before it was seen.
    pub(crate) longest_gap: Duration,
    /// Start of the first of several consecutive polls that did not reach the end of the store.
    behind_since: Option<Instant>,
    /// The longest series of such polls.
    pub(crate) longest_behind: Duration,
    /// The store is read again from the beginning, which does not count as being behind.
    begins_anew: bool,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            polls: 0,
            bytes_read: 0,
            rows_read: 0,
            caught_up: Instant::now(),
            longest_gap: Duration::ZERO,
            behind_since: None,
            longest_behind: Duration::ZERO,
            begins_anew: false,
        }
    }

    /// A poll that began at `start` reached the end of the store; `brought`: with new rows.
    pub(crate) fn at_end(&mut self, start: Instant, brought: bool) {
        if brought {
            self.longest_gap = self.longest_gap.max(self.caught_up.elapsed());
        }
        self.caught_up = start;
        self.behind_since = None;
        self.begins_anew = false;
    }

    /// The store is read again from the beginning.
    pub(crate) fn restart(&mut self) {
        self.behind_since = None;
        self.begins_anew = true;
    }

    /// A poll that began at `start` read rows and did not reach the end of the store.
    pub(crate) fn is_behind(&mut self, start: Instant) {
        self.longest_gap = self.longest_gap.max(self.caught_up.elapsed());
        if self.begins_anew {
            return;
        }
        let since = *self.behind_since.get_or_insert(start);
        self.longest_behind = self.longest_behind.max(since.elapsed());
    }

    /// A poll failed. The time it would have taken is unknown, and the probe does not count as behind.
    pub(crate) fn note_failure(&mut self) {
        self.behind_since = None;
    }

    /// A record may have been there for this long before it was seen.
    pub(crate) fn gap(&mut self, gap: Duration) {
        self.longest_gap = self.longest_gap.max(gap);
    }
}
