//! What the gateway counts about itself, and how Prometheus reads it. Each worker has its own counters.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The calls told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Call {
    PutRecords,
    ReadRecords,
    Last,
    Query,
    Documentation,
    Operators,
    Other,
}

const CALLS: [&str; 7] = [
    "put_records",
    "read_records",
    "last",
    "query",
    "documentation",
    "operators",
    "other",
];
const STATUSES: [u16; 22] = [
    200, 204, 400, 403, 404, 405, 408, 413, 414, 415, 417, 422, 429, 431, 500, 501, 502, 503, 504,
    505, 507, 0,
];

/// One worker's counters.
#[derive(Debug, Default)]
pub(crate) struct WorkerMetrics {
    requests: [[AtomicU64; STATUSES.len()]; CALLS.len()],
    pub(crate) records: AtomicU64,
    pub(crate) body_bytes: AtomicU64,
}

impl WorkerMetrics {
    pub(crate) fn answered(&self, call: Call, status: u16) {
        let at = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(STATUSES.len() - 1);
        add(&self.requests[call as usize][at], 1);
    }
}

/// Only the counter's own worker adds to it, so a plain load and store is enough and costs no locked instruction.
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}

/// Upper bounds of the batch size histogram, in records.
const BATCH_BOUNDS: [u64; 8] = [1, 4, 16, 64, 256, 1024, 4096, 16384];
/// Upper bounds of the commit time histogram, in microseconds.
const COMMIT_BOUNDS_US: [u64; 10] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 250_000, 1_000_000,
];

/// What the committer counts.
#[derive(Debug, Default)]
pub(crate) struct CommitMetrics {
    commits: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
    micros: AtomicU64,
    batch: [AtomicU64; BATCH_BOUNDS.len()],
    commit: [AtomicU64; COMMIT_BOUNDS_US.len()],
    pub(crate) failures: AtomicU64,
}

impl CommitMetrics {
    pub(crate) fn note(&self, records: usize, bytes: usize, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        add(&self.commits, 1);
        add(&self.records, records as u64);
        add(&self.bytes, bytes as u64);
        add(&self.micros, micros);
        if let Some(at) = BATCH_BOUNDS
            .iter()
            .position(|bound| records as u64 <= *bound)
        {
            add(&self.batch[at], 1);
        }
        if let Some(at) = COMMIT_BOUNDS_US.iter().position(|bound| micros <= *bound) {
            add(&self.commit[at], 1);
        }
    }

    pub(crate) fn write(&self, page: &mut String) {
        write_singles(
            page,
            &[
                counter(
                    "stored_records_total",
                    "Records made durable.",
                    load(&self.records),
                ),
                counter(
                    "stored_bytes_total",
                    "Bytes of records made durable.",
                    load(&self.bytes),
                ),
                counter(
                    "commit_failures_total",
                    "Commits that failed.",
                    load(&self.failures),
                ),
            ],
        );
        let count = load(&self.commits);
        let batches = Histogram {
            name: "waggle_gateway_batch_records",
            help: "Records in a commit.",
            buckets: &self.batch,
            bounds: &BATCH_BOUNDS,
            per_unit: 1.0,
            sum: load(&self.records),
        };
        batches.write(page, count);
        let times = Histogram {
            name: "waggle_gateway_commit_seconds",
            help: "Time a commit took, sync included.",
            buckets: &self.commit,
            bounds: &COMMIT_BOUNDS_US,
            per_unit: 1e6,
            sum: load(&self.micros),
        };
        times.write(page, count);
    }
}

/// What all workers share.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    /// Bytes of bodies received or announced and not yet answered.
    pub(crate) in_flight_bytes: AtomicUsize,
    /// Bytes of answers to reads and queries that clients have not taken, or may become such.
    pub(crate) answer_bytes: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    pub(crate) connections_refused: AtomicU64,
    /// Records that reads gave and queries looked at.
    pub(crate) records_read: AtomicU64,
    pub(crate) records_looked_at: AtomicU64,
}

