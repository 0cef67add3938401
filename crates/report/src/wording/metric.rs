//! What a chart of a metric is called.

use waggle_analysis::Counted;
use waggle_metrics::Metric;

use super::words;

/// With what it is counted in, where its numbers do not say so.
pub(crate) fn label(metric: Metric, of: Option<&str>, name: &str, counted: Counted) -> String {
    match (metric, of) {
        (Metric::Goodput, None) => format!("{name}, {}/s", words::counted_word(counted)),
        // A step has no records of its own.
        (Metric::Goodput, Some(_)) => {
            format!("{name}, {}/s", words::counted_word(Counted::Requests))
        }
        (Metric::ErrorShare, _) => format!("{name}, share of all answered"),
        _ => name.to_owned(),
    }
}
