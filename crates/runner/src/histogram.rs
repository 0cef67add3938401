//! Histograms of times in microseconds, and their quantiles on disk.

use hdrhistogram::Histogram;
use waggle_results::{QuantilePoint, QuantilesInfo};

use crate::number::as_f64;

const TIME_MAX_US: u64 = 3_600_000_000;
const DIGITS: u8 = 3;
/// As many as a spectrum shows.
const QUANTILES_PER_DECADE: i32 = 12;
const DECADES: i32 = 5;

/// An empty one, with the bounds that all histograms of times have.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, TIME_MAX_US, DIGITS)
        .expect("the bounds are constant and in order")
}

/// The value at a quantile; 0 without a sample.
pub(crate) fn quantile(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    if histogram.is_empty() {
        0.0
    } else {
        as_f64(histogram.value_at_quantile(quantile))
    }
}

/// The quantiles that reports and metrics show, up to the first that is the maximum; `None` without a sample.
pub(crate) fn quantiles(times: &Histogram<u64>) -> Option<QuantilesInfo> {
    if times.is_empty() {
        return None;
    }
    let named = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
    let spectrum = (0..=QUANTILES_PER_DECADE * DECADES)
        .map(|step| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(QUANTILES_PER_DECADE)));
    let mut all: Vec<f64> = named.into_iter().chain(spectrum).collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by(|candidate, other| (*candidate - *other).abs() < 1e-9);
    let point = |quantile: f64| QuantilePoint {
        quantile,
        us: as_f64(times.value_at_quantile(quantile)),
    };
    let points = all.into_iter().chain([1.0]).map(point);
    Some(QuantilesInfo {
        mean_us: Some(times.mean()),
        points: points.collect(),
    })
}
