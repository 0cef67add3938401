//! Whether a probe keeps up with its place, and how well it knows when something came.

use std::time::Duration;

use tokio::time::Instant;

/// How looking went so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) polls: u64,
    pub(crate) bytes_read: u64,
    pub(crate) rows_read: u64,
    /// Start of the last look that came to the place's end: what is shown after it may have been there ever since.
    caught_up: Instant,
    /// The longest time within which a record may have come before it was seen.
    pub(crate) longest_gap: Duration,
    /// Start of the first of several looks in a row that did not come to the place's end.
    behind_since: Option<Instant>,
    /// The longest such row of looks.
    pub(crate) longest_behind: Duration,
    /// The place is read anew from its beginning, which is no lateness.
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

    /// A look that was begun at `start` came to the place's end, and brought something or not.
    pub(crate) fn at_end(&mut self, start: Instant, brought: bool) {
        if brought {
            self.longest_gap = self.longest_gap.max(self.caught_up.elapsed());
        }
        self.caught_up = start;
        self.behind_since = None;
        self.begins_anew = false;
    }

    /// The place is read anew from its beginning.
    pub(crate) fn begin_anew(&mut self) {
        self.behind_since = None;
        self.begins_anew = true;
    }

    /// A look that was begun at `start` brought something and did not come to the place's end.
    pub(crate) fn is_behind(&mut self, start: Instant) {
        self.longest_gap = self.longest_gap.max(self.caught_up.elapsed());
        if self.begins_anew {
            return;
        }
        let since = *self.behind_since.get_or_insert(start);
        self.longest_behind = self.longest_behind.max(since.elapsed());
    }

    /// A look failed. Nobody knows how long the place would have taken: that is no lateness of the probe.
    pub(crate) fn note_failure(&mut self) {
        self.behind_since = None;
    }

    /// A record may have been there for so long before it was seen.
    pub(crate) fn gap(&mut self, gap: Duration) {
        self.longest_gap = self.longest_gap.max(gap);
    }
}
