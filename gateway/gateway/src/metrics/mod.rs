//! The gateway's own metrics in Prometheus format. Each worker has its own counters.

pub(crate) mod exposition;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use waggle_service::metrics::{Histogram, Page};

/// The calls that are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Call {
    PutRecords,
    /// By a call of InfluxDB.
    WriteInflux,
    ReadRecords,
    Latest,
    Query,
    Documentation,
    Admin,
    Other,
}

const CALLS: [&str; 8] = [
    "put_records",
    "write_influx",
    "read_records",
    "latest",
    "query",
    "documentation",
    "admin",
    "other",
];
const STATUSES: [u16; 24] = [
    200, 204, 400, 401, 403, 404, 405, 408, 413, 414, 415, 417, 421, 422, 429, 431, 500, 501, 502,
    503, 504, 505, 507, 0,
];

/// The major version of HTTP by which a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum HttpVersion {
    One,
    Two,
}

const HTTP_VERSIONS: [&str; 2] = ["1", "2"];

/// Requests by call and status.
type Requests = [[AtomicU64; STATUSES.len()]; CALLS.len()];

/// One worker's counters.
#[derive(Debug, Default)]
pub(crate) struct WorkerMetrics {
    requests: [Requests; HTTP_VERSIONS.len()],
    pub(crate) records: AtomicU64,
    pub(crate) body_bytes: AtomicU64,
}

impl WorkerMetrics {
    pub(crate) fn count_answer(&self, version: HttpVersion, call: Call, status: u16) {
        let index = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(STATUSES.len() - 1);
        add(&self.requests[version as usize][call as usize][index], 1);
    }
}

/// Adds to a counter that one thread alone writes: a plain load and store costs no locked instruction.
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
}

/// Upper bounds of the batch size histogram, in records.
static BATCH_BOUNDS: [u64; 8] = [1, 4, 16, 64, 256, 1024, 4096, 16384];
/// Upper bounds of the commit time histogram, in microseconds.
static COMMIT_BOUNDS_US: [u64; 10] = [
    100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 250_000, 1_000_000,
];

/// Counters of the committer.
#[derive(Debug)]
pub(crate) struct CommitMetrics {
    records: AtomicU64,
    bytes: AtomicU64,
    batch: Histogram<{ BATCH_BOUNDS.len() }>,
    commit: Histogram<{ COMMIT_BOUNDS_US.len() }>,
    pub(crate) failures: AtomicU64,
}

impl Default for CommitMetrics {
    fn default() -> Self {
        Self {
            records: AtomicU64::default(),
            bytes: AtomicU64::default(),
            batch: Histogram::new(&BATCH_BOUNDS, 1.0),
            commit: Histogram::new(&COMMIT_BOUNDS_US, 1e6),
            failures: AtomicU64::default(),
        }
    }
}

impl CommitMetrics {
    pub(crate) fn note(&self, records: usize, bytes: usize, took: Duration) {
        add(&self.records, records as u64);
        add(&self.bytes, bytes as u64);
        self.batch.note(records as u64);
        self.commit.note(micros(took));
    }

    pub(crate) fn write(&self, page: &mut Page) {
        page.counter(
            "stored_records_total",
            "Records made durable",
            load(&self.records),
        );
        page.counter(
            "stored_bytes_total",
            "Bytes of records made durable",
            load(&self.bytes),
        );
        page.counter(
            "commit_failures_total",
            "Commits that failed",
            load(&self.failures),
        );
        page.histogram("batch_records", "Records in a commit", &self.batch);
        page.histogram(
            "commit_seconds",
            "Time of a commit, including the sync",
            &self.commit,
        );
    }
}

/// A time in whole microseconds.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Counters that all workers share.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    /// Bytes of bodies received or announced and not yet answered.
    pub(crate) in_flight_bytes: AtomicUsize,
    /// Bytes of answers to reads and queries that clients have not read yet, or that are reserved for one.
    pub(crate) answer_bytes: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    pub(crate) connections_refused: AtomicU64,
    /// Reads whose clients left before the answer.
    pub(crate) requests_abandoned: AtomicU64,
    /// Records that reads returned, and that queries scanned.
    pub(crate) records_read: AtomicU64,
    pub(crate) records_looked_at: AtomicU64,
}

impl Gauges {
    pub(crate) fn write(&self, page: &mut Page) {
        let now = |gauge: &AtomicUsize| gauge.load(Ordering::Relaxed) as u64;
        page.counter(
            "records_read_total",
            "Records returned by reads",
            load(&self.records_read),
        );
        page.counter(
            "records_looked_at_total",
            "Records scanned by queries",
            load(&self.records_looked_at),
        );
        page.gauge(
            "in_flight_bytes",
            "Bytes of bodies not yet answered",
            now(&self.in_flight_bytes),
        );
        page.gauge(
            "answer_bytes",
            "Bytes of answers to reads and queries not yet read by the client, or reserved for one",
            now(&self.answer_bytes),
        );
        page.gauge("connections", "Open connections", now(&self.connections));
        page.counter(
            "connections_refused_total",
            "Connections refused because of --connections-max",
            load(&self.connections_refused),
        );
        page.counter(
            "requests_abandoned_total",
            "Reads and queries whose client has left before the answer",
            load(&self.requests_abandoned),
        );
    }
}

/// Sums of the workers' counters.
pub(crate) fn write_workers(page: &mut Page, workers: &[Arc<WorkerMetrics>]) {
    let sum = |pick: &dyn Fn(&WorkerMetrics) -> &AtomicU64| {
        workers.iter().map(|worker| load(pick(worker))).sum::<u64>()
    };
    page.counters(
        "requests_total",
        "Requests answered, by call, status and major version of HTTP",
        requests(workers),
    );
    page.counter(
        "records_accepted_total",
        "Records answered with 204",
        sum(&|worker| &worker.records),
    );
    page.counter(
        "body_bytes_total",
        "Bytes of bodies with records",
        sum(&|worker| &worker.body_bytes),
    );
}

/// Counts of requests with their labels.
fn requests(workers: &[Arc<WorkerMetrics>]) -> Vec<(Vec<(&'static str, String)>, u64)> {
    let mut series = Vec::new();
    for (version, http_version) in HTTP_VERSIONS.iter().enumerate() {
        for (call, name) in CALLS.iter().enumerate() {
            for (index, status) in STATUSES.iter().enumerate() {
                let counters = workers
                    .iter()
                    .map(|worker| &worker.requests[version][call][index]);
                let count: u64 = counters.map(load).sum();
                let status = match status {
                    0 => "other".to_owned(),
                    known => known.to_string(),
                };
                if count > 0 {
                    let labels = vec![
                        ("call", (*name).to_owned()),
                        ("status", status),
                        ("http_version", (*http_version).to_owned()),
                    ];
                    series.push((labels, count));
                }
            }
        }
    }
    series
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
