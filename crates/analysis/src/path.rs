//! Which metric a path of a study or of a load names.

use waggle_metrics::{Metric, resolve_in_load};

/// `None`: there is no such metric.
pub(crate) fn metric(path: &[String]) -> Option<Metric> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    resolve_in_load(&parts).map(|named| named.row.metric)
}
