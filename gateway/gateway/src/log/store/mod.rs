//! The embedded store: one SQLite file, written by one thread in group commits, read by many.
//!
//! A topic is a log: its records are numbered from 0 in the order in which they were committed. What a reader sees is synced to
//! disk. The store does not know HTTP.

mod chunk;
mod commit_times;
mod committer;
mod deleter;
mod file;
mod intake;
mod merger;
mod queue;
mod readers;
mod restore;
mod settings;
mod topics;

#[cfg(test)]
pub(crate) use chunk::Chunk;
pub(crate) use chunk::{Entries, Entry, measurement_bit};
pub(crate) use commit_times::{CommitTimes, TopicCommits};
pub use file::StoreError;
pub(crate) use file::TOPICS_MAX;
pub(crate) use intake::Entering;
pub(crate) use queue::{Queue, Refused, Staged, TopicSlot};
pub(crate) use readers::{Block, ReadError, Readers, Span, Until, scan};
pub(crate) use settings::StoreSettings;
pub(crate) use topics::Topics;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::Notify;

use crate::{
    log::latest::{Latest, LatestLimits},
    metrics::CommitMetrics,
};

/// An open store; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) queue: Arc<Queue>,
    pub(crate) topics: Arc<Topics>,
    pub(crate) readers: Readers,
    /// The last write succeeded.
    pub(crate) writable: Arc<AtomicBool>,
    /// The last write failed because the file would have become larger than it may.
    pub(crate) is_full: Arc<AtomicBool>,
    pub(crate) latest: Arc<Latest>,
    pub(crate) commit_times: Arc<CommitTimes>,
    pub(crate) metrics: Arc<CommitMetrics>,
    /// Notified when the committer has ended.
    ended: Arc<Notify>,
}

/// The committer panicked; unwritten records were answered as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommitterPanicked;

/// The thread that writes; after [`Store::close`] it writes the rest and ends.
#[derive(Debug)]
pub(crate) struct Writer(std::thread::JoinHandle<()>);

impl Writer {
    /// Waits until every accepted record is written and the file is closed.
    ///
    /// # Errors
    /// If the committer has panicked; its thread has reported that.
    pub(crate) fn wait(self) -> Result<(), CommitterPanicked> {
        self.0.join().map_err(|_| CommitterPanicked)
    }
}

impl Store {
    /// Opens the file, creates it if needed. `workers` are woken, each by its bit, when a batch with their records is settled.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a store, or is in use by another gateway.
    pub(crate) fn open(
        settings: &StoreSettings,
        workers: Vec<Arc<Notify>>,
    ) -> Result<(Self, Writer), StoreError> {
        let settings = StoreSettings {
            file: file::resolve_path(&settings.file)?,
            ..settings.clone()
        };
        let opened = file::open(&settings)?;
        let store = Self {
            queue: Arc::new(Queue::new(settings.queue_max_records)),
            topics: Arc::new(Topics::new(
                settings.topics_max,
                opened.topics.iter().map(|topic| &*topic.name),
            )),
            readers: Readers::open(&settings.file, settings.readers)?,
            writable: Arc::new(AtomicBool::new(true)),
            is_full: Arc::default(),
            latest: Arc::new(Latest::new(LatestLimits {
                series: settings.latest_max_series,
                bytes: settings.latest_max_bytes,
            })),
            commit_times: Arc::default(),
            metrics: Arc::new(CommitMetrics::default()),
            ended: Arc::default(),
        };
        restore::start(&store, &settings, &opened.topics)?;
        let end = End {
            store: store.clone(),
            workers: workers.clone(),
        };
        let committer = committer::Committer::new(opened, &store, &settings, workers);
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(move || {
                let _end = end;
                committer.run();
            })
            .map_err(StoreError::Thread)?;
        Ok((store, Writer(thread)))
    }

    /// Commits no longer wait for more records, so that open requests are answered soon.
    pub(crate) fn drain_quickly(&self) {
        self.queue.drain_quickly();
    }

    /// Accepts no more records; accepted ones are still written.
    pub(crate) fn close(&self) {
        self.queue.close();
    }

    /// Ready when the committer has ended: after [`Store::close`], or after a panic.
    pub(crate) async fn wait_until_ended(&self) {
        self.ended.notified().await;
    }
}

/// Runs when the committer ends, also by a panic: fails what waits, and closes the queue.
struct End {
    store: Store,
    workers: Vec<Arc<Notify>>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.store.writable.store(false, Ordering::Relaxed);
        self.store.queue.fail();
        for worker in &self.workers {
            worker.notify_one();
        }
        self.store.ended.notify_one();
    }
}

#[cfg(test)]
mod tests;
