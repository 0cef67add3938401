//! The quantiles of a load that has no histograms of its own on disk.

use hdrhistogram::Histogram;
use waggle_results::{QuantilePoint, QuantilesInfo};

/// As many as a spectrum shows.
const QUANTILES_PER_DECADE: i32 = 12;
const DECADES: i32 = 5;

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
    all.dedup_by(|one, other| (*one - *other).abs() < 1e-9);
    let point = |quantile: f64| QuantilePoint {
        quantile,
        us: crate::counts::as_f64(times.value_at_quantile(quantile)),
    };
    let points = all.into_iter().chain([1.0]).map(point);
    Some(QuantilesInfo {
        mean_us: Some(times.mean()),
        points: points.collect(),
    })
}
