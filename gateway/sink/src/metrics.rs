//! The sink's own metrics in Prometheus format.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use waggle_kafka::{Access, IS_CURRENT};
use waggle_service::metrics::{Histogram, Page};

use crate::{backlog::Fill, writes::batch::Batch};

/// Why lines went to the dead-letter topic.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Dead {
    Unreadable,
    Refused,
    TooLarge,
}

const DEAD: [&str; 3] = ["unreadable", "refused", "too_large"];

/// The operation that was retried.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Retry {
    Database,
    Access,
    DeadLetters,
}

const RETRIES: [&str; 3] = ["database", "access", "dead_letters"];
/// Statuses with their own counter; the last one counts all others.
const STATUSES: [u16; 12] = [204, 400, 401, 403, 404, 413, 422, 429, 500, 503, 504, 0];
/// Upper bounds of the time of a write, in microseconds.
static WRITE_BOUNDS_US: [u64; 12] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
    30_000_000,
];
/// Upper bounds of the lines of a batch.
static BATCH_BOUNDS: [u64; 9] = [1, 10, 50, 100, 500, 1_000, 2_500, 5_000, 10_000];

/// All counters, shared by all threads.
#[derive(Debug)]
pub(crate) struct Metrics {
    messages_read: AtomicU64,
    bytes_read: AtomicU64,
    lines_read: AtomicU64,
    lines_written: AtomicU64,
    bytes_written: AtomicU64,
    bytes_sent: AtomicU64,
    dead: [AtomicU64; DEAD.len()],
    retries: [AtomicU64; RETRIES.len()],
    answers: [AtomicU64; STATUSES.len()],
    writing: AtomicU64,
    write: Histogram<{ WRITE_BOUNDS_US.len() }>,
    batch: Histogram<{ BATCH_BOUNDS.len() }>,
    pub(crate) commits: AtomicU64,
    pub(crate) commit_failures: AtomicU64,
    pub(crate) rebalances: AtomicU64,
    lags: Mutex<BTreeMap<(Arc<str>, i32), i64>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            messages_read: AtomicU64::default(),
            bytes_read: AtomicU64::default(),
            lines_read: AtomicU64::default(),
            lines_written: AtomicU64::default(),
            bytes_written: AtomicU64::default(),
            bytes_sent: AtomicU64::default(),
            dead: Default::default(),
            retries: Default::default(),
            answers: Default::default(),
            writing: AtomicU64::default(),
            write: Histogram::new(&WRITE_BOUNDS_US, 1e6),
            batch: Histogram::new(&BATCH_BOUNDS, 1.0),
            commits: AtomicU64::default(),
            commit_failures: AtomicU64::default(),
            rebalances: AtomicU64::default(),
            lags: Mutex::default(),
        }
    }
}

