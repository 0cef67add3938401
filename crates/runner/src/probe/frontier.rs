//! Which stretch of time must be asked for next, at a place that is read by the records' times. Pure.
//!
//! Records come late and out of order, so a look must begin where something is still missing. A worker sends its records with
//! increasing sequence and time: where one of its sequences is missing, the records before it say how early that one can have
//! been sent. What is missing for long may never come (its request was refused, or it is lost); so a look goes back to it the
//! more rarely the longer it is missing. Every look begins at what was new a moment ago at the latest, every second one goes
//! back twice as far, every fourth one four times, and so on.

use std::collections::VecDeque;

use waggle_load::worker_and_sequence;

/// Sequences of a worker whose completeness is known together.
const GROUP: u64 = 256;
/// Marks that are kept.
const MARKS_MAX: usize = 4096;
/// Looks beyond two to the power of this go back to the beginning.
const LEVELS: u32 = 16;

/// What has been seen, as far as it decides where to go on.
#[derive(Debug)]
pub(crate) struct Frontier {
    start_ns: u64,
    workers: Vec<Worker>,
    /// The latest time of any record.
    newest_ns: u64,
    /// The latest time of any record by each round whose turn it was.
    marks: VecDeque<u64>,
    looks: u64,
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

/// How far back a look goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As far as is its turn.
    Turn,
    /// To what was new at the last look; a deeper one is put off.
    Shallow,
    /// To the first record that is missing.
    Whole,
}

impl Frontier {
    pub(crate) fn new(workers: usize, start_ns: u64) -> Self {
        Self {
            start_ns,
            workers: (0..workers).map(|_| Worker::default()).collect(),
            newest_ns: start_ns,
            marks: VecDeque::new(),
            looks: 0,
        }
    }

    /// Nothing was seen.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self::new(self.workers.len(), self.start_ns);
    }

    /// A record was seen for the first time.
    pub(crate) fn note(&mut self, key: u64, time_ns: u64) {
        let Some((worker, sequence)) = worker_and_sequence(key) else {
            return;
        };
        let Some(worker) = self.workers.get_mut(worker) else {
            return;
        };
        let Ok(place) = usize::try_from(sequence / GROUP) else {
            return;
        };
        if place >= worker.groups.len() {
            worker.groups.resize(place + 1, Group::default());
        }
        let group = &mut worker.groups[place];
        group.seen = group.seen.saturating_add(1);
        group.newest_ns = group.newest_ns.max(time_ns);
        self.newest_ns = self.newest_ns.max(time_ns);
    }

    /// Where the next round of looks begins, and whether that is further back than the one before came.
    pub(crate) fn begin(&mut self, depth: Depth) -> (u64, bool) {
        let first_missing = self.first_missing();
        let level = match depth {
            Depth::Whole => LEVELS,
            Depth::Shallow => 0,
            Depth::Turn => {
                self.looks += 1;
                self.looks.trailing_zeros()
            }
        };
        let passed = if level >= LEVELS {
            self.start_ns
        } else {
            self.newest_before(1 << level)
        };
        // Only these count: at the place of a power of two the way back is to the beginning, whatever lay between.
        if depth == Depth::Turn {
            if self.marks.len() == MARKS_MAX {
                self.marks.pop_front();
            }
            self.marks.push_back(self.newest_ns);
        }
        (first_missing.max(passed), level > 0)
    }

    /// The earliest time at which a record can have been sent that was not seen.
    fn first_missing(&mut self) -> u64 {
        let (start_ns, newest_ns) = (self.start_ns, self.newest_ns);
        let of_each = self.workers.iter_mut().map(|worker| {
            let incomplete = |group: &Group| u64::from(group.seen) < GROUP;
            let ahead = worker.groups[worker.complete..].iter();
            worker.complete += ahead.take_while(|group| !incomplete(group)).count();
            let before = worker.groups[..worker.complete].last();
            before.map_or(start_ns, |group| group.newest_ns)
        });
        of_each.min().unwrap_or(newest_ns)
    }

    /// The latest time of any record that had been seen so many rounds ago.
    fn newest_before(&self, rounds: usize) -> u64 {
        let place = self.marks.len().checked_sub(rounds);
        place.map_or(self.start_ns, |place| self.marks[place])
    }
}

/// Cuts the way from where a round begins to now into stretches that bring about as many rows as are wanted.
#[derive(Debug)]
pub(crate) struct Stretches {
    /// Rows of one answer that are aimed at.
    limit: u64,
    span_ns: u64,
    /// Where the round under way goes on.
    at: Option<u64>,
}

