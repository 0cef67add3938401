//! The queue of the next commit: workers add to it, the committer takes everything at once.
//!
//! While a batch is being written the next one gathers, so batches grow with the load.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use super::chunk::{Chunk, Mark};
use crate::log::ticket::{Fate, Ticket};

/// A chunk of this size gets no more records; it is a reader's unit of work.
const CHUNK_FULL_BYTES: usize = 1024 * 1024;
/// Topics that may wait to be deleted.
const DELETIONS_MAX: usize = 64;
/// Larger buffers are freed after use.
const KEEP_MAX_BYTES: usize = 4 * 1024 * 1024;

/// A topic's number in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TopicSlot(pub u32);

/// Records of one cycle of a worker, gathered before the queue is locked.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    parts: Vec<(TopicSlot, Chunk)>,
    used: usize,
    /// State of the last chunk before the current request, until the request is kept.
    open: Option<Mark>,
}

impl Staged {
    /// The chunk for the next request's records; they stay only if [`Self::keep`] follows.
    pub(crate) fn chunk(&mut self, topic: TopicSlot) -> &mut Chunk {
        self.take_back();
        if self.used == 0 || self.parts[self.used - 1].0 != topic {
            if self.parts.len() == self.used {
                self.parts.push((topic, Chunk::default()));
            }
            self.parts[self.used].0 = topic;
            self.used += 1;
        }
        let chunk = &mut self.parts[self.used - 1].1;
        self.open = Some(chunk.mark());
        chunk
    }

    /// Keeps the request's records.
    pub(crate) fn keep(&mut self) {
        self.open = None;
    }

    /// Rolls back a request that was not kept, also after a panic.
    pub(crate) fn take_back(&mut self) {
        if let Some(mark) = self.open.take() {
            self.parts[self.used - 1].1.take_back(mark);
        }
    }

    fn records(&self) -> usize {
        self.parts[..self.used]
            .iter()
            .map(|(_, chunk)| chunk.count as usize)
            .sum()
    }

    pub(crate) fn clear(&mut self) {
        self.open = None;
        for (_, chunk) in &mut self.parts[..self.used] {
            chunk.clear(KEEP_MAX_BYTES);
        }
        self.used = 0;
        self.parts.truncate(64);
    }
}

/// The records of one transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) topics: Vec<TopicChunks>,
    /// Index into `topics` by slot, plus one; 0 is none.
    by_slot: Vec<u32>,
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) ticket: Ticket,
    /// A bit for each worker that waits for it.
    pub(super) workers: u64,
}

#[derive(Debug)]
pub(super) struct TopicChunks {
    pub(super) slot: TopicSlot,
    pub(super) chunks: Vec<Chunk>,
}

/// A batch that is dropped without an outcome fails, so that no task waits forever.
impl Drop for Batch {
    fn drop(&mut self) {
        if self.ticket.fate() == Fate::Pending {
            self.ticket.settle(Fate::Failed);
        }
    }
}

impl Batch {
    fn add(&mut self, slot: TopicSlot, chunk: &Chunk) {
        let index = slot.0 as usize;
        if self.by_slot.len() <= index {
            self.by_slot.resize(index + 1, 0);
        }
        if self.by_slot[index] == 0 {
            self.topics.push(TopicChunks {
                slot,
                chunks: vec![Chunk::default()],
            });
            self.by_slot[index] = u32::try_from(self.topics.len()).expect("topics are far fewer");
        }
        let chunks = &mut self.topics[self.by_slot[index] as usize - 1].chunks;
        match chunks.last_mut() {
            Some(last) if last.bytes.len() < CHUNK_FULL_BYTES => last.append(chunk),
            _ => chunks.push(chunk.clone()),
        }
        self.records += chunk.count as usize;
        self.bytes += chunk.bytes.len();
    }

    /// Clears it, with its buffers, for the batch after next.
    pub(super) fn recycle(mut self) -> Self {
        // Buffers of many topics would take too much memory.
        if self.topics.len() > 64 || self.bytes > KEEP_MAX_BYTES {
            return Self::default();
        }
        for topic in &mut self.topics {
            topic.chunks.truncate(1);
            topic.chunks[0].clear(KEEP_MAX_BYTES);
        }
        self.records = 0;
        self.bytes = 0;
        self.workers = 0;
        self.ticket = Ticket::default();
        self
    }
}

/// Why records are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The queue is full.
    Full,
    /// The store is closed.
    Closed,
}

/// Records waiting for the committer.
#[derive(Debug)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    filled: Condvar,
    hurried: Condvar,
    records_max: usize,
}

