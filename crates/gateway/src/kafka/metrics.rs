//! What is counted of the way to Kafka, and how Prometheus reads it.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::flight::Flight;

/// Upper bounds of the histogram of acknowledgement times, in microseconds.
const BOUNDS_US: [u64; 12] = [
    250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
];

/// Why records were not made durable.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(crate) enum Failure {
    /// Not acknowledged in time.
    Timeout,
    /// Refused at once while the cluster is away.
    Away,
    /// More wait than may.
    Full,
    /// The broker or the client said no.
    Broker,
}

const FAILURES: [&str; 4] = ["timeout", "away", "full", "broker"];

#[derive(Debug, Default)]
pub(crate) struct KafkaMetrics {
    records: AtomicU64,
    bytes: AtomicU64,
    messages: AtomicU64,
    batches: AtomicU64,
    micros: AtomicU64,
    acknowledged: [AtomicU64; BOUNDS_US.len()],
    failed: [AtomicU64; FAILURES.len()],
}

/// What is counted elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) batches_in_flight: usize,
    pub(super) records_gathering: usize,
    pub(super) client_queue: usize,
    pub(super) is_away: bool,
}

impl KafkaMetrics {
    /// A batch was acknowledged whole.
    pub(super) fn note(&self, flight: &Flight) {
        let took = flight.sent.elapsed();
        let micros = micros(took);
        add(&self.records, flight.records as u64);
        add(&self.bytes, flight.bytes as u64);
        add(&self.messages, u64::from(flight.messages));
        add(&self.batches, 1);
        add(&self.micros, micros);
        if let Some(at) = BOUNDS_US.iter().position(|bound| micros <= *bound) {
            add(&self.acknowledged[at], 1);
        }
    }

    pub(super) fn failed(&self, failure: Failure, records: usize) {
        add(&self.failed[failure as usize], records as u64);
    }

    pub(super) fn write(&self, page: &mut String, now: Now) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let singles = [
            (
                "stored_records_total",
                "counter",
                "Records of batches acknowledged whole.",
                load(&self.records),
            ),
            (
                "stored_bytes_total",
                "counter",
                "Bytes of these records.",
                load(&self.bytes),
            ),
            (
                "kafka_messages_total",
                "counter",
                "Messages of these batches.",
                load(&self.messages),
            ),
            (
                "kafka_batches_in_flight",
                "gauge",
                "Batches sent and not acknowledged.",
                now.batches_in_flight as u64,
            ),
            (
                "kafka_records_gathering",
                "gauge",
                "Records that wait for the next batch.",
                now.records_gathering as u64,
            ),
            (
                "kafka_client_queue",
                "gauge",
                "Messages and requests in librdkafka's queue.",
                now.client_queue as u64,
            ),
            (
                "kafka_away",
                "gauge",
                "1 while the cluster does not answer.",
                u64::from(now.is_away),
            ),
        ];
        crate::metrics::write_singles(page, &singles);
        let name = "waggle_gateway_kafka_failed_records_total";
        let _ = writeln!(
            page,
            "# HELP {name} Records of batches that were not acknowledged whole, or not taken in, by reason.\n# TYPE {name} counter"
        );
        for (reason, count) in FAILURES.iter().zip(&self.failed) {
            let _ = writeln!(page, "{name}{{reason=\"{reason}\"}} {}", load(count));
        }
        crate::metrics::Histogram {
            name: "waggle_gateway_kafka_acknowledge_seconds",
            help: "Time from sending a batch to its last acknowledgement.",
            buckets: &self.acknowledged,
            bounds: &BOUNDS_US,
            per_unit: 1e6,
            sum: load(&self.micros),
        }
        .write(page, load(&self.batches));
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Several threads may count.
fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}
