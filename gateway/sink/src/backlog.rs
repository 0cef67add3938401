//! The bounded buffer of what was read and is not written yet, between the reader and the writers.

use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::{
    reads::{
        offsets::{BatchId, Offsets, Slot},
        parsed_message::ParsedMessage,
    },
    writes::batch::{Batch, BatchLimits, Batcher, Message, Next, Source},
};

/// Messages that are read and not written yet.
#[derive(Debug)]
pub(crate) struct Backlog {
    inner: Mutex<Inner>,
    /// A batch may be due earlier.
    filled: Notify,
    /// Something was written.
    written: Condvar,
    max_bytes: usize,
}

#[derive(Debug)]
struct Inner {
    batcher: Batcher,
    offsets: Offsets,
    sources: Sources,
    /// Batches that wait or are being written.
    held: BTreeMap<BatchId, BatchSize>,
    bytes: usize,
    /// Batches that were taken and are not done.
    taken: usize,
    ended: bool,
}

#[derive(Debug)]
struct BatchSize {
    begun: Instant,
    bytes: usize,
}

/// The assigned partitions.
#[derive(Debug, Default)]
struct Sources {
    by_topic: HashMap<Arc<str>, BTreeMap<i32, Arc<Source>>>,
    next: u64,
}

/// An assigned partition, with its last confirmed offset.
#[derive(Debug)]
pub(crate) struct OwnedPartition {
    pub(crate) source: Arc<Source>,
    pub(crate) committed: Option<i64>,
}

/// The metrics of the backlog.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fill {
    pub(crate) bytes: usize,
    pub(crate) batches: usize,
    /// Time since the oldest buffered message was read.
    pub(crate) oldest: Duration,
}

impl Backlog {
    pub(crate) fn new(limits: BatchLimits, max_bytes: usize) -> Self {
        Self {
            inner: Mutex::new(Inner {
                batcher: Batcher::new(limits),
                offsets: Offsets::default(),
                sources: Sources::default(),
                held: BTreeMap::new(),
                bytes: 0,
                taken: 0,
                ended: false,
            }),
            filled: Notify::new(),
            written: Condvar::new(),
            max_bytes,
        }
    }

    /// The partition was assigned.
    pub(crate) fn assign(&self, topic: &str, partition: i32) {
        let mut inner = self.lock();
        let slot = inner.sources.assign(topic, partition).slot;
        inner.offsets.assign(slot);
    }

    /// The partition was revoked: its pending messages are never committed.
    pub(crate) fn revoke(&self, topic: &str, partition: i32) {
        let mut inner = self.lock();
        if let Some(source) = inner.sources.revoke(topic, partition) {
            inner.offsets.revoke(source.slot);
        }
    }

    /// All partitions were revoked.
    pub(crate) fn revoke_all(&self) {
        for OwnedPartition { source, .. } in self.partitions() {
            self.revoke(&source.topic, source.partition);
        }
    }

    /// Adds a message; returns whether there is room for more.
    pub(crate) fn add(&self, message: &Arrived<'_>, now: Instant) -> bool {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let source = inner.sources.source(message.topic, message.partition);
        let message = Message {
            source: &source,
            offset: message.offset,
            value: message.value,
            reading: message.reading,
        };
        let had_full = inner.batcher.has_full();
        let (batch, bytes) = inner.batcher.add(now, &message);
        inner.offsets.read(source.slot, message.offset, batch);
        let entry = inner.held.entry(batch);
        let is_new = matches!(entry, Entry::Vacant(_));
        let begun_now = BatchSize {
            begun: now,
            bytes: 0,
        };
        entry.or_insert(begun_now).bytes += bytes;
        inner.bytes += bytes;
        let (has_full, has_room) = (inner.batcher.has_full(), inner.bytes < self.max_bytes);
        drop(guard);
        if is_new || (has_full && !had_full) {
            self.filled.notify_one();
        }
        has_room
    }

