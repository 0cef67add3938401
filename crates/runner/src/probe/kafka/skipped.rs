//! Offsets of a topic that a probe skipped under load. Pure.

use std::{collections::VecDeque, ops::Range};

/// By partition, in order; what was read is removed.
#[derive(Debug, Default)]
pub(super) struct SkippedOffsets {
    partitions: Vec<VecDeque<Range<i64>>>,
    count: u64,
}

impl SkippedOffsets {
    /// How many are left.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.partitions.iter().all(VecDeque::is_empty)
    }

    /// The range is behind all that were skipped before.
    pub(super) fn skip(&mut self, partition: usize, range: Range<i64>) {
        if range.is_empty() {
            return;
        }
        if self.partitions.len() <= partition {
            self.partitions.resize_with(partition + 1, VecDeque::new);
        }
        self.count += range.end.abs_diff(range.start);
        self.partitions[partition].push_back(range);
    }

    /// The partitions with offsets that are left, and the first of these.
    pub(super) fn starts(&self) -> impl Iterator<Item = (usize, i64)> {
        let partitions = self.partitions.iter().enumerate();
        partitions.filter_map(|(partition, ranges)| Some((partition, ranges.front()?.start)))
    }

    /// A partition is read in order, and this is its next message: whether it was skipped. Offsets before it have no message.
    pub(super) fn take(&mut self, partition: usize, offset: i64) -> bool {
        let Some(ranges) = self.partitions.get_mut(partition) else {
            return false;
        };
        while let Some(range) = ranges.front_mut() {
            if offset < range.start {
                return false;
            }
            let to = range.end.min(offset + 1);
            self.count -= to.abs_diff(range.start);
            let was_skipped = offset < range.end;
            range.start = to;
            if range.is_empty() {
                ranges.pop_front();
            }
            if was_skipped {
                return true;
            }
        }
        false
    }

    /// The partition has no more messages.
    pub(super) fn end(&mut self, partition: usize) {
        if let Some(ranges) = self.partitions.get_mut(partition) {
            let left = ranges
                .drain(..)
                .map(|range| range.end.abs_diff(range.start));
            self.count -= left.sum::<u64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_is_taken_once() {
        let mut skipped = SkippedOffsets::default();
        skipped.skip(1, 5..5);
        assert!(skipped.is_empty() && !skipped.take(1, 5));
        skipped.skip(1, 5..8);
        skipped.skip(1, 20..22);
        skipped.skip(0, 3..4);
        assert_eq!(skipped.count(), 6);
        assert_eq!(skipped.starts().collect::<Vec<_>>(), [(0, 3), (1, 5)]);
        let read = [4, 5, 7, 8, 19, 20].map(|offset| skipped.take(1, offset));
        assert_eq!(read, [false, true, true, false, false, true]);
        assert_eq!(skipped.count(), 2);
        // A gap of the log behind a range, and the next message beyond all of them.
        assert!(!skipped.take(1, 30) && !skipped.is_empty());
        skipped.end(0);
        assert!(skipped.is_empty() && skipped.count() == 0 && !skipped.take(0, 3));
    }
}
