//! The metrics page in the OpenMetrics text format. Servers count in their own atomics, which costs their hot paths next to
//! nothing; a page is made of the counters when it is requested. `waggle run` makes it of the sums of its intervals.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use prometheus_client::{
    encoding::{EncodeGaugeValue, EncodeMetric, MetricEncoder, NoLabelSet, text},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};

/// The type of the page, for `Content-Type`.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Names and values of the labels of a series.
pub type Labels = Vec<(&'static str, String)>;

/// A metrics page.
#[derive(Debug)]
pub struct Page(Registry);

impl Page {
    /// An empty page; all names on it begin with the prefix and an underscore.
    pub fn new(prefix: &'static str) -> Self {
        Self(Registry::with_prefix(prefix))
    }

    /// An empty page of complete names.
    pub fn without_prefix() -> Self {
        Self(Registry::default())
    }

    /// A counter; its name ends in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.0.register(base(name), help, ConstCounter::new(value));
    }

    /// A counter with a series for each set of labels.
    pub fn counters(
        &mut self,
        name: &'static str,
        help: &'static str,
        series: impl IntoIterator<Item = (Labels, u64)>,
    ) {
        let series = series.into_iter().collect();
        self.0.register(base(name), help, Counters(series));
    }

    /// A gauge.
    pub fn gauge<T>(&mut self, name: &'static str, help: &'static str, value: T)
    where
        T: EncodeGaugeValue + fmt::Debug + Send + Sync + 'static,
    {
        self.0.register(name, help, ConstGauge::new(value));
    }

    /// A gauge with a series for each set of labels.
    pub fn gauges(
        &mut self,
        name: &'static str,
        help: &'static str,
        series: impl IntoIterator<Item = (Labels, i64)>,
    ) {
        let series = series.into_iter().collect();
        self.0.register(name, help, Gauges(series));
    }

    /// A histogram.
    pub fn histogram<const N: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        histogram: &Histogram<N>,
    ) {
        self.0.register(name, help, histogram.snapshot());
    }

    /// A histogram with a series for each set of labels.
    pub fn histograms(
        &mut self,
        name: &'static str,
        help: &'static str,
        series: impl IntoIterator<Item = (Labels, Buckets)>,
    ) {
        let series = series.into_iter().collect();
        self.0.register(name, help, Histograms(series));
    }

    /// The complete page.
    pub fn into_text(self) -> String {
        let mut page = String::with_capacity(8 * 1024);
        text::encode(&mut page, &self.0).expect("writing to a String cannot fail");
        page
    }
}

/// The name of a counter without the suffix that the format adds.
fn base(name: &'static str) -> &'static str {
    name.strip_suffix("_total").unwrap_or(name)
}

/// A histogram that several threads add to.
#[derive(Debug)]
pub struct Histogram<const N: usize> {
    /// Upper bounds, ascending.
    bounds: &'static [u64; N],
    /// Units of bounds and values per unit on the page.
    per_unit: f64,
    buckets: [AtomicU64; N],
    above: AtomicU64,
    sum: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    /// An empty histogram with these ascending upper bounds; `per_unit` of their units make one on the page.
    pub fn new(bounds: &'static [u64; N], per_unit: f64) -> Self {
        Self {
            bounds,
            per_unit,
            buckets: std::array::from_fn(|_| AtomicU64::default()),
            above: AtomicU64::default(),
            sum: AtomicU64::default(),
        }
    }

    /// Counts a value.
    pub fn note(&self, value: u64) {
        let bucket = self.bounds.iter().position(|bound| value <= *bound);
        let bucket = bucket.map_or(&self.above, |index| &self.buckets[index]);
        bucket.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "sums beyond 2^53 may lose their last digits on a page"
    )]
    fn snapshot(&self) -> Buckets {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let bounds = self
            .bounds
            .iter()
            .map(|bound| *bound as f64 / self.per_unit);
        let mut buckets: Vec<(f64, u64)> = bounds.zip(self.buckets.iter().map(load)).collect();
        buckets.push((f64::INFINITY, load(&self.above)));
        Buckets {
            sum: load(&self.sum) as f64 / self.per_unit,
            buckets,
        }
    }
}

