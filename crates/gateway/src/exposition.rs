//! The page of metrics: what workers, the log and the latest readings count.

use crate::backend::Backend;
use crate::metrics::{requests, singles, write_singles};
use crate::shared::Shared;

/// Everything as Prometheus text.
pub(crate) fn exposition(shared: &Shared) -> String {
    let mut page = String::with_capacity(8 * 1024);
    requests(&mut page, &shared.workers);
    write_singles(&mut page, &singles(&shared.workers, &shared.gauges));
    write_singles(&mut page, &shared.backend.latest().counts());
    match &shared.backend {
        Backend::Embedded(store) => store.metrics.write(&mut page),
        Backend::Kafka(log) => log.write_metrics(&mut page),
    }
    page
}