/// Shorter stretches are not asked for.
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

    /// First instant of the next stretch, and the one behind its last; a new round begins at `begin`.
    pub(crate) fn next(&mut self, begin: u64, now_ns: u64) -> (u64, u64) {
        let from = self.at.unwrap_or(begin).min(now_ns);
        // Stores refuse a stretch of no length.
        let to = from.saturating_add(self.span_ns).min(now_ns);
        (from, to.max(from + 1))
    }

    /// A stretch up to `to` brought so many rows; true where the round goes on behind it.
    pub(crate) fn handle_rows(&mut self, (from, to): (u64, u64), now_ns: u64, rows: u64) -> bool {
        if rows > self.limit {
            self.span_ns = ((to - from) / 2).max(SPAN_MIN_NS);
        } else if rows < self.limit / 4 {
            self.span_ns = self.span_ns.saturating_mul(2);
        }
        self.at = (to < now_ns).then_some(to);
        self.at.is_some()
    }

    /// A stretch could not be read; the next one is shorter, and the round begins anew.
    pub(crate) fn handle_failure(&mut self, (from, to): (u64, u64)) {
        self.span_ns = ((to - from) / 2).max(SPAN_MIN_NS);
        self.at = None;
    }

    /// The round begins anew.
    pub(crate) fn begin_anew(&mut self) {
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use waggle_load::key_of;

    use super::{Depth, Frontier, GROUP, Stretches};

    const START: u64 = 1_000_000;
    const STEP: u64 = 100;

    /// A record every nanosecond: sequence `n` of worker 0 is sent at `START + n`.
    fn note(frontier: &mut Frontier, sequences: impl Iterator<Item = u64>) {
        sequences.for_each(|sequence| frontier.note(key_of(0, sequence), START + sequence));
    }

    #[test]
    fn where_all_came_in_order_nothing_is_read_twice() {
        let mut frontier = Frontier::new(1, START);
        assert_eq!(frontier.begin(Depth::Turn).0, START);
        for look in 1..50 {
            let seen = look * 4 * GROUP;
            note(&mut frontier, seen - 4 * GROUP..seen);
            let (begins, _) = frontier.begin(Depth::Turn);
            assert_eq!(begins, START + seen - 1, "look {look}");
        }
    }

    #[test]
    fn what_is_missing_is_gone_back_to_and_the_more_rarely_the_longer() {
        let mut frontier = Frontier::new(1, START);
        frontier.begin(Depth::Turn);
        let mut back = Vec::new();
        for look in 1..=64 {
            let sequences = (look - 1) * STEP..look * STEP;
            note(
                &mut frontier,
                sequences.filter(|sequence| *sequence != 1_000),
            );
            let now = START + look * STEP;
            back.push(now - frontier.begin(Depth::Turn).0);
        }
        // Group 3 holds it: nothing before that group is read again.
        let earliest = START + 3 * GROUP - 1;
        let looks_back = back.iter().enumerate().skip(20);
        let whole = looks_back
            .filter(|(look, back)| START + (*look as u64 + 1) * STEP - **back == earliest)
            .count();
        assert!((1..=3).contains(&whole), "{back:?}");
        let mean = back[20..].iter().sum::<u64>() / 44;
        assert!(mean < 10 * STEP, "{mean}: {back:?}");
        let now = START + 64 * STEP;
        assert_eq!(frontier.begin(Depth::Whole).0, earliest);
        assert!(frontier.begin(Depth::Shallow).0 >= now - 2 * STEP);
        // It comes at last.
        note(&mut frontier, std::iter::once(1_000));
        assert!(frontier.begin(Depth::Whole).0 >= now - 2 * GROUP);
    }

    #[test]
    fn looks_that_are_put_off_hold_up_no_way_back() {
        let mut frontier = Frontier::new(1, START);
        note(
            &mut frontier,
            (0..4 * GROUP).filter(|sequence| *sequence != 5),
        );
        let mut whole = 0;
        for _ in 0..64 {
            let (begins, _) = frontier.begin(Depth::Turn);
            whole += u32::from(begins == START);
            (0..3).for_each(|_| {
                frontier.begin(Depth::Shallow);
            });
        }
        // At every power of two.
        assert_eq!(whole, 7);
    }

    #[test]
    fn a_worker_that_sends_nothing_holds_nobody_up() {
        let mut frontier = Frontier::new(2, START);
        for look in 1..=32 {
            note(&mut frontier, (look - 1) * STEP..look * STEP);
            frontier.begin(Depth::Turn);
        }
        let now = START + 32 * STEP;
        assert!(frontier.begin(Depth::Shallow).0 >= now - 2 * STEP);
        assert_eq!(frontier.begin(Depth::Whole).0, START);
    }

    #[test]
    fn keys_that_nobody_gave_are_left_out() {
        let mut frontier = Frontier::new(1, START);
        frontier.note(17, START + 5);
        frontier.note(key_of(7, 0), START + 5);
        assert_eq!(frontier.begin(Depth::Whole).0, START);
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
