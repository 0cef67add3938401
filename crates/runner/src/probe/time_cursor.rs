//! Which time range to query next, at a store that is read by the records' times. Pure.
//!
//! Records come late and out of order, so a poll must begin where something is still missing. A worker sends its records with
//! increasing sequence and time. If one of its sequences is missing, the records before it give its earliest send time. A record
//! that is missing for long may never come, because its request was refused or it is lost. So polls go back to it less often the
//! longer it is missing. Every poll begins at the newest record of the previous one at the latest, every second one goes back
//! twice as far, every fourth one four times, and so on.

use std::collections::VecDeque;

use waggle_load::worker_and_sequence;

/// Sequences of a worker that are tracked as one group.
const GROUP: u64 = 256;
/// Limit on the remembered marks.
const MARKS_MAX: usize = 4096;
/// Every poll whose number is a multiple of two to the power of this goes back to the beginning.
const LEVELS: u32 = 16;

/// The records seen, as far as they decide where to continue.
#[derive(Debug)]
pub(crate) struct TimeCursor {
    start_ns: u64,
    workers: Vec<Worker>,
    /// The latest time of any record.
    newest_ns: u64,
    /// The latest time of any record, for each round with depth `Turn`.
    marks: VecDeque<u64>,
    polls: u64,
}

#[derive(Debug, Default)]
struct Worker {
    groups: Vec<Group>,
    /// Groups before this one are complete.
    complete: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group {
    seen: u16,
    /// The latest time of its records.
    newest_ns: u64,
}

/// How far back a poll goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As far as its turn says.
    Turn,
    /// To what was new at the last poll; a deeper one is postponed.
    Shallow,
    /// To the first record that is missing.
    Whole,
}

impl TimeCursor {
    pub(crate) fn new(workers: usize, start_ns: u64) -> Self {
        Self {
            start_ns,
            workers: (0..workers).map(|_| Worker::default()).collect(),
            newest_ns: start_ns,
            marks: VecDeque::new(),
            polls: 0,
        }
    }

    /// Forgets all records.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.workers.len(), self.start_ns);
    }

    /// Notes a record that is seen for the first time.
    pub(crate) fn note(&mut self, key: u64, time_ns: u64) {
        let Some((worker, sequence)) = worker_and_sequence(key) else {
            return;
        };
        let Some(worker) = self.workers.get_mut(worker) else {
            return;
        };
        let Ok(index) = usize::try_from(sequence / GROUP) else {
            return;
        };
        if index >= worker.groups.len() {
            worker.groups.resize(index + 1, Group::default());
        }
        let group = &mut worker.groups[index];
        group.seen = group.seen.saturating_add(1);
        group.newest_ns = group.newest_ns.max(time_ns);
        self.newest_ns = self.newest_ns.max(time_ns);
    }

    /// Where the next round of polls begins, and whether that is further back than the previous one reached.
    pub(crate) fn begin(&mut self, depth: Depth) -> (u64, bool) {
        let first_missing = self.first_missing();
        let level = match depth {
            Depth::Whole => LEVELS,
            Depth::Shallow => 0,
            Depth::Turn => {
                self.polls += 1;
                self.polls.trailing_zeros()
            }
        };
        let passed = if level >= LEVELS {
            self.start_ns
        } else {
            self.newest_before(1 << level)
        };
        // Other rounds leave no mark. So a turn whose number is a power of two always goes back to the beginning.
        if depth == Depth::Turn {
            if self.marks.len() == MARKS_MAX {
                self.marks.pop_front();
            }
            self.marks.push_back(self.newest_ns);
        }
        (first_missing.max(passed), level > 0)
    }

    /// The earliest send time of a record that was not seen.
    fn first_missing(&mut self) -> u64 {
        let (start_ns, newest_ns) = (self.start_ns, self.newest_ns);
        let of_each = self.workers.iter_mut().map(|worker| {
            let before = worker.last_complete_group();
            before.map_or(start_ns, |group| group.newest_ns)
        });
        of_each.min().unwrap_or(newest_ns)
    }

    /// The latest time of any record seen this many rounds ago.
    fn newest_before(&self, rounds: usize) -> u64 {
        let index = self.marks.len().checked_sub(rounds);
        index.map_or(self.start_ns, |index| self.marks[index])
    }
}

impl Worker {
    /// The last group before the first one that is incomplete.
    fn last_complete_group(&mut self) -> Option<&Group> {
        let is_complete = |group: &&Group| u64::from(group.seen) >= GROUP;
        let ahead = self.groups[self.complete..].iter();
        self.complete += ahead.take_while(is_complete).count();
        self.groups[..self.complete].last()
    }
}

/// Splits the range from the start of a round to now into stretches with about the wanted number of rows.
#[derive(Debug)]
pub(crate) struct Stretches {
    /// Wanted rows of one answer.
    limit: u64,
    span_ns: u64,
    /// Where the current round continues.
    at: Option<u64>,
}

/// Minimum length of a stretch.
const SPAN_MIN_NS: u64 = 1_000_000;