#[derive(Debug)]
struct Counters(Vec<(Labels, u64)>);

impl EncodeMetric for Counters {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, value) in &self.0 {
            let mut series = encoder.encode_family(labels)?;
            series.encode_counter::<NoLabelSet, _, u64>(value, None)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

#[derive(Debug)]
struct Gauges(Vec<(Labels, i64)>);

impl EncodeMetric for Gauges {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, value) in &self.0 {
            encoder.encode_family(labels)?.encode_gauge(value)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// A snapshot of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    pub sum: f64,
    /// Upper bounds, the last one infinite, each with its number of values above the previous bound.
    pub buckets: Vec<(f64, u64)>,
}

#[derive(Debug)]
struct Histograms(Vec<(Labels, Buckets)>);

impl EncodeMetric for Histograms {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, histogram) in &self.0 {
            histogram.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

impl EncodeMetric for Buckets {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let count = self.buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(self.sum, count, &self.buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_openmetrics_text() {
        let mut page = Page::new("waggle_test");
        page.counter("requests_total", "Requests", 3);
        page.gauge("ready", "1 if it is ready", 1_u64);
        page.gauge("oldest_seconds", "Age", 0.25);
        let by = |reason: &str, value| (vec![("reason", reason.to_owned())], value);
        page.counters("failed_total", "Failed", [by("away", 2), by("a\"b", 0)]);
        page.gauges(
            "lag",
            "Behind",
            [(
                vec![("topic", "t".to_owned()), ("partition", "0".to_owned())],
                -1,
            )],
        );
        static BOUNDS_US: [u64; 2] = [250, 1_000_000];
        let histogram = Histogram::new(&BOUNDS_US, 1e6);
        for micros in [250, 251, 500_000, 2_000_000] {
            histogram.note(micros);
        }
        page.histogram("write_seconds", "Times", &histogram);
        assert_eq!(
            page.into_text(),
            r#"# HELP waggle_test_requests Requests.
# TYPE waggle_test_requests counter
waggle_test_requests_total 3
# HELP waggle_test_ready 1 if it is ready.
# TYPE waggle_test_ready gauge
waggle_test_ready 1
# HELP waggle_test_oldest_seconds Age.
# TYPE waggle_test_oldest_seconds gauge
waggle_test_oldest_seconds 0.25
# HELP waggle_test_failed Failed.
# TYPE waggle_test_failed counter
waggle_test_failed_total{reason="away"} 2
waggle_test_failed_total{reason="a\"b"} 0
# HELP waggle_test_lag Behind.
# TYPE waggle_test_lag gauge
waggle_test_lag{topic="t",partition="0"} -1
# HELP waggle_test_write_seconds Times.
# TYPE waggle_test_write_seconds histogram
waggle_test_write_seconds_sum 2.500501
waggle_test_write_seconds_count 4
waggle_test_write_seconds_bucket{le="0.00025"} 1
waggle_test_write_seconds_bucket{le="1.0"} 3
waggle_test_write_seconds_bucket{le="+Inf"} 4
# EOF
"#
        );
    }

    #[test]
    fn histograms_have_labels_and_complete_names() {
        let mut page = Page::without_prefix();
        let buckets = vec![(0.5, 2), (f64::INFINITY, 1)];
        let series = (
            vec![("cell", "1".to_owned())],
            Buckets { sum: 3.5, buckets },
        );
        page.histograms("wait_seconds", "Waits", [series]);
        assert_eq!(
            page.into_text(),
            r#"# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_sum{cell="1"} 3.5
wait_seconds_count{cell="1"} 3
wait_seconds_bucket{le="0.5",cell="1"} 2
wait_seconds_bucket{le="+Inf",cell="1"} 3
# EOF
"#
        );
    }
}