/// A write in progress, until it is dropped.
pub(crate) struct Writing<'a>(&'a AtomicU64);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn read(&self, bytes: usize, lines: usize) {
        add(&self.messages_read, 1);
        add(&self.bytes_read, bytes as u64);
        add(&self.lines_read, lines as u64);
    }

    pub(crate) fn write_begins(&self) -> Writing<'_> {
        add(&self.writing, 1);
        Writing(&self.writing)
    }

    pub(crate) fn count_answer(&self, status: u16, took: Duration) {
        let index = STATUSES.iter().position(|known| *known == status);
        add(&self.answers[index.unwrap_or(STATUSES.len() - 1)], 1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.write.note(micros);
    }

    /// Counts written lines; `sent` is their size on the wire.
    pub(crate) fn count_written(&self, bytes: usize, sent: usize, count: usize) {
        add(&self.lines_written, count as u64);
        add(&self.bytes_written, bytes as u64);
        add(&self.bytes_sent, sent as u64);
    }

    pub(crate) fn batch_done(&self, batch: &Batch) {
        self.batch.note(batch.lines() as u64);
    }

    pub(crate) fn put_aside(&self, dead: Dead, lines: usize) {
        add(&self.dead[dead as usize], lines as u64);
    }

    pub(crate) fn count_retry(&self, retry: Retry) {
        add(&self.retries[retry as usize], 1);
    }

    /// Sets the uncommitted messages of each assigned partition.
    pub(crate) fn set_lags(&self, lags: BTreeMap<(Arc<str>, i32), i64>) {
        *self.lags.lock().unwrap_or_else(PoisonError::into_inner) = lags;
    }

    /// The metrics page.
    pub(crate) fn exposition(&self, fill: Fill, is_ready: bool, access: &Access) -> String {
        let mut page = Page::new("waggle_sink");
        self.write_counters(&mut page);
        self.write_labelled(&mut page);
        page.gauge(
            "writes_in_flight",
            "Writes in progress",
            load(&self.writing),
        );
        page.gauge(
            "buffered_bytes",
            "Bytes of messages that are read and not written",
            fill.bytes,
        );
        page.gauge(
            "buffered_batches",
            "Batches that wait or are being written",
            fill.batches,
        );
        page.gauge(
            "oldest_buffered_seconds",
            "Age of the oldest message that is read and not written; 0 if all are written",
            fill.oldest.as_secs_f64(),
        );
        page.gauge(
            "ready",
            "1 if /readyz says 200, else 0",
            u64::from(is_ready),
        );
        let [name, meaning] = IS_CURRENT;
        page.gauge(name, meaning, u64::from(access.is_current()));
        page.histogram(
            "write_seconds",
            "Time from a write to its answer",
            &self.write,
        );
        page.histogram("batch_records", "Lines in a batch", &self.batch);
        page.into_text()
    }

    fn write_counters(&self, page: &mut Page) {
        let counters = [
            (
                "messages_read_total",
                "Messages read from Kafka",
                &self.messages_read,
            ),
            (
                "read_bytes_total",
                "Bytes of messages read from Kafka",
                &self.bytes_read,
            ),
            (
                "records_read_total",
                "Lines read from Kafka that can be written",
                &self.lines_read,
            ),
            (
                "records_written_total",
                "Lines that the database has accepted",
                &self.lines_written,
            ),
            (
                "written_bytes_total",
                "Bytes of lines that the database has accepted",
                &self.bytes_written,
            ),
            (
                "sent_bytes_total",
                "Bytes of bodies that the database has accepted, as sent",
                &self.bytes_sent,
            ),
            (
                "commits_total",
                "Commits that Kafka has confirmed",
                &self.commits,
            ),
            (
                "commit_failures_total",
                "Commits that failed",
                &self.commit_failures,
            ),
            (
                "rebalances_total",
                "Assignments and revocations of partitions",
                &self.rebalances,
            ),
        ];
        for (name, help, counter) in counters {
            page.counter(name, help, load(counter));
        }
    }

    fn write_labelled(&self, page: &mut Page) {
        let series = |label: &'static str, value: &str, counter: &AtomicU64| {
            (vec![(label, value.to_owned())], load(counter))
        };
        let dead = DEAD.iter().zip(&self.dead);
        page.counters(
            "records_dead_lettered_total",
            "Lines written to the dead-letter topic",
            dead.map(|(reason, counter)| series("reason", reason, counter)),
        );
        let retries = RETRIES.iter().zip(&self.retries);
        page.counters(
            "retries_total",
            "Retries, by operation",
            retries.map(|(operation, counter)| series("operation", operation, counter)),
        );
        let answers = STATUSES.iter().zip(&self.answers);
        page.counters(
            "answers_total",
            "Answers of the database, by status; 0 is any other",
            answers.map(|(status, counter)| series("status", &status.to_string(), counter)),
        );
        let lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        let lags = lags.iter().map(|((topic, partition), lag)| {
            let (topic, partition) = (topic.to_string(), partition.to_string());
            (vec![("topic", topic), ("partition", partition)], *lag)
        });
        page.gauges(
            "lag_messages",
            "Messages of the assigned partitions that are not committed",
            lags,
        );
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
