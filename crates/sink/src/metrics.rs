//! What the sink counts about itself, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
/// Statuses told apart; the last stands for others.
const STATUSES: [u16; 12] = [204, 400, 401, 403, 404, 413, 422, 429, 500, 503, 504, 0];
/// Upper bounds of the time a write took, in microseconds.
const WRITE_BOUNDS_US: [u64; 12] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
    30_000_000,
];
/// Upper bounds of the lines of a batch.
const BATCH_BOUNDS: [u64; 9] = [1, 10, 50, 100, 500, 1_000, 2_500, 5_000, 10_000];

/// Counters of everything; threads add to them as they go.
#[derive(Debug, Default)]
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
    write: Buckets<{ WRITE_BOUNDS_US.len() }>,
    batch: Buckets<{ BATCH_BOUNDS.len() }>,
    pub(crate) commits: AtomicU64,
    pub(crate) commit_failures: AtomicU64,
    pub(crate) rebalances: AtomicU64,
    lags: Mutex<BTreeMap<(Arc<str>, i32), i64>>,
}

#[derive(Debug)]
struct Buckets<const N: usize> {
    buckets: [AtomicU64; N],
    count: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Default for Buckets<N> {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| AtomicU64::default()),
            count: AtomicU64::default(),
            sum: AtomicU64::default(),
        }
    }
}

