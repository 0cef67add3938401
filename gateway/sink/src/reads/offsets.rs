//! The offset to commit of each partition: that of the first message that is not written yet. No I/O.

use std::collections::{BTreeMap, VecDeque};

/// One assignment of a partition. A partition that is revoked and assigned again has a new slot, so that earlier writes do not
/// move its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u64);

/// Number of a batch, in the order of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BatchId(pub(crate) u64);

/// The assigned partitions, each with its pending messages.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    partitions: BTreeMap<Slot, Partition>,
}

#[derive(Debug, Default)]
struct Partition {
    /// Messages of one batch each, in order.
    waiting: VecDeque<Stretch>,
    /// The offset after the last message up to which everything is written.
    written: Option<i64>,
    /// The offset that the broker has confirmed.
    committed: Option<i64>,
}

#[derive(Debug)]
struct Stretch {
    batch: BatchId,
    /// The offset after its last message.
    end: i64,
    done: bool,
}

impl Offsets {
    /// The partition was assigned.
    pub(crate) fn assign(&mut self, slot: Slot) {
        self.partitions.entry(slot).or_default();
    }

    /// The partition was revoked: its pending messages no longer count.
    pub(crate) fn revoke(&mut self, slot: Slot) {
        self.partitions.remove(&slot);
    }

    /// A message was added to a batch. Batch numbers never decrease.
    pub(crate) fn read(&mut self, slot: Slot, offset: i64, batch: BatchId) {
        let Some(partition) = self.partitions.get_mut(&slot) else {
            return;
        };
        let end = offset + 1;
        match partition.waiting.back_mut() {
            Some(last) if last.batch == batch => last.end = last.end.max(end),
            _ => partition.waiting.push_back(Stretch {
                batch,
                end,
                done: false,
            }),
        }
    }

    /// The batch is completely written, to the database or the dead-letter topic.
    pub(crate) fn on_written(&mut self, batch: BatchId) {
        for partition in self.partitions.values_mut() {
            partition.on_written(batch);
        }
    }

    /// Offsets that can be committed and are not confirmed yet.
    pub(crate) fn to_commit(&self) -> impl Iterator<Item = (Slot, i64)> {
        self.partitions.iter().filter_map(|(slot, partition)| {
            let written = partition.written?;
            (partition.committed != Some(written)).then_some((*slot, written))
        })
    }

    /// The broker has confirmed an offset.
    pub(crate) fn on_commit(&mut self, slot: Slot, offset: i64) {
        if let Some(partition) = self.partitions.get_mut(&slot) {
            partition.committed = Some(offset);
        }
    }

    /// The last offset that the broker confirmed to this sink.
    pub(crate) fn last_committed(&self, slot: Slot) -> Option<i64> {
        self.partitions.get(&slot)?.committed
    }

    /// Whether messages of the partition are pending.
    pub(crate) fn is_waiting(&self, slot: Slot) -> bool {
        self.partitions
            .get(&slot)
            .is_some_and(|partition| !partition.waiting.is_empty())
    }
}

impl Partition {
    fn on_written(&mut self, batch: BatchId) {
        let Ok(index) = (self.waiting).binary_search_by_key(&batch, |stretch| stretch.batch) else {
            return;
        };
        self.waiting[index].done = true;
        while let Some(first) = self.waiting.pop_front_if(|first| first.done) {
            // A message can be read twice after a pause; written offsets stay written.
            self.written = self.written.max(Some(first.end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Slot = Slot(1);
    const B: Slot = Slot(2);

    /// Messages as (slot, offset, batch), then batches done in that order; after each, what can be committed.
    fn check(read: &[(Slot, i64, u64)], done: &[(u64, &[(Slot, i64)])]) {
        let mut offsets = Offsets::default();
        offsets.assign(A);
        offsets.assign(B);
        for (slot, offset, batch) in read {
            offsets.read(*slot, *offset, BatchId(*batch));
        }
        for (batch, expected) in done {
            offsets.on_written(BatchId(*batch));
            let commits: Vec<(Slot, i64)> = offsets.to_commit().collect();
            assert_eq!(commits, *expected, "after batch {batch} of {read:?}");
        }
    }

    #[test]
    fn commits_up_to_the_first_message_that_is_not_written() {
        check(&[(A, 0, 1), (A, 1, 1)], &[(1, &[(A, 2)])]);
        // The second batch is written first.
        check(
            &[(A, 0, 1), (A, 1, 2), (A, 2, 3)],
            &[(2, &[]), (1, &[(A, 2)]), (3, &[(A, 3)])],
        );
        check(
            &[(A, 7, 1), (B, 3, 1), (B, 4, 2), (A, 9, 3)],
            &[(2, &[]), (1, &[(A, 8), (B, 5)]), (3, &[(A, 10), (B, 5)])],
        );
    }

    #[test]
    fn gaps_in_the_log_are_passed() {
        check(
            &[(A, 5, 1), (A, 90, 1), (A, 1000, 2)],
            &[(1, &[(A, 91)]), (2, &[(A, 1001)])],
        );
    }

    #[test]
    fn a_message_read_twice_does_not_go_back() {
        check(
            &[(A, 5, 1), (A, 6, 1), (A, 5, 2), (A, 6, 3), (A, 7, 3)],
            &[(1, &[(A, 7)]), (2, &[(A, 7)]), (3, &[(A, 8)])],
        );
    }

    #[test]
    fn a_batch_that_is_unknown_or_done_twice_changes_nothing() {
        check(&[(A, 0, 1)], &[(9, &[]), (1, &[(A, 1)]), (1, &[(A, 1)])]);
    }

    #[test]
    fn confirmed_offsets_are_not_committed_again() {
        let mut offsets = Offsets::default();
        offsets.assign(A);
        offsets.read(A, 0, BatchId(1));
        offsets.on_written(BatchId(1));
        offsets.on_commit(A, 1);
        assert_eq!(offsets.to_commit().count(), 0);
        assert_eq!(offsets.last_committed(A), Some(1));
    }

    #[test]
    fn a_revoked_partition_is_never_committed() {
        let mut offsets = Offsets::default();
        offsets.assign(A);
        offsets.read(A, 0, BatchId(1));
        assert!(offsets.is_waiting(A));
        offsets.revoke(A);
        offsets.on_written(BatchId(1));
        assert_eq!(offsets.to_commit().count(), 0);
        assert!(!offsets.is_waiting(A));
        // Neither is a message that was read before and is handled after.
        offsets.read(A, 1, BatchId(2));
        offsets.on_written(BatchId(2));
        assert_eq!(offsets.to_commit().count(), 0);
    }
}
