//! State that all threads share: the log, the settings, and counters over all connections.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    clients::client::Clients,
    clients::identity::Gate,
    ingest::UniqueClock,
    log::backend::Backend,
    metrics::{Gauges, WorkerMetrics},
    queries::database::Database,
    settings::Settings,
    tls::Tls,
};

/// Bodies up to this size have room that larger ones cannot take.
const SMALL_BODY_BYTES: usize = 64 * 1024;

/// State that all threads share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) backend: Backend,
    /// Answers the queries that the log itself cannot answer.
    pub(crate) database: Option<Database>,
    pub(crate) clients: Clients,
    pub(crate) gate: Arc<Gate>,
    /// `None` if connections are plain.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) clock: UniqueClock,
    pub(crate) gauges: Gauges,
    pub(crate) workers: Vec<Arc<WorkerMetrics>>,
    pub(crate) draining: AtomicBool,
}

impl Shared {
    /// Counts further bytes of a body as in flight, if there is room for them. `length` is that of the body with them.
    pub(crate) fn reserve(&self, bytes: usize, length: usize) -> bool {
        let in_flight = &self.gauges.in_flight_bytes;
        let before = in_flight.fetch_add(bytes, Ordering::Relaxed);
        let max = self.settings.in_flight_max_bytes;
        let kept_for_small = if length > SMALL_BODY_BYTES {
            max / 4
        } else {
            0
        };
        let fits = before + bytes <= max - kept_for_small;
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
}
