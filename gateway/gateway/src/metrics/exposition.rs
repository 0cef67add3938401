//! The metrics page: counters of the workers, the log and the latest readings.

use std::sync::atomic::Ordering;

use waggle_service::metrics::Page;

use crate::{log::backend::Backend, metrics::write_workers, shared::Shared};

/// All metrics of the gateway.
pub(crate) fn exposition(shared: &Shared) -> String {
    let mut page = Page::new("waggle_gateway");
    write_workers(&mut page, &shared.workers);
    shared.gauges.write(&mut page);
    if let Some(identities) = &shared.gate.identities {
        identities.write_metrics(&mut page);
    }
    if let Some(tls) = &shared.tls {
        tls.write_metrics(&mut page);
    }
    page.counter(
        "clock_set_back_total",
        "How often the times of records without one went back with the clock",
        shared.clock.times_set_back(),
    );
    shared.backend.latest_readings().write_metrics(&mut page);
    match &shared.backend {
        Backend::Embedded(store) => {
            store.metrics.write(&mut page);
            page.counter(
                "reads_stopped_total",
                "Reads and queries of the store that stopped because their client had left",
                store.readers.stop_count(),
            );
            page.gauge(
                "store_is_full",
                "1 if the last write failed because of --store-max-bytes",
                u64::from(store.is_full.load(Ordering::Relaxed)),
            );
        }
        Backend::Kafka(log) => log.write_metrics(&mut page),
    }
    page.into_text()
}
