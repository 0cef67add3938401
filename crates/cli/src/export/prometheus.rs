//! Families of metrics as a page for Prometheus. Pure.

use waggle_service::metrics::{Buckets as PageBuckets, Labels as PageLabels, Page};

use super::{
    buckets::{Buckets, bounds_s, seconds},
    catalogue::{Family, Labels, Series},
};

/// The page, in the OpenMetrics text format.
pub(super) fn page(families: Vec<Family>) -> String {
    let mut page = Page::without_prefix();
    for Family { metric, series } in families {
        let (name, help) = (metric.prometheus, metric.help);
        match series {
            Series::Counter(series) => page.counters(name, help, with_labels(series)),
            Series::Gauge(series) => match &series[..] {
                [(labels, value)] if labels.is_empty() => page.gauge(name, help, *value),
                _ => page.gauges(name, help, with_labels(series)),
            },
            Series::Histogram(series) => {
                let series = with_labels(series);
                page.histograms(
                    name,
                    help,
                    series.map(|(labels, histogram)| (labels, buckets(&histogram))),
                );
            }
        }
    }
    page.into_text()
}

fn with_labels<T>(series: Vec<(Labels, T)>) -> impl Iterator<Item = (PageLabels, T)> {
    series.into_iter().map(|(labels, value)| {
        let labels = labels.into_iter();
        let labels = labels.map(|(label, value)| (label.prometheus, value));
        (labels.collect(), value)
    })
}

fn buckets(histogram: &Buckets) -> PageBuckets {
    let bounds = bounds_s().chain([f64::INFINITY]);
    PageBuckets {
        sum: seconds(histogram.sum_us),
        buckets: bounds.zip(histogram.counts).collect(),
    }
}
