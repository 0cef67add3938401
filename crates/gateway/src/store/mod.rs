//! The embedded store: one SQLite file, written by one thread in group commits, read by many.
//!
//! A topic is a log: its records are numbered from 0 in the order in which they were committed. What a reader sees
//! is on disk, synced. Nothing here knows HTTP.

mod chunk;
mod committer;
mod file;
mod intake;
mod merger;
mod queue;
mod readers;
mod restore;
mod settings;
mod topics;

pub use chunk::{Chunk, Entries, Entry, measurement_bit};
pub use file::StoreError;
pub(crate) use file::TOPICS_MAX;
pub(crate) use intake::Entering;
pub use queue::{Queue, TopicSlot};
pub(crate) use queue::{Refused, Staged};
pub use readers::{Block, ReadError, Readers, Span, scan};
pub use settings::StoreSettings;
pub(crate) use topics::Topics;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::latest::{Latest, LatestLimits};
use crate::metrics::CommitMetrics;
pub use crate::ticket::{Fate, Ticket};

/// An open store; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pub queue: Arc<Queue>,
    pub(crate) topics: Arc<Topics>,
    pub readers: Readers,
    /// The last write went well.
    pub writable: Arc<AtomicBool>,
    pub(crate) latest: Arc<Latest>,
    pub(crate) metrics: Arc<CommitMetrics>,
    /// Told when the committer has ended.
    ended: Arc<Notify>,
}

/// The committer ended by a panic; what it had not written was answered so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fallen;

/// The thread that writes; it ends, with everything written, after [`Store::close`].
#[derive(Debug)]
pub struct Writer(std::thread::JoinHandle<()>);

impl Writer {
    /// Waits until everything that was taken in is written and the file is closed.
    ///
    /// # Errors
    /// When the committer had ended before by a panic, which its thread has reported.
    pub fn wait(self) -> Result<(), Fallen> {
        self.0.join().map_err(|_| Fallen)
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
            latest: Arc::new(Latest::new(LatestLimits {
                series: settings.last_series,
                bytes: settings.last_max_bytes,
            })),
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

    /// No commit waits for more records any longer: those who wait are to be answered soon.
    pub fn hurry(&self) {
        self.queue.hurry();
    }

    /// Takes nothing more in; what was taken in is still written.
    pub fn close(&self) {
        self.queue.close();
    }

    /// Ready when there is no committer any more: after [`Store::close`], or after its panic.
    pub async fn wait_until_ended(&self) {
        self.ended.notified().await;
    }
}

/// What is done when the committer ends, also by a panic: whoever waits is told, and nobody comes to wait any more.
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