#[derive(Debug, Default)]
struct Inner {
    gathering: Batch,
    spare: Option<Batch>,
    committer_waits: bool,
    /// Topics to delete, each with who waits for that.
    deletions: Vec<Deletion>,
    closed: bool,
    /// Commits do not wait for more records.
    haste: bool,
}

/// A topic to delete. Who waits for it gets whether it is done.
#[derive(Debug)]
pub(super) struct Deletion {
    pub(super) slot: TopicSlot,
    pub(super) done: oneshot::Sender<bool>,
}

/// What the committer takes from the queue.
pub(super) enum Taken {
    Batch(Batch),
    Deletion(Deletion),
    /// Nothing arrived within the timeout.
    Nothing,
    /// The queue is closed and empty.
    Closed,
}

impl Queue {
    pub(super) fn new(records_max: usize) -> Self {
        Self {
            inner: Mutex::default(),
            filled: Condvar::new(),
            hurried: Condvar::new(),
            records_max,
        }
    }

    /// Hands the staged records to the next commit.
    pub(crate) fn submit(&self, staged: &mut Staged, worker: u32) -> Result<Ticket, Refused> {
        staged.take_back();
        let records = staged.records();
        let mut inner = self.lock();
        let crowded =
            inner.gathering.records > 0 && inner.gathering.records + records > self.records_max;
        if inner.closed {
            return Err(Refused::Closed);
        }
        if crowded {
            return Err(Refused::Full);
        }
        for (slot, chunk) in &staged.parts[..staged.used] {
            if chunk.count > 0 {
                inner.gathering.add(*slot, chunk);
            }
        }
        inner.gathering.workers |= 1 << worker;
        let ticket = inner.gathering.ticket.clone();
        let wake = std::mem::take(&mut inner.committer_waits);
        drop(inner);
        if wake {
            self.filled.notify_one();
        }
        Ok(ticket)
    }

    /// Has a topic deleted, with what is committed by then. The receiver fails if the store ends before.
    ///
    /// # Errors
    /// If the store is closed, or too many topics wait for it.
    pub(crate) fn delete(&self, slot: TopicSlot) -> Result<oneshot::Receiver<bool>, Refused> {
        let mut inner = self.lock();
        if inner.closed {
            return Err(Refused::Closed);
        }
        if inner.deletions.len() >= DELETIONS_MAX {
            return Err(Refused::Full);
        }
        let (done, receiver) = oneshot::channel();
        inner.deletions.push(Deletion { slot, done });
        inner.committer_waits = false;
        drop(inner);
        self.filled.notify_one();
        Ok(receiver)
    }

    /// Takes everything, as soon as there is something.
    pub(super) fn take(&self, at_most: Duration) -> Taken {
        let mut inner = self.lock();
        if let Some(deletion) = inner.deletions.pop() {
            return Taken::Deletion(deletion);
        }
        let mut waited = false;
        while inner.gathering.records == 0 {
            if inner.closed {
                return Taken::Closed;
            }
            if waited {
                inner.committer_waits = false;
                return Taken::Nothing;
            }
            inner.committer_waits = true;
            let (guard, timeout) = self
                .filled
                .wait_timeout(inner, at_most)
                .unwrap_or_else(PoisonError::into_inner);
            inner = guard;
            if let Some(deletion) = inner.deletions.pop() {
                return Taken::Deletion(deletion);
            }
            waited = timeout.timed_out();
        }
        let next = inner.spare.take().unwrap_or_default();
        Taken::Batch(std::mem::replace(&mut inner.gathering, next))
    }

    /// Waits for the first record, and then `delay` for more, unless the queue drains quickly.
    pub(super) fn linger(&self, delay: Duration, at_most: Duration) {
        let mut inner = self.lock();
        if inner.gathering.records == 0 && !inner.closed {
            inner.committer_waits = true;
            (inner, _) = self
                .filled
                .wait_timeout(inner, at_most)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if inner.gathering.records > 0 {
            // The outcome is the same whether the condition or the timeout ended it.
            let _ = self
                .hurried
                .wait_timeout_while(inner, delay, |inner| !inner.haste);
        }
    }

    /// Commits no longer wait for more records.
    pub(super) fn drain_quickly(&self) {
        self.lock().haste = true;
        self.hurried.notify_one();
    }

    /// Returns the buffers of a written batch.
    pub(super) fn give_back(&self, batch: Batch) {
        let spare = batch.recycle();
        self.lock().spare = Some(spare);
    }

    /// Accepts no more records; accepted ones are still written.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.drain_quickly();
    }

    /// Accepts no more records; waiting ones are not written.
    pub(super) fn fail(&self) {
        self.close();
        let mut inner = self.lock();
        inner.gathering = Batch::default();
        inner.deletions.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A worker that panicked while adding leaves complete chunks; the others continue.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