pub(crate) fn write_singles(page: &mut String, singles: &[Single]) {
    for (name, kind, help, value) in singles {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "# HELP waggle_gateway_{name} {help}\n# TYPE waggle_gateway_{name} {kind}\nwaggle_gateway_{name} {value}"
        );
    }
}

/// Name without its prefix, kind, help, value.
pub(crate) type Single = (&'static str, &'static str, &'static str, u64);

pub(crate) fn singles(workers: &[Arc<WorkerMetrics>], gauges: &Gauges) -> [Single; 8] {
    let sum = |pick: fn(&WorkerMetrics) -> &AtomicU64| {
        workers.iter().map(|worker| load(pick(worker))).sum::<u64>()
    };
    let (records, body_bytes) = (
        sum(|worker| &worker.records),
        sum(|worker| &worker.body_bytes),
    );
    let in_flight = gauges.in_flight_bytes.load(Ordering::Relaxed) as u64;
    let answers = gauges.answer_bytes.load(Ordering::Relaxed) as u64;
    let connections = gauges.connections.load(Ordering::Relaxed) as u64;
    let refused = load(&gauges.connections_refused);
    let (read, looked_at) = (load(&gauges.records_read), load(&gauges.records_looked_at));
    [
        counter(
            "records_accepted_total",
            "Records answered with 204.",
            records,
        ),
        counter(
            "body_bytes_total",
            "Bytes of bodies with records.",
            body_bytes,
        ),
        counter("records_read_total", "Records given to readers.", read),
        counter(
            "records_looked_at_total",
            "Records that queries looked at.",
            looked_at,
        ),
        gauge(
            "in_flight_bytes",
            "Bytes of bodies not yet answered.",
            in_flight,
        ),
        gauge(
            "answer_bytes",
            "Bytes of answers to reads and queries not yet taken, or reserved for one.",
            answers,
        ),
        gauge("connections", "Open connections.", connections),
        counter(
            "connections_refused_total",
            "Connections over the limit.",
            refused,
        ),
    ]
}

pub(crate) fn counter(name: &'static str, help: &'static str, value: u64) -> Single {
    (name, "counter", help, value)
}

pub(crate) fn gauge(name: &'static str, help: &'static str, value: u64) -> Single {
    (name, "gauge", help, value)
}

pub(crate) fn requests(page: &mut String, workers: &[Arc<WorkerMetrics>]) {
    let name = "waggle_gateway_requests_total";
    let _ = writeln!(
        page,
        "# HELP {name} Requests answered, by call and status.\n# TYPE {name} counter"
    );
    for (call, call_name) in CALLS.iter().enumerate() {
        for (at, status) in STATUSES.iter().enumerate() {
            let count: u64 = workers
                .iter()
                .map(|worker| load(&worker.requests[call][at]))
                .sum();
            if count > 0 {
                let status = if *status == 0 {
                    "other".to_owned()
                } else {
                    status.to_string()
                };
                let _ = writeln!(
                    page,
                    "{name}{{call=\"{call_name}\",status=\"{status}\"}} {count}"
                );
            }
        }
    }
}

pub(crate) struct Histogram<'a> {
    pub(crate) name: &'a str,
    pub(crate) help: &'a str,
    pub(crate) buckets: &'a [AtomicU64],
    pub(crate) bounds: &'a [u64],
    /// How many units of bounds and sum make one of the unit shown.
    pub(crate) per_unit: f64,
    pub(crate) sum: u64,
}

impl Histogram<'_> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "sums beyond 2^53 µs or records may lose their last digits on this page"
    )]
    pub(crate) fn write(&self, page: &mut String, count: u64) {
        let Self { name, help, .. } = self;
        let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut below = 0;
        for (bucket, bound) in self.buckets.iter().zip(self.bounds) {
            below += load(bucket);
            let bound = *bound as f64 / self.per_unit;
            let _ = writeln!(page, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        // The committer may have noted more since the count was taken.
        let count = count.max(below);
        let sum = self.sum as f64 / self.per_unit;
        let _ = writeln!(page, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(page, "{name}_sum {sum}\n{name}_count {count}");
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
