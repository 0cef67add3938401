//! What the sink counts about itself, as Prometheus reads it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use waggle_service::metrics::{Histogram, Page};

use crate::backlog::Fill;
use crate::batch::Batch;

/// Why lines were put aside.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Dead {
    Unreadable,
    Refused,
    TooLarge,
}

const DEAD: [&str; 3] = ["unreadable", "refused", "too_large"];

/// What was tried again.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Retry {
    Database,
    Access,
    DeadLetters,
}

const RETRIES: [&str; 3] = ["database", "access", "dead_letters"];
/// Statuses with a counter of their own; the last counts all others.
const STATUSES: [u16; 12] = [204, 400, 401, 403, 404, 413, 422, 429, 500, 503, 504, 0];
/// Upper bounds of the time a write took, in microseconds.
static WRITE_BOUNDS_US: [u64; 12] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
    30_000_000,
];
/// Upper bounds of the lines of a batch.
static BATCH_BOUNDS: [u64; 9] = [1, 10, 50, 100, 500, 1_000, 2_500, 5_000, 10_000];

/// Counters of everything; threads add to them as they go.
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

/// A write that is under way, as long as this lives.
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
        let at = STATUSES.iter().position(|known| *known == status);
        add(&self.answers[at.unwrap_or(STATUSES.len() - 1)], 1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.write.note(micros);
    }

    /// Lines that the database has; `sent` is what their bytes were on the wire.
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

    /// Messages of each of our partitions that are not committed.
    pub(crate) fn set_lags(&self, lags: BTreeMap<(Arc<str>, i32), i64>) {
        *self.lags.lock().unwrap_or_else(PoisonError::into_inner) = lags;
    }

    /// Everything that the sink counts.
    pub(crate) fn exposition(&self, fill: Fill, is_ready: bool) -> String {
        let mut page = Page::new("waggle_sink");
        self.write_counters(&mut page);
        self.write_labelled(&mut page);
        page.gauge("writes_in_flight", "Writes under way", load(&self.writing));
        page.gauge(
            "unwritten_bytes",
            "Bytes of what was read and is not written",
            fill.bytes,
        );
        page.gauge(
            "unwritten_batches",
            "Batches that wait or are being written",
            fill.batches,
        );
        page.gauge(
            "oldest_unwritten_seconds",
            "Time since the oldest message was read that is not written; 0 if all are",
            fill.oldest.as_secs_f64(),
        );
        page.gauge(
            "ready",
            "1 if /readyz says 200, else 0",
            u64::from(is_ready),
        );
        page.histogram(
            "write_seconds",
            "Time of a write until its answer",
            &self.write,
        );
        page.histogram("batch_records", "Lines of a batch", &self.batch);
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
                "Lines that the database has taken",
                &self.lines_written,
            ),
            (
                "written_bytes_total",
                "Bytes of lines that the database has taken",
                &self.bytes_written,
            ),
            (
                "sent_bytes_total",
                "Bytes of bodies that the database has taken, as sent",
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
                "Times that partitions were given or taken",
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
            "records_dead_total",
            "Lines put into the dead-letter topic",
            dead.map(|(reason, counter)| series("reason", reason, counter)),
        );
        let retries = RETRIES.iter().zip(&self.retries);
        page.counters(
            "retries_total",
            "What was tried again",
            retries.map(|(what, counter)| series("of", what, counter)),
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
            "Messages of our partitions that are not committed",
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
