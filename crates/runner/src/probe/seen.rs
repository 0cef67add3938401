//! Which records were seen: a bit for each key, and counts of what is out of the ordinary. Memory is bounded.

const PER_WORD: u64 = 64;

/// What was seen of all workers' records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    workers: Vec<Worker>,
    /// Sequences from here on are beyond what can have been sent.
    sequence_max: u64,
    /// Different records.
    pub(crate) distinct: u64,
    /// Extra copies.
    pub(crate) duplicates: u64,
    pub(crate) out_of_order: u64,
    /// Another run's, or with a key that this run cannot have given.
    pub(crate) foreign: u64,
}

/// The records of one worker.
#[derive(Debug, Clone, Default)]
struct Worker {
    words: Vec<u64>,
    latest: Option<u64>,
    /// The latest when the look under way began.
    latest_before: Option<u64>,
}

/// What a key turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    New,
    Again,
    Foreign,
}

impl Seen {
    /// For keys of `workers` workers with at most `sequence_max` records each.
    pub(crate) fn new(workers: usize, sequence_max: u64) -> Self {
        Self {
            workers: vec![Worker::default(); workers],
            sequence_max,
            ..Self::default()
        }
    }

    /// A record of this run was seen, in the order in which the place has its records.
    pub(crate) fn note(&mut self, key: u64) -> Fate {
        let fate = self.set(key, |worker| worker.latest);
        self.duplicates += u64::from(fate == Fate::Again);
        fate
    }

    /// A record of this run was seen in a look that shows known ones again, in any order: once more is no copy, and out of
    /// order is what an earlier look should have shown.
    pub(crate) fn note_again(&mut self, key: u64) -> Fate {
        self.set(key, |worker| worker.latest_before)
    }

    /// A look ends in which nothing has an order.
    pub(crate) fn look_ends(&mut self) {
        for worker in &mut self.workers {
            worker.latest_before = worker.latest;
        }
    }

    fn set(&mut self, key: u64, latest: impl Fn(&Worker) -> Option<u64>) -> Fate {
        let place = waggle_load::worker_and_sequence(key);
        let Some((worker, sequence)) = place.filter(|(_, sequence)| *sequence < self.sequence_max)
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

    /// A record was seen that is not of this run.
    pub(crate) fn note_foreign(&mut self) -> Fate {
        self.foreign += 1;
        Fate::Foreign
    }

    /// The same with nothing seen.
    pub(crate) fn empty_copy(&self) -> Self {
        Self::new(self.workers.len(), self.sequence_max)
    }

    /// Adds the records that another account has seen; its counts are left out.
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
        let place = waggle_load::worker_and_sequence(key);
        place.is_some_and(|(worker, sequence)| self.contains(worker, sequence))
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
    /// False where it was set already.
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
    use super::{Fate, Seen};

    #[track_caller]
    fn check(sequences: &[u64], distinct: u64, duplicates: u64, out_of_order: u64, foreign: u64) {
        let mut seen = Seen::new(2, 1000);
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
    fn every_key_is_counted_for_what_it_is() {
        check(&[], 0, 0, 0, 0);
        check(&[0, 1, 63, 64, 999], 5, 0, 0, 0);
        check(&[5, 5, 5], 1, 2, 0, 0);
        check(&[2, 0, 1, 3], 4, 0, 2, 0);
        check(&[1000, 999_999_999_999_999], 0, 0, 0, 2);
    }

    #[test]
    fn what_is_shown_again_is_no_copy_and_out_of_order_only_between_looks() {
        let mut seen = Seen::new(1, 1000);
        for look in [&[3, 0, 1][..], &[3, 4, 2], &[2, 3, 4]] {
            for sequence in look {
                seen.note_again(waggle_load::key_of(0, *sequence));
            }
            seen.look_ends();
        }
        assert_eq!(
            (seen.distinct, seen.duplicates, seen.out_of_order),
            (5, 0, 1)
        );
    }

    #[test]
    fn accounts_are_joined_record_by_record() {
        let mut before = Seen::new(2, 1000);
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
        let mut seen = Seen::new(2, 1000);
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