    /// The next batch, as soon as it is full or has lingered; `None` at the end.
    pub(crate) async fn take(&self) -> Option<Batch> {
        loop {
            let filled = self.filled.notified();
            let (next, more) = {
                let mut inner = self.lock();
                let are_others_written = inner.taken > 0;
                let next = inner.batcher.next(Instant::now(), are_others_written);
                inner.taken += usize::from(matches!(next, Next::Batch(_)));
                let more = !inner.batcher.is_empty();
                (
                    if inner.ended && matches!(next, Next::Nothing) {
                        None
                    } else {
                        Some(next)
                    },
                    more,
                )
            };
            match next? {
                Next::Batch(batch) => {
                    // Another writer must wait for the remaining batches: this one is busy now.
                    if more {
                        self.filled.notify_one();
                    }
                    return Some(batch);
                }
                Next::At(due) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(due.into()) => {}
                        () = filled => {}
                    }
                }
                Next::Nothing => filled.await,
            }
        }
    }

    /// The batch is completely written.
    pub(crate) fn on_written(&self, batch: BatchId) {
        let mut inner = self.lock();
        inner.taken = inner.taken.saturating_sub(1);
        inner.offsets.on_written(batch);
        if let Some(held) = inner.held.remove(&batch) {
            inner.bytes -= held.bytes;
        }
        drop(inner);
        self.written.notify_all();
    }

    /// Waits until there is room for more; false after the timeout.
    pub(crate) fn wait_for_room(&self, at_most: Duration) -> bool {
        let inner = self.lock();
        let (_inner, timeout) = self
            .written
            .wait_timeout_while(inner, at_most, |inner| inner.bytes >= self.max_bytes)
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Waits until everything that was read is written; false after the timeout.
    pub(crate) fn wait_until_empty(&self, at_most: Duration) -> bool {
        let inner = self.lock();
        let (_inner, timeout) = self
            .written
            .wait_timeout_while(inner, at_most, |inner| !inner.held.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Waits until everything that was read of these partitions is written; false after the timeout.
    pub(crate) fn wait_until_written(
        &self,
        partitions: &[(String, i32)],
        at_most: Duration,
    ) -> bool {
        let inner = self.lock();
        let slots: Vec<Slot> = (partitions.iter())
            .filter_map(|(topic, partition)| inner.sources.find(topic, *partition))
            .map(|source| source.slot)
            .collect();
        let (_inner, timeout) = self
            .written
            .wait_timeout_while(inner, at_most, |inner| {
                slots.iter().any(|slot| inner.offsets.is_waiting(*slot))
            })
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Offsets that can be committed and are not confirmed yet.
    pub(crate) fn to_commit(&self) -> Vec<(Arc<Source>, i64)> {
        let inner = self.lock();
        let source_offset = |(slot, offset)| Some((inner.sources.by_slot(slot)?, offset));
        inner
            .offsets
            .to_commit()
            .filter_map(source_offset)
            .collect()
    }

    /// The broker has confirmed an offset.
    pub(crate) fn on_commit(&self, topic: &str, partition: i32, offset: i64) {
        let mut inner = self.lock();
        if let Some(source) = inner.sources.find(topic, partition) {
            inner.offsets.on_commit(source.slot, offset);
        }
    }

    /// The assigned partitions, each with its last confirmed offset.
    pub(crate) fn partitions(&self) -> Vec<OwnedPartition> {
        let inner = self.lock();
        let sources = inner.sources.iter();
        sources
            .map(|source| OwnedPartition {
                source: Arc::clone(source),
                committed: inner.offsets.last_committed(source.slot),
            })
            .collect()
    }

    pub(crate) fn fill(&self, now: Instant) -> Fill {
        let inner = self.lock();
        // Batches are numbered in the order of their start.
        let oldest = inner.held.first_key_value().map(|(_, held)| held.begun);
        Fill {
            bytes: inner.bytes,
            batches: inner.held.len(),
            oldest: oldest.map_or(Duration::ZERO, |begun| now.saturating_duration_since(begun)),
        }
    }

    /// Limits batches, because the database refuses larger bodies.
    pub(crate) fn shrink(&self, bytes: usize) {
        self.lock().batcher.shrink(bytes);
    }

    /// Batches no longer linger.
    pub(crate) fn drain_quickly(&self) {
        self.lock().batcher.drain_quickly();
        self.filled.notify_one();
    }

    /// Whether the backlog has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Ends the backlog: writers end when it is empty.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.filled.notify_waiters();
        self.filled.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while it is locked leaves a usable state.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message from Kafka.
#[derive(Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) value: &'a [u8],
    pub(crate) reading: &'a ParsedMessage,
}

impl Sources {
    fn assign(&mut self, topic: &str, partition: i32) -> Arc<Source> {
        let name: Arc<str> = match self.by_topic.get_key_value(topic) {
            Some((name, _)) => Arc::clone(name),
            None => topic.into(),
        };
        self.next += 1;
        let source = Arc::new(Source {
            topic: Arc::clone(&name),
            partition,
            slot: Slot(self.next),
        });
        let of_topic = self.by_topic.entry(name).or_default();
        of_topic.insert(partition, Arc::clone(&source));
        source
    }

    fn revoke(&mut self, topic: &str, partition: i32) -> Option<Arc<Source>> {
        self.by_topic.get_mut(topic)?.remove(&partition)
    }

    fn find(&self, topic: &str, partition: i32) -> Option<Arc<Source>> {
        let source = self.by_topic.get(topic)?.get(&partition)?;
        Some(Arc::clone(source))
    }

    /// The source of a partition. A partition that is not assigned gets a slot that is never committed.
    fn source(&self, topic: &str, partition: i32) -> Arc<Source> {
        self.find(topic, partition).unwrap_or_else(|| {
            Arc::new(Source {
                topic: topic.into(),
                partition,
                slot: Slot(0),
            })
        })
    }

    fn by_slot(&self, slot: Slot) -> Option<Arc<Source>> {
        self.iter().find(|source| source.slot == slot).cloned()
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.by_topic.values().flat_map(BTreeMap::values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BatchLimits = BatchLimits {
        lines: 2,
        bytes: 1 << 20,
        linger: Duration::from_millis(5),
        linger_busy: Duration::from_millis(50),
    };

    fn add(backlog: &Backlog, partition: i32, offset: i64) -> bool {
        let value = b"m v=1 1";
        let mut reading = ParsedMessage::default();
        reading.read(value);
        let arrived = Arrived {
            topic: "plant",
            partition,
            offset,
            value,
            reading: &reading,
        };
        backlog.add(&arrived, Instant::now())
    }

    fn to_commit(backlog: &Backlog) -> Vec<(i32, i64)> {
        let pairs = backlog.to_commit().into_iter();
        let mut pairs: Vec<_> = pairs
            .map(|(source, offset)| (source.partition, offset))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    #[tokio::test]
    async fn a_writer_gets_full_batches_at_once_and_others_after_lingering() {
        let backlog = Backlog::new(LIMITS, 1 << 20);
        backlog.assign("plant", 0);
        for offset in 0..5 {
            add(&backlog, 0, offset);
        }
        let mut sizes = Vec::new();
        for _ in 0..2 {
            let batch = backlog.take().await.unwrap();
            sizes.push(batch.lines());
            backlog.on_written(batch.id);
        }
        assert_eq!(sizes, [2, 2]);
        backlog.drain_quickly();
        backlog.end();
        let last = backlog.take().await.unwrap();
        assert_eq!(last.lines(), 1);
        assert_eq!(to_commit(&backlog), [(0, 4)]);
        assert!(!backlog.wait_until_empty(Duration::ZERO));
        backlog.on_written(last.id);
        assert!(backlog.wait_until_empty(Duration::ZERO));
        assert_eq!(to_commit(&backlog), [(0, 5)]);
        assert!(backlog.take().await.is_none());
    }

    #[tokio::test]
    async fn several_writers_get_all_batches_and_end() {
        let backlog = Arc::new(Backlog::new(LIMITS, 1 << 20));
        backlog.assign("plant", 0);
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let backlog = Arc::clone(&backlog);
                tokio::spawn(async move {
                    let mut lines = 0;
                    while let Some(batch) = backlog.take().await {
                        lines += batch.lines();
                        tokio::task::yield_now().await;
                        backlog.on_written(batch.id);
                    }
                    lines
                })
            })
            .collect();
        for offset in 0..1001 {
            add(&backlog, 0, offset);
            if offset % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        backlog.end();
        let mut lines = 0;
        for writer in writers {
            lines += writer.await.unwrap();
        }
        assert_eq!(lines, 1001);
        assert_eq!(to_commit(&backlog), [(0, 1001)]);
    }

    #[test]
    fn there_is_room_up_to_the_limit() {
        let backlog = Backlog::new(LIMITS, 200);
        backlog.assign("plant", 0);
        let mut offset = 0;
        while add(&backlog, 0, offset) {
            offset += 1;
        }
        assert!(!backlog.wait_for_room(Duration::ZERO));
        let fill = backlog.fill(Instant::now());
        assert!((200..400).contains(&fill.bytes), "{fill:?}");
        backlog.on_written(BatchId(1));
        assert!(backlog.wait_for_room(Duration::ZERO));
    }

    #[test]
    fn a_partition_that_is_assigned_again_has_a_new_slot() {
        let backlog = Backlog::new(LIMITS, 1 << 20);
        backlog.assign("plant", 0);
        backlog.assign("plant", 1);
        add(&backlog, 0, 7);
        add(&backlog, 1, 3);
        let zero = [("plant".to_owned(), 0)];
        assert!(!backlog.wait_until_written(&zero, Duration::ZERO));
        backlog.revoke("plant", 0);
        assert!(backlog.wait_until_written(&zero, Duration::ZERO));
        backlog.assign("plant", 0);
        backlog.on_written(BatchId(1));
        assert_eq!(to_commit(&backlog), [(1, 4)]);
        backlog.on_commit("plant", 1, 4);
        assert_eq!(to_commit(&backlog), []);
        // A partition that was never assigned.
        add(&backlog, 9, 1);
        backlog.on_written(BatchId(2));
        assert_eq!(to_commit(&backlog), []);
    }
}