impl<const N: usize> Buckets<N> {
    fn note(&self, value: u64, bounds: &[u64; N]) {
        if let Some(at) = bounds.iter().position(|bound| value <= *bound) {
            add(&self.buckets[at], 1);
        }
        add(&self.count, 1);
        add(&self.sum, value);
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

    pub(crate) fn answered(&self, status: u16, took: Duration) {
        let at = STATUSES.iter().position(|known| *known == status);
        add(&self.answers[at.unwrap_or(STATUSES.len() - 1)], 1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.write.note(micros, &WRITE_BOUNDS_US);
    }

    /// Lines that the database has; `sent` is what their bytes were on the wire.
    pub(crate) fn written(&self, bytes: usize, sent: usize, count: usize) {
        add(&self.lines_written, count as u64);
        add(&self.bytes_written, bytes as u64);
        add(&self.bytes_sent, sent as u64);
    }

    pub(crate) fn batch_done(&self, batch: &Batch) {
        self.batch.note(batch.lines() as u64, &BATCH_BOUNDS);
    }

    pub(crate) fn put_aside(&self, dead: Dead, lines: usize) {
        add(&self.dead[dead as usize], lines as u64);
    }

    pub(crate) fn retried(&self, retry: Retry) {
        add(&self.retries[retry as usize], 1);
    }

    /// Messages of each of our partitions that are not committed.
    pub(crate) fn set_lags(&self, lags: BTreeMap<(Arc<str>, i32), i64>) {
        *self.lags.lock().unwrap_or_else(PoisonError::into_inner) = lags;
    }

    /// Everything as Prometheus text.
    pub(crate) fn exposition(&self, fill: Fill, is_ready: bool) -> String {
        let mut page = Page(String::with_capacity(8 * 1024));
        self.counters(&mut page);
        self.labelled(&mut page);
        page.gauge(
            "writes_in_flight",
            "Writes under way.",
            load(&self.writing) as f64,
        );
        page.gauge(
            "unwritten_bytes",
            "Bytes of what was read and is not written.",
            fill.bytes as f64,
        );
        page.gauge(
            "unwritten_batches",
            "Batches that wait or are being written.",
            fill.batches as f64,
        );
        page.gauge(
            "oldest_unwritten_seconds",
            "Time since the oldest message was read that is not written; 0 where all are.",
            fill.oldest.as_secs_f64(),
        );
        page.gauge(
            "ready",
            "1 where /readyz says 200, else 0.",
            f64::from(u8::from(is_ready)),
        );
        page.histogram(
            "write_seconds",
            "Time of a write until its answer.",
            &self.write,
            &WRITE_BOUNDS_US,
            1e6,
        );
        page.histogram(
            "batch_records",
            "Lines of a batch.",
            &self.batch,
            &BATCH_BOUNDS,
            1.0,
        );
        page.0
    }

    fn counters(&self, page: &mut Page) {
        let counters = [
            (
                "messages_read_total",
                "Messages read from Kafka.",
                &self.messages_read,
            ),
            (
                "read_bytes_total",
                "Bytes of messages read from Kafka.",
                &self.bytes_read,
            ),
            (
                "records_read_total",
                "Lines read from Kafka that can be written.",
                &self.lines_read,
            ),
            (
                "records_written_total",
                "Lines that the database has taken.",
                &self.lines_written,
            ),
            (
                "written_bytes_total",
                "Bytes of lines that the database has taken.",
                &self.bytes_written,
            ),
            (
                "sent_bytes_total",
                "Bytes of bodies that the database has taken, as sent.",
                &self.bytes_sent,
            ),
            (
                "commits_total",
                "Commits that Kafka has confirmed.",
                &self.commits,
            ),
            (
                "commit_failures_total",
                "Commits that failed.",
                &self.commit_failures,
            ),
            (
                "rebalances_total",
                "Times that partitions were given or taken.",
                &self.rebalances,
            ),
        ];
        for (name, help, counter) in counters {
            page.head(name, "counter", help);
            page.line(name, "", load(counter));
        }
    }

    fn labelled(&self, page: &mut Page) {
        let families = [
            (
                "records_dead_total",
                "Lines put into the dead-letter topic.",
                "reason",
                DEAD,
                &self.dead,
            ),
            (
                "retries_total",
                "What was tried again.",
                "of",
                RETRIES,
                &self.retries,
            ),
        ];
        for (name, help, label, values, counters) in families {
            page.head(name, "counter", help);
            for (value, counter) in values.iter().zip(counters) {
                page.line(name, &format!("{{{label}=\"{value}\"}}"), load(counter));
            }
        }
        page.head(
            "answers_total",
            "counter",
            "Answers of the database, by status; 0 is any other.",
        );
        for (status, counter) in STATUSES.iter().zip(&self.answers) {
            page.line(
                "answers_total",
                &format!("{{status=\"{status}\"}}"),
                load(counter),
            );
        }
        page.head(
            "lag_messages",
            "gauge",
            "Messages of our partitions that are not committed.",
        );
        let lags = self.lags.lock().unwrap_or_else(PoisonError::into_inner);
        for ((topic, partition), lag) in lags.iter() {
            let labels = format!("{{topic=\"{topic}\",partition=\"{partition}\"}}");
            page.line("lag_messages", &labels, lag);
        }
    }
}

/// A page as it grows.
struct Page(String);

impl Page {
    // Writing to a String cannot fail.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(
            self.0,
            "# HELP waggle_sink_{name} {help}\n# TYPE waggle_sink_{name} {kind}"
        );
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "waggle_sink_{name}{labels} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "gauge", help);
        self.line(name, "", value);
    }

    fn histogram<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        of: &Buckets<N>,
        bounds: &[u64; N],
        per_unit: f64,
    ) {
        self.head(name, "histogram", help);
        let mut below = 0;
        for (bucket, bound) in of.buckets.iter().zip(bounds) {
            below += load(bucket);
            let bound = *bound as f64 / per_unit;
            self.line(
                &format!("{name}_bucket"),
                &format!("{{le=\"{bound}\"}}"),
                below,
            );
        }
        // More may have been noted since the buckets were read.
        let count = load(&of.count).max(below);
        self.line(&format!("{name}_bucket"), "{le=\"+Inf\"}", count);
        self.line(&format!("{name}_sum"), "", load(&of.sum) as f64 / per_unit);
        self.line(&format!("{name}_count"), "", count);
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
