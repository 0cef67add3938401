//! Percentiles and spectra out of merged histograms. Percentiles are never averaged within a trial.

use hdrhistogram::Histogram;
use waggle_metrics::Statistic;
use waggle_results::{FailureCount, FailureKind, HistogramLog, PhaseName, Trial};
use waggle_stats::ThinTail;

/// Points of a spectrum for each factor of ten towards the tail.
const SPECTRUM_STEPS_PER_DECADE: i32 = 12;

/// The spectrum's ticks, which its table shows.
pub const SPECTRUM_TICKS: [(&str, f64); 8] = [
    ("50 %", 0.5),
    ("75 %", 0.75),
    ("90 %", 0.9),
    ("95 %", 0.95),
    ("99 %", 0.99),
    ("99.9 %", 0.999),
    ("99.99 %", 0.9999),
    ("99.999 %", 0.99999),
];

/// Quantiles nearer than this are the same one; no run has samples enough to tell them apart.
const EXACT: f64 = 1e-9;

/// One trial's percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPercentile {
    pub us: f64,
    /// Too few samples lie beyond it to rely on it.
    pub thin: Option<ThinTail>,
}

/// One trial's percentiles over the measured phase.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPercentiles {
    pub count: u64,
    pub p50: TrialPercentile,
    pub p90: TrialPercentile,
    pub p95: TrialPercentile,
    pub p99: TrialPercentile,
    pub p999: TrialPercentile,
    pub p9999: TrialPercentile,
    pub max: TrialPercentile,
    pub mean_us: f64,
}

impl TrialPercentiles {
    /// One of them in µs, by its name in the catalogue.
    #[must_use]
    pub fn statistic(&self, statistic: Statistic) -> f64 {
        self.percentile(statistic)
            .map_or(self.mean_us, |percentile| percentile.us)
    }

    /// The same with whether it may be relied on; `None` of the mean, which is no percentile.
    pub(crate) fn percentile(&self, statistic: Statistic) -> Option<&TrialPercentile> {
        match statistic {
            Statistic::P50 => Some(&self.p50),
            Statistic::P90 => Some(&self.p90),
            Statistic::P95 => Some(&self.p95),
            Statistic::P99 => Some(&self.p99),
            Statistic::P999 => Some(&self.p999),
            Statistic::P9999 => Some(&self.p9999),
            Statistic::Max => Some(&self.max),
            Statistic::Mean => None,
        }
    }
}

/// A point of the percentile spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumPoint {
    /// 0 to below 1.
    pub quantile: f64,
    pub us: f64,
}

/// One that grows to the range it needs.
pub(crate) fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are allowed")
}

/// `None` where there is no sample.
pub(crate) fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!histogram.is_empty()).then(|| as_f64(histogram.value_at_quantile(quantile)))
}

/// The percentiles of one trial; `None` where it has no sample.
pub(crate) fn of_trial(histogram: &Histogram<u64>) -> Option<TrialPercentiles> {
    if histogram.is_empty() {
        return None;
    }
    let at = |quantile: f64| TrialPercentile {
        us: as_f64(histogram.value_at_quantile(quantile)),
        thin: waggle_stats::thin_tail(histogram.len(), quantile),
    };
    Some(TrialPercentiles {
        count: histogram.len(),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        p9999: at(0.9999),
        max: TrialPercentile {
            us: as_f64(histogram.max()),
            thin: None,
        },
        mean_us: histogram.mean(),
    })
}

/// The same of what may not have been noted.
pub(crate) fn of_some(histogram: &Option<Histogram<u64>>) -> Option<TrialPercentiles> {
    histogram.as_ref().and_then(of_trial)
}

/// The spectrum of the measured phases of several trials together, each with its log; none where they have no sample.
pub(crate) fn spectrum_of<'a>(
    logs: impl Iterator<Item = (&'a Trial, &'a HistogramLog)>,
) -> Vec<SpectrumPoint> {
    let mut sum = empty();
    for (trial, log) in logs {
        if let Some(measure) = trial.info.phase(PhaseName::Measure) {
            log.add_to(&mut sum, measure.start_s, measure.end_s);
        }
    }
    match sum.is_empty() {
        true => Vec::new(),
        false => spectrum(&sum),
    }
}

/// The spectrum up to the last quantile that one sample can stand for: even steps on the tail's log scale, and every
/// one of [`SPECTRUM_TICKS`] exactly.
fn spectrum(histogram: &Histogram<u64>) -> Vec<SpectrumPoint> {
    let samples = as_f64(histogram.len());
    let steps =
        (1..).map(|step| 1.0 - 10f64.powf(-f64::from(step) / f64::from(SPECTRUM_STEPS_PER_DECADE)));
    let reached = |quantile: &f64| samples * (1.0 - quantile) >= 1.0 - EXACT;
    let mut quantiles: Vec<f64> = steps.take_while(reached).collect();
    quantiles.extend(
        SPECTRUM_TICKS
            .iter()
            .map(|(_, quantile)| *quantile)
            .filter(reached),
    );
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup_by(|a, b| (*a - *b).abs() < EXACT);
    let point = |quantile| SpectrumPoint {
        quantile,
        us: as_f64(histogram.value_at_quantile(quantile)),
    };
    let mut points = vec![SpectrumPoint {
        quantile: 0.0,
        us: as_f64(histogram.min()),
    }];
    points.extend(quantiles.into_iter().map(point));
    points.push(SpectrumPoint {
        quantile: 1.0 - 1.0 / samples,
        us: as_f64(histogram.max()),
    });
    points
}

/// Failures added up by kind, the most frequent first.
pub(crate) fn by_kind<'a>(
    failures: impl Iterator<Item = &'a FailureCount>,
) -> Vec<(FailureKind, u64)> {
    let mut kinds: Vec<(FailureKind, u64)> = Vec::new();
    for failure in failures {
        match kinds.iter_mut().find(|(kind, _)| *kind == failure.kind) {
            Some((_, count)) => *count += failure.count,
            None => kinds.push((failure.kind, failure.count)),
        }
    }
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    kinds
}

/// Counts and microseconds stay far below 2⁵³, where every integer is exact.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and microseconds stay far below 2^53"
)]
pub fn as_f64(value: u64) -> f64 {
    value as f64
}
