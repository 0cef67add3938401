//! The embedded store: one SQLite file, written by one thread in group commits, read by many.
//!
//! A topic is a log: its records are numbered from 0 in the order in which they were committed. What a reader sees
//! is on disk, synced. Nothing here knows HTTP.

mod chunk;
mod committer;
mod file;
mod merger;
mod queue;
mod readers;
mod topics;

pub use chunk::{Chunk, Entries, Entry, measurement_bit};
pub use file::StoreError;
pub(crate) use file::TOPICS_MAX;
pub(crate) use queue::Staged;
pub use queue::{Fate, Queue, Ticket, TopicSlot};
pub use readers::{Block, ReadError, Readers, Span, scan};
pub(crate) use topics::Topics;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::Notify;

use crate::metrics::CommitMetrics;

/// How the store is to be kept.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub file: PathBuf,
    /// Records waiting for a commit at most.
    pub queue_max_records: usize,
    /// How long a commit waits for more records after the first.
    pub commit_delay: Duration,
    /// The file grows no further; 0 is no limit.
    pub file_max_bytes: u64,
    /// The write-ahead log is folded into the file at the latest at this size.
    pub wal_max_bytes: u64,
    pub topics_max: usize,
    /// Threads that read at once.
    pub readers: usize,
}

/// An open store; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pub queue: Arc<Queue>,
    pub(crate) topics: Arc<Topics>,
    pub readers: Readers,
    /// The last write went well.
    pub writable: Arc<AtomicBool>,
    pub(crate) metrics: Arc<CommitMetrics>,
}

/// The thread that writes; it ends, with everything written, after [`Store::close`].
#[derive(Debug)]
pub struct Writer(std::thread::JoinHandle<()>);

impl Writer {
    /// Waits until everything that was taken in is written and the file is closed.
    pub fn wait(self) {
        // A panic of the committer has been reported by its thread; there is nothing left to write with.
        let _ = self.0.join();
    }
}

impl Store {
    /// Opens or makes the file. `workers` are woken, each by its bit, when a batch of theirs is settled.
    ///
    /// # Errors
    /// When the file cannot be opened, is no store, or belongs to another gateway.
    pub fn open(
        settings: &StoreSettings,
        workers: Vec<Arc<Notify>>,
    ) -> Result<(Self, Writer), StoreError> {
        let opened = file::open(settings)?;
        let store = Self {
            queue: Arc::new(Queue::new(settings.queue_max_records)),
            topics: Arc::new(Topics::new(
                settings.topics_max,
                opened.topics.iter().map(|topic| &*topic.name),
            )),
            readers: Readers::open(&settings.file, settings.readers)?,
            writable: Arc::new(AtomicBool::new(true)),
            metrics: Arc::new(CommitMetrics::default()),
        };
        let committer = committer::Committer::new(opened, &store, settings, workers);
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(move || committer.run())
            .map_err(StoreError::Thread)?;
        Ok((store, Writer(thread)))
    }

    /// No commit waits for more records any longer: those who wait are to be answered soon.
    pub fn hurry(&self) {
        self.queue.hurry();
    }

    /// Takes nothing more in; what was taken in is still written.
    pub fn close(&self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests;
