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
    /// Start and end of the measured phase, once they are known.
    measured: Option<(Instant, Instant)>,
    /// The same as `longest_gap` and `longest_behind`, but only of the measured phase.
    pub(crate) measured_gap: Duration,
    pub(crate) measured_behind: Duration,
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
            measured: None,
            measured_gap: Duration::ZERO,
            measured_behind: Duration::ZERO,
        }
    }

    /// Start of the last poll that reached the end of the store.
    pub(crate) fn caught_up(&self) -> Instant {
        self.caught_up
    }

    /// Takes over the measured phase once it is known.
    pub(crate) fn set_measured(&mut self, measured: Option<(Instant, Instant)>) {
        self.measured = measured;
    }

    /// Whether the measured phase is known.
    pub(crate) fn has_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// A poll that began at `start` reached the end of the store; `brought`: with new rows.
    pub(crate) fn at_end(&mut self, start: Instant, brought: bool) {
        if brought {
            self.note_gap(self.caught_up);
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
        self.note_gap(self.caught_up);
        if self.begins_anew {
            return;
        }
        let since = *self.behind_since.get_or_insert(start);
        let now = Instant::now();
        self.longest_behind = self.longest_behind.max(now - since);
        if let Some((from, to)) = self.measured {
            let behind = now.min(to).saturating_duration_since(since.max(from));
            self.measured_behind = self.measured_behind.max(behind);
        }
    }

    /// What the store has by now is skipped: since when the probe was behind does not matter.
    pub(crate) fn skip(&mut self) {
        self.behind_since = None;
        self.begins_anew = false;
    }

    /// A poll read what came since the last one, which had reached the end of the store; `brought`: with new rows.
    pub(crate) fn end_window(&mut self, brought: bool) {
        if brought {
            self.note_gap(self.caught_up);
        }
    }

    /// A poll failed. The time it would have taken is unknown, and the probe does not count as behind.
    pub(crate) fn note_failure(&mut self) {
        self.behind_since = None;
    }

    /// A record may have been there for this long before it was seen.
    pub(crate) fn gap(&mut self, gap: Duration) {
        let now = Instant::now();
        self.note_gap(now.checked_sub(gap).unwrap_or(now));
    }

    /// A record that is seen now may have been there since this instant, or since it was sent. So records of the measured phase
    /// may have been there since its start.
    fn note_gap(&mut self, since: Instant) {
        let now = Instant::now();
        self.longest_gap = self.longest_gap.max(now - since);
        if let Some((from, to)) = self.measured
            && since < to
        {
            let gap = now.saturating_duration_since(since.max(from));
            self.measured_gap = self.measured_gap.max(gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::Pace;

    const SECOND: Duration = Duration::from_secs(1);

    /// Polls that end at these seconds, and whether each reached the end of the store; the measured phase is from 10 to 20.
    async fn check(polls: &[(u32, bool)], gap_s: u64, behind_s: u64) {
        let start = Instant::now();
        let mut pace = Pace::new();
        assert!(!pace.has_measured());
        pace.set_measured(Some((start + 10 * SECOND, start + 20 * SECOND)));
        let mut begun = start;
        for (second, reached_end) in polls {
            advance(start + *second * SECOND - Instant::now()).await;
            match reached_end {
                true => pace.at_end(begun, true),
                false => pace.is_behind(begun),
            }
            begun = Instant::now();
        }
        let durations = (pace.measured_gap.as_secs(), pace.measured_behind.as_secs());
        assert_eq!(durations, (gap_s, behind_s), "{polls:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_concerns_the_measured_phase_counts() {
        check(&[], 0, 0).await;
        // All before, all after.
        check(&[(4, false), (9, true)], 0, 0).await;
        check(&[(20, true), (21, true), (25, false), (40, true)], 11, 0).await;
        // The first half is before the phase, the second within.
        check(&[(8, false), (12, false), (12, true)], 2, 2).await;
        // Behind from within the phase to the drain: a record may have been there for that long, the probe was behind in the phase.
        check(&[(18, true), (19, true), (30, false), (30, true)], 12, 1).await;
    }
}
