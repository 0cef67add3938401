//! What was read and is not written yet, bounded; shared by the thread that reads and the lanes that write.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::batch::{Batch, BatchLimits, Batcher, Message, Next, Source};
use crate::offsets::{BatchId, Offsets, Slot};
use crate::reading::Reading;

/// Messages on their way from the log to the database.
#[derive(Debug)]
pub(crate) struct Backlog {
    inner: Mutex<Inner>,
    /// Something can be taken sooner than was known.
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
    /// What waits or is being written, by batch.
    held: BTreeMap<BatchId, Held>,
    bytes: usize,
    /// Batches that were taken and are not done.
    taken: usize,
    ended: bool,
}

#[derive(Debug)]
struct Held {
    begun: Instant,
    bytes: usize,
}

/// The partitions assigned to us.
#[derive(Debug, Default)]
struct Sources {
    by_topic: HashMap<Arc<str>, BTreeMap<i32, Arc<Source>>>,
    next: u64,
}

/// A partition that is ours, and the last offset of it that was confirmed to us.
#[derive(Debug)]
pub(crate) struct OwnedPartition {
    pub(crate) source: Arc<Source>,
    pub(crate) committed: Option<i64>,
}

/// What a page of metrics says of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fill {
    pub(crate) bytes: usize,
    pub(crate) batches: usize,
    /// Since the oldest message that is not written was read.
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

    /// The partition is ours to read.
    pub(crate) fn assign(&self, topic: &str, partition: i32) {
        let mut inner = self.lock();
        let slot = inner.sources.assign(topic, partition).slot;
        inner.offsets.assign(slot);
    }

    /// The partition is ours no more; what is under way of it is never committed.
    pub(crate) fn revoke(&self, topic: &str, partition: i32) {
        let mut inner = self.lock();
        if let Some(source) = inner.sources.revoke(topic, partition) {
            inner.offsets.revoke(source.slot);
        }
    }

    /// No partition is ours any more.
    pub(crate) fn revoke_all(&self) {
        for OwnedPartition { source, .. } in self.partitions() {
            self.revoke(&source.topic, source.partition);
        }
    }

    /// Takes a message in; says whether there is room for more.
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
        let mut is_new = false;
        let held = inner.held.entry(batch).or_insert_with(|| {
            is_new = true;
            Held {
                begun: now,
                bytes: 0,
            }
        });
        held.bytes += bytes;
        inner.bytes += bytes;
        let (has_full, has_room) = (inner.batcher.has_full(), inner.bytes < self.max_bytes);
        drop(guard);
        if is_new || (has_full && !had_full) {
            self.filled.notify_one();
        }
        has_room
    }

    /// The next batch, as soon as it is full or has gathered long enough; none when nothing will come any more.
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
                    // What is left, full or gathering, is another lane's to wait for: this one is busy now.
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

    /// All of the batch is written.
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

    /// Waits until there is room for more; false if there is none in time.
    pub(crate) fn wait_for_room(&self, at_most: Duration) -> bool {
        let inner = self.lock();
        let (_inner, timeout) = self
            .written
            .wait_timeout_while(inner, at_most, |inner| inner.bytes >= self.max_bytes)
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Waits until everything that was read is written; false if it is not in time.
    pub(crate) fn wait_until_empty(&self, at_most: Duration) -> bool {
        let inner = self.lock();
        let (_inner, timeout) = self
            .written
            .wait_timeout_while(inner, at_most, |inner| !inner.held.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        !timeout.timed_out()
    }

    /// Waits until everything that was read of these partitions is written; false if it is not in time.
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

    /// What can be committed and is not confirmed yet.
    pub(crate) fn to_commit(&self) -> Vec<(Arc<Source>, i64)> {
        let inner = self.lock();
        let of = |(slot, offset)| Some((inner.sources.by_slot(slot)?, offset));
        inner.offsets.to_commit().filter_map(of).collect()
    }

    /// The broker has confirmed an offset.
    pub(crate) fn on_commit(&self, topic: &str, partition: i32, offset: i64) {
        let mut inner = self.lock();
        if let Some(source) = inner.sources.find(topic, partition) {
            inner.offsets.on_commit(source.slot, offset);
        }
    }

    /// The partitions that are ours, each with the last offset confirmed to us.
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
        // Batches are numbered in the order in which they began.
        let oldest = inner.held.first_key_value().map(|(_, held)| held.begun);
        Fill {
            bytes: inner.bytes,
            batches: inner.held.len(),
            oldest: oldest.map_or(Duration::ZERO, |begun| now.saturating_duration_since(begun)),
        }
    }

    /// Bodies of that size are too large for the database.
    pub(crate) fn shrink(&self, bytes: usize) {
        self.lock().batcher.shrink(bytes);
    }

    /// Nothing gathers any longer than needed.
    pub(crate) fn hurry(&self) {
        self.lock().batcher.hurry();
        self.filled.notify_one();
    }

    /// Nothing is written any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Nothing more will be added: lanes end when all is taken.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.filled.notify_waiters();
        self.filled.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in one of these few lines leaves nothing half that a later one could not live with.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message as it came from the log.
#[derive(Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) value: &'a [u8],
    pub(crate) reading: &'a Reading,
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

    /// The source of a partition. One that we do not read has a slot of its own that is never committed.
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
        delay: Duration::from_millis(5),
        delay_behind: Duration::from_millis(50),
    };

    fn add(backlog: &Backlog, partition: i32, offset: i64) -> bool {
        let value = b"m v=1 1";
        let mut reading = Reading::default();
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
    async fn a_lane_gets_full_batches_at_once_and_others_after_the_delay() {
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
        backlog.hurry();
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
    async fn several_lanes_get_all_there_is_and_all_end() {
        let backlog = Arc::new(Backlog::new(LIMITS, 1 << 20));
        backlog.assign("plant", 0);
        let lanes: Vec<_> = (0..4)
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
        for lane in lanes {
            lines += lane.await.unwrap();
        }
        assert_eq!(lines, 1001);
        assert_eq!(to_commit(&backlog), [(0, 1001)]);
    }

    #[test]
    fn there_is_room_until_as_much_waits_as_may() {
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
    fn a_partition_that_comes_back_is_another_one() {
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
        // One that was never ours.
        add(&backlog, 9, 1);
        backlog.on_written(BatchId(2));
        assert_eq!(to_commit(&backlog), []);
    }
}
