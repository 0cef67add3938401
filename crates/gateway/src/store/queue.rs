//! What waits for the next commit: workers add to it, the committer takes all of it at once.
//!
//! While one batch is being written the next one gathers, so batches grow with the load by themselves.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::chunk::{Chunk, Mark};
use crate::ticket::{Fate, Ticket};

/// A chunk takes no more records once it is this large; a reader's unit of work.
const CHUNK_FULL_BYTES: usize = 1024 * 1024;
/// Buffers larger than this are given back after use.
const KEEP_MAX_BYTES: usize = 4 * 1024 * 1024;

/// A topic, as workers and committer number it while the process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TopicSlot(pub u32);

/// Records of one turn of a worker, gathered before the queue is locked.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    parts: Vec<(TopicSlot, Chunk)>,
    used: usize,
    /// Where the last chunk stood before the request at hand, until that is kept.
    open: Option<Mark>,
}

impl Staged {
    /// The chunk to add the next request's records to; they stay only if [`Self::keep`] follows.
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

    /// The request's records are whole.
    pub(crate) fn keep(&mut self) {
        self.open = None;
    }

    /// Leaves nothing of a request that was not kept, also where its reading ended by a panic.
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

/// Everything that one transaction writes.
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

/// A batch that is let go of without its fate being known was not written: nobody waits for it for ever.
impl Drop for Batch {
    fn drop(&mut self) {
        if self.ticket.fate() == Fate::Pending {
            self.ticket.settle(false);
        }
    }
}

impl Batch {
    fn add(&mut self, slot: TopicSlot, chunk: &Chunk) {
        let at = slot.0 as usize;
        if self.by_slot.len() <= at {
            self.by_slot.resize(at + 1, 0);
        }
        if self.by_slot[at] == 0 {
            self.topics.push(TopicChunks {
                slot,
                chunks: vec![Chunk::default()],
            });
            self.by_slot[at] = u32::try_from(self.topics.len()).expect("topics are far fewer");
        }
        let chunks = &mut self.topics[self.by_slot[at] as usize - 1].chunks;
        match chunks.last_mut() {
            Some(last) if last.bytes.len() < CHUNK_FULL_BYTES => last.append(chunk),
            _ => chunks.push(chunk.clone()),
        }
        self.records += chunk.count as usize;
        self.bytes += chunk.bytes.len();
    }

    /// Empty, with its buffers, for the batch after next.
    pub(super) fn recycle(mut self) -> Self {
        // A topic's buffer is worth keeping only while topics are few.
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

/// Why records are not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The queue holds as many records as it may.
    Full,
    /// The store has closed.
    Closed,
}

/// Records waiting for the committer.
#[derive(Debug)]
pub struct Queue {
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
    closed: bool,
    /// Commits do not wait for more records.
    haste: bool,
}

/// What the committer got.
pub(super) enum Taken {
    Batch(Batch),
    /// Nothing came within the time given.
    Nothing,
    /// Nothing will come any more.
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

    /// Everything that waits, as soon as there is something.
    pub(super) fn take(&self, at_most: Duration) -> Taken {
        let mut inner = self.lock();
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
            waited = timeout.timed_out();
        }
        let next = inner.spare.take().unwrap_or_default();
        Taken::Batch(std::mem::replace(&mut inner.gathering, next))
    }

    /// Waits for the first record, and then `delay` for more, unless there is haste.
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
            // The outcome is the same whether haste or the time ended it.
            let _ = self
                .hurried
                .wait_timeout_while(inner, delay, |inner| !inner.haste);
        }
    }

    /// From now on no commit waits for more records.
    pub(super) fn hurry(&self) {
        self.lock().haste = true;
        self.hurried.notify_one();
    }

    /// Gives back a written batch's buffers.
    pub(super) fn give_back(&self, batch: Batch) {
        let spare = batch.recycle();
        self.lock().spare = Some(spare);
    }

    /// Nothing more is taken in; what waits is still written.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.hurry();
    }

    /// Nothing more is taken in, and what waits will not be written.
    pub(super) fn fail(&self) {
        self.close();
        let mut inner = self.lock();
        inner.gathering = Batch::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A worker that panicked while adding leaves whole chunks behind; the others go on.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
