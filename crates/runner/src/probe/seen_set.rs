//! The set of records that were seen: a bit for each key, and counters of duplicates and foreign records. Memory is bounded.

const PER_WORD: u64 = 64;

/// The records seen, of all workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenSet {
    workers: Vec<Worker>,
    /// Sequences from here on cannot have been sent.
    sequence_max: u64,
    /// Different records.
    pub(crate) distinct: u64,
    /// Extra copies.
    pub(crate) duplicates: u64,
    pub(crate) out_of_order: u64,
    /// Of another run, or with a key that this run cannot have assigned.
    pub(crate) foreign: u64,
}

/// The records of one worker.
#[derive(Debug, Clone, Default)]
struct Worker {
    words: Vec<u64>,
    latest: Option<u64>,
    /// The latest at the start of the current poll.
    latest_before: Option<u64>,
}

/// Whether a key is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    New,
    Again,
    Foreign,
}

impl SeenSet {
    /// For keys of `workers` workers with at most `sequence_max` records each.
    pub(crate) fn new(workers: usize, sequence_max: u64) -> Self {
        Self {
            workers: vec![Worker::default(); workers],
            sequence_max,
            ..Self::default()
        }
    }

    /// Adds a record of this run; records come in the order of the store.
    pub(crate) fn note(&mut self, key: u64) -> Fate {
        let fate = self.set(key, |worker| worker.latest);
        self.duplicates += u64::from(fate == Fate::Again);
        fate
    }

    /// Adds a record of this run from a poll that repeats known ones in any order. A repetition is not a duplicate. A record is
    /// out of order if an earlier poll should have shown it.
    pub(crate) fn note_again(&mut self, key: u64) -> Fate {
        self.set(key, |worker| worker.latest_before)
    }

    /// Ends a poll whose rows have no order.
    pub(crate) fn end_poll(&mut self) {
        for worker in &mut self.workers {
            worker.latest_before = worker.latest;
        }
    }

    fn set(&mut self, key: u64, latest: impl Fn(&Worker) -> Option<u64>) -> Fate {
        let pair = waggle_load::worker_and_sequence(key);
        let Some((worker, sequence)) = pair.filter(|(_, sequence)| *sequence < self.sequence_max)
        else {
            return self.note_foreign();
        };
        let Some(worker) = self.workers.get_mut(worker) else {
            return self.note_foreign();
        };
        if !worker.set(sequence) {
            return Fate::Again;
        }
        self.distinct += 1;
        if latest(worker).is_some_and(|latest| sequence < latest) {
            self.out_of_order += 1;
        }
        worker.latest = worker.latest.max(Some(sequence));
        Fate::New
    }

    /// Counts a record that is not of this run.
    pub(crate) fn note_foreign(&mut self) -> Fate {
        self.foreign += 1;
        Fate::Foreign
    }

    /// An empty set for the same workers.
    pub(crate) fn empty_copy(&self) -> Self {
        Self::new(self.workers.len(), self.sequence_max)
    }

    /// Adds the records of another set; its counters are ignored.
    pub(crate) fn join(&mut self, other: &Self) {
        for (worker, others) in self.workers.iter_mut().zip(&other.workers) {
            let length = worker.words.len().max(others.words.len());
            worker.words.resize(length, 0);
            for (word, other) in worker.words.iter_mut().zip(&others.words) {
                *word |= other;
            }
        }
    }

    pub(crate) fn has_key(&self, key: u64) -> bool {
        let pair = waggle_load::worker_and_sequence(key);
        pair.is_some_and(|(worker, sequence)| self.contains(worker, sequence))
    }

    pub(crate) fn contains(&self, worker: usize, sequence: u64) -> bool {
        let word = |worker: &Worker| {
            worker
                .words
                .get(usize::try_from(sequence / PER_WORD).ok()?)
                .copied()
        };
        let word = self.workers.get(worker).and_then(word).unwrap_or(0);
        word & (1 << (sequence % PER_WORD)) != 0
    }
}

impl Worker {
    /// False if it was set already.
    fn set(&mut self, sequence: u64) -> bool {
        let index = usize::try_from(sequence / PER_WORD)
            .expect("a sequence is below the limit, which fits into memory");
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let bit = 1 << (sequence % PER_WORD);
        let is_new = self.words[index] & bit == 0;
        self.words[index] |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, SeenSet};

    #[track_caller]
    fn check(sequences: &[u64], distinct: u64, duplicates: u64, out_of_order: u64, foreign: u64) {
        let mut seen = SeenSet::new(2, 1000);
        for sequence in sequences {
            seen.note(waggle_load::key_of(1, *sequence));
        }
        assert_eq!(
            (
                seen.distinct,
                seen.duplicates,
                seen.out_of_order,
                seen.foreign
            ),
            (distinct, duplicates, out_of_order, foreign)
        );
    }

    #[test]
    fn every_key_is_counted_once() {
        check(&[], 0, 0, 0, 0);
        check(&[0, 1, 63, 64, 999], 5, 0, 0, 0);
        check(&[5, 5, 5], 1, 2, 0, 0);
        check(&[2, 0, 1, 3], 4, 0, 2, 0);
        check(&[1000, 999_999_999_999_999], 0, 0, 0, 2);
    }

    #[test]
    fn repetitions_are_no_duplicates_and_order_counts_between_polls() {
        let mut seen = SeenSet::new(1, 1000);
        for poll in [&[3, 0, 1][..], &[3, 4, 2], &[2, 3, 4]] {
            for sequence in poll {
                seen.note_again(waggle_load::key_of(0, *sequence));
            }
            seen.end_poll();
        }
        assert_eq!(
            (seen.distinct, seen.duplicates, seen.out_of_order),
            (5, 0, 1)
        );
    }

    #[test]
    fn accounts_are_joined_record_by_record() {
        let mut before = SeenSet::new(2, 1000);
        before.note(waggle_load::key_of(0, 3));
        let mut now = before.empty_copy();
        assert!(!now.has_key(waggle_load::key_of(0, 3)));
        assert_eq!(now.note(waggle_load::key_of(1, 700)), Fate::New);
        before.join(&now);
        for (worker, sequence, is_there) in [(0, 3, true), (1, 700, true), (1, 3, false)] {
            let key = waggle_load::key_of(worker, sequence);
            assert_eq!(before.has_key(key), is_there, "{worker} {sequence}");
        }
        assert_eq!((before.distinct, before.has_key(17)), (1, false));
    }

    #[test]
    fn keys_of_unknown_workers_are_foreign() {
        let mut seen = SeenSet::new(2, 1000);
        assert_eq!(seen.note(waggle_load::key_of(2, 0)), Fate::Foreign);
        assert_eq!(seen.note(17), Fate::Foreign);
        assert_eq!(seen.note(waggle_load::key_of(0, 7)), Fate::New);
        assert!(
            seen.contains(0, 7)
                && !seen.contains(0, 6)
                && !seen.contains(1, 7)
                && !seen.contains(9, 7)
        );
    }
}
