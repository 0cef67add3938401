//! The label of a metric in a chart.

use waggle_analysis::Counted;
use waggle_metrics::Metric;

use super::labels;

/// With its unit, if its values do not show it.
pub(crate) fn label(metric: Metric, subject: Option<&str>, name: &str, counted: Counted) -> String {
    match (metric, subject) {
        (Metric::Goodput, None) => format!("{name}, {}/s", labels::counted_word(counted)),
        // A step has no records of its own.
        (Metric::Goodput, Some(_)) => {
            format!("{name}, {}/s", labels::counted_word(Counted::Requests))
        }
        _ => name.to_owned(),
    }
}
