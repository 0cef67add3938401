//! State that all threads share: the log, the settings, and counters over all connections.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    ingest::UniqueClock,
    log::backend::Backend,
    metrics::{Gauges, WorkerMetrics},
    queries::database::Database,
    settings::Settings,
};

/// State that all threads share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) backend: Backend,
    /// Answers the queries that the log itself cannot answer.
    pub(crate) database: Option<Database>,
    pub(crate) clock: UniqueClock,
    pub(crate) gauges: Gauges,
    pub(crate) workers: Vec<Arc<WorkerMetrics>>,
    pub(crate) draining: AtomicBool,
}

impl Shared {
    /// Counts bytes of bodies as in flight, if there is room for them.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let in_flight = &self.gauges.in_flight_bytes;
        let before = in_flight.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= self.settings.in_flight_max_bytes;
        if !fits {
            in_flight.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    pub(crate) fn release(&self, bytes: usize) {
        if bytes > 0 {
            self.gauges
                .in_flight_bytes
                .fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn connection_ended(&self) {
        self.gauges.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