impl Stretches {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: u64::from(limit),
            span_ns: u64::MAX,
            at: None,
        }
    }

    /// Whether the next stretch begins a new round.
    pub(crate) fn is_new_round(&self) -> bool {
        self.at.is_none()
    }

    /// Start and end of the next stretch, the end excluded; a new round begins at `begin`.
    pub(crate) fn next(&mut self, begin: u64, now_ns: u64) -> (u64, u64) {
        let from = self.at.unwrap_or(begin).min(now_ns);
        // Stores refuse an empty stretch.
        let to = from.saturating_add(self.span_ns).min(now_ns);
        (from, to.max(from + 1))
    }

    /// A stretch up to `to` had this many rows; true if the round continues after it.
    pub(crate) fn handle_rows(&mut self, (from, to): (u64, u64), now_ns: u64, rows: u64) -> bool {
        if rows > self.limit {
            self.span_ns = ((to - from) / 2).max(SPAN_MIN_NS);
        } else if rows < self.limit / 4 {
            self.span_ns = self.span_ns.saturating_mul(2);
        }
        self.at = (to < now_ns).then_some(to);
        self.at.is_some()
    }

    /// A stretch could not be read: the next one is shorter, and the round starts again.
    pub(crate) fn handle_failure(&mut self, (from, to): (u64, u64)) {
        self.span_ns = ((to - from) / 2).max(SPAN_MIN_NS);
        self.at = None;
    }

    /// Starts the round again.
    pub(crate) fn restart(&mut self) {
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use waggle_load::key_of;

    use super::{Depth, GROUP, Stretches, TimeCursor};

    const START: u64 = 1_000_000;
    const STEP: u64 = 100;

    /// A record every nanosecond: sequence `n` of worker 0 is sent at `START + n`.
    fn note(time_cursor: &mut TimeCursor, sequences: impl Iterator<Item = u64>) {
        sequences.for_each(|sequence| time_cursor.note(key_of(0, sequence), START + sequence));
    }

    #[test]
    fn records_in_order_are_read_once() {
        let mut time_cursor = TimeCursor::new(1, START);
        assert_eq!(time_cursor.begin(Depth::Turn).0, START);
        for poll in 1..50 {
            let seen = poll * 4 * GROUP;
            note(&mut time_cursor, seen - 4 * GROUP..seen);
            let (begins, _) = time_cursor.begin(Depth::Turn);
            assert_eq!(begins, START + seen - 1, "poll {poll}");
        }
    }

    #[test]
    fn polls_go_back_to_missing_records_less_often_over_time() {
        let mut time_cursor = TimeCursor::new(1, START);
        time_cursor.begin(Depth::Turn);
        let mut back = Vec::new();
        for poll in 1..=64 {
            let sequences = (poll - 1) * STEP..poll * STEP;
            note(
                &mut time_cursor,
                sequences.filter(|sequence| *sequence != 1_000),
            );
            let now = START + poll * STEP;
            back.push(now - time_cursor.begin(Depth::Turn).0);
        }
        // Group 3 contains it: nothing before that group is read again.
        let earliest = START + 3 * GROUP - 1;
        let looks_back = back.iter().enumerate().skip(20);
        let whole = looks_back
            .filter(|(poll, back)| START + (*poll as u64 + 1) * STEP - **back == earliest)
            .count();
        assert!((1..=3).contains(&whole), "{back:?}");
        let mean = back[20..].iter().sum::<u64>() / 44;
        assert!(mean < 10 * STEP, "{mean}: {back:?}");
        let now = START + 64 * STEP;
        assert_eq!(time_cursor.begin(Depth::Whole).0, earliest);
        assert!(time_cursor.begin(Depth::Shallow).0 >= now - 2 * STEP);
        // It comes at last.
        note(&mut time_cursor, std::iter::once(1_000));
        assert!(time_cursor.begin(Depth::Whole).0 >= now - 2 * GROUP);
    }

    #[test]
    fn postponed_polls_do_not_delay_deep_ones() {
        let mut time_cursor = TimeCursor::new(1, START);
        note(
            &mut time_cursor,
            (0..4 * GROUP).filter(|sequence| *sequence != 5),
        );
        let mut whole = 0;
        for _ in 0..64 {
            let (begins, _) = time_cursor.begin(Depth::Turn);
            whole += u32::from(begins == START);
            (0..3).for_each(|_| {
                time_cursor.begin(Depth::Shallow);
            });
        }
        // At every power of two.
        assert_eq!(whole, 7);
    }

    #[test]
    fn a_worker_that_sends_nothing_delays_no_other() {
        let mut time_cursor = TimeCursor::new(2, START);
        for poll in 1..=32 {
            note(&mut time_cursor, (poll - 1) * STEP..poll * STEP);
            time_cursor.begin(Depth::Turn);
        }
        let now = START + 32 * STEP;
        assert!(time_cursor.begin(Depth::Shallow).0 >= now - 2 * STEP);
        assert_eq!(time_cursor.begin(Depth::Whole).0, START);
    }

    #[test]
    fn unknown_keys_are_ignored() {
        let mut time_cursor = TimeCursor::new(1, START);
        time_cursor.note(17, START + 5);
        time_cursor.note(key_of(7, 0), START + 5);
        assert_eq!(time_cursor.begin(Depth::Whole).0, START);
    }

    #[test]
    fn stretches_grow_and_shrink_with_the_rows_they_bring() {
        let mut stretches = Stretches::new(100);
        assert_eq!(stretches.next(0, 80_000_000), (0, 80_000_000));
        assert!(!stretches.handle_rows((0, 80_000_000), 80_000_000, 1_000));
        assert!(stretches.is_new_round());
        let first = stretches.next(0, 80_000_000);
        assert_eq!(first, (0, 40_000_000));
        assert!(stretches.handle_rows(first, 80_000_000, 500));
        let second = stretches.next(7, 80_000_000);
        assert_eq!(second, (40_000_000, 60_000_000));
        assert!(stretches.handle_rows(second, 80_000_000, 3));
        let last = stretches.next(7, 80_000_000);
        assert_eq!(last, (60_000_000, 80_000_000));
        assert!(!stretches.handle_rows(last, 80_000_000, 50));
        stretches.handle_failure((0, 10));
        assert_eq!(stretches.next(0, 80_000_000), (0, 1_000_000));
    }
}
