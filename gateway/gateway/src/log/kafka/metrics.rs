//! Metrics of the log on Kafka, in Prometheus format.

use std::sync::atomic::{AtomicU64, Ordering};

use waggle_service::metrics::{Histogram, Page};

use super::flight::Flight;
use crate::metrics::micros;

/// Upper bounds of the histogram of acknowledgement times, in microseconds.
static BOUNDS_US: [u64; 12] = [
    250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
];

/// Why records were not made durable.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Failure {
    /// Not acknowledged in time.
    Timeout,
    /// Refused at once while the cluster is unavailable.
    Away,
    /// The queue is full.
    Full,
    /// Refused by the broker or the client.
    Broker,
}

const FAILURES: [&str; 4] = ["timeout", "away", "full", "broker"];

#[derive(Debug)]
pub(crate) struct KafkaMetrics {
    records: AtomicU64,
    bytes: AtomicU64,
    messages: AtomicU64,
    acknowledged: Histogram<{ BOUNDS_US.len() }>,
    failed: [AtomicU64; FAILURES.len()],
}

impl Default for KafkaMetrics {
    fn default() -> Self {
        Self {
            records: AtomicU64::default(),
            bytes: AtomicU64::default(),
            messages: AtomicU64::default(),
            acknowledged: Histogram::new(&BOUNDS_US, 1e6),
            failed: std::array::from_fn(|_| AtomicU64::default()),
        }
    }
}

/// Gauges that are counted elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) batches_in_flight: usize,
    pub(super) records_gathering: usize,
    pub(super) client_queue: usize,
    pub(super) is_away: bool,
}

impl KafkaMetrics {
    /// Notes a completely acknowledged batch.
    pub(super) fn note(&self, flight: &Flight) {
        add(&self.records, flight.records as u64);
        add(&self.bytes, flight.bytes as u64);
        add(&self.messages, u64::from(flight.messages));
        self.acknowledged.note(micros(flight.sent.elapsed()));
    }

    pub(super) fn count_failure(&self, failure: Failure, records: usize) {
        add(&self.failed[failure as usize], records as u64);
    }

    pub(super) fn write(&self, page: &mut Page, now: Now) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        page.counter(
            "stored_records_total",
            "Records of completely acknowledged batches",
            load(&self.records),
        );
        page.counter(
            "stored_bytes_total",
            "Bytes of these records",
            load(&self.bytes),
        );
        page.counter(
            "kafka_messages_total",
            "Messages of these batches",
            load(&self.messages),
        );
        page.gauge(
            "kafka_batches_in_flight",
            "Batches sent and not acknowledged",
            now.batches_in_flight,
        );
        page.gauge(
            "kafka_records_gathering",
            "Records that wait for the next batch",
            now.records_gathering,
        );
        page.gauge(
            "kafka_client_queue",
            "Messages and requests in librdkafka's queue",
            now.client_queue,
        );
        page.gauge(
            "kafka_away",
            "1 while the cluster does not answer",
            u64::from(now.is_away),
        );
        let failed = FAILURES.iter().zip(&self.failed);
        page.counters(
            "kafka_failed_records_total",
            "Records of batches that were refused or not completely acknowledged, by reason",
            failed.map(|(reason, count)| (vec![("reason", (*reason).to_owned())], load(count))),
        );
        page.histogram(
            "kafka_acknowledge_seconds",
            "Time from sending a batch to its last acknowledgement",
            &self.acknowledged,
        );
    }
}

/// Several threads may count.
fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}
