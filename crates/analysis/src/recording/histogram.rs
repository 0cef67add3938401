//! Percentiles and spectra out of merged histograms. Percentiles are never averaged within a trial.

use hdrhistogram::Histogram;
use waggle_metrics::Statistic;
use waggle_results::{FailureCount, FailureKind, HistogramLog, PhaseName, QuantilesInfo, Trial};
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

/// One trial's percentiles over the measured phase. `None`: imported results lack it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPercentiles {
    pub count: u64,
    pub p50: Option<TrialPercentile>,
    pub p90: Option<TrialPercentile>,
    pub p95: Option<TrialPercentile>,
    pub p99: Option<TrialPercentile>,
    pub p999: Option<TrialPercentile>,
    pub p9999: Option<TrialPercentile>,
    pub max: Option<TrialPercentile>,
    pub mean_us: Option<f64>,
}

impl TrialPercentiles {
    /// One of them in µs, by its name in the catalogue.
    #[must_use]
    pub fn statistic(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Mean => self.mean_us,
            _ => self.percentile(statistic).map(|percentile| percentile.us),
        }
    }

    /// The same if each value is so much later.
    pub(crate) fn later_percentiles(mut self, by_us: f64) -> Self {
        for (_, percentile) in self.all_mut() {
            percentile.us += by_us;
        }
        self.mean_us = self.mean_us.map(|us| us + by_us);
        self
    }

    /// The same if the values are those of a sample that was drawn in windows; `None`: it is not known in how many.
    pub(crate) fn in_windows(mut self, windows: Option<u64>) -> Self {
        for (quantile, percentile) in self.all_mut() {
            percentile.thin = waggle_stats::thin_tail_of_windows(windows, quantile);
        }
        self
    }

    /// Those that are known, with their quantiles.
    fn all_mut(&mut self) -> impl Iterator<Item = (f64, &mut TrialPercentile)> {
        let all = [
            (0.5, &mut self.p50),
            (0.9, &mut self.p90),
            (0.95, &mut self.p95),
            (0.99, &mut self.p99),
            (0.999, &mut self.p999),
            (0.9999, &mut self.p9999),
            (1.0, &mut self.max),
        ];
        let all = all.into_iter();
        all.filter_map(|(quantile, percentile)| Some((quantile, percentile.as_mut()?)))
    }

    /// The same with whether it may be relied on; `None` of the mean, which is no percentile.
    pub(crate) fn percentile(&self, statistic: Statistic) -> Option<&TrialPercentile> {
        match statistic {
            Statistic::P50 => self.p50.as_ref(),
            Statistic::P90 => self.p90.as_ref(),
            Statistic::P95 => self.p95.as_ref(),
            Statistic::P99 => self.p99.as_ref(),
            Statistic::P999 => self.p999.as_ref(),
            Statistic::P9999 => self.p9999.as_ref(),
            Statistic::Max => self.max.as_ref(),
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
    let value = |quantile: f64| Some(as_f64(histogram.value_at_quantile(quantile)));
    let count = histogram.len();
    (count > 0).then(|| percentiles(count, value, Some(histogram.mean())))
}

/// The percentiles of `count` requests of which only some quantiles are known.
pub(crate) fn of_quantiles(quantiles: &QuantilesInfo, count: u64) -> TrialPercentiles {
    let value = |quantile: f64| {
        let mut points = quantiles.points.iter();
        let point = points.find(|point| (point.quantile - quantile).abs() < EXACT)?;
        Some(point.us)
    };
    percentiles(count, value, quantiles.mean_us)
}

/// Percentiles of `count` requests that are computed for each quantile.
pub(crate) fn of_values(
    count: u64,
    value: impl Fn(f64) -> f64,
    mean_us: Option<f64>,
) -> TrialPercentiles {
    percentiles(count, |quantile| Some(value(quantile)), mean_us)
}

/// The percentiles of `count` requests, from their values in microseconds; the maximum is the quantile 1.
pub(crate) fn percentiles(
    count: u64,
    value: impl Fn(f64) -> Option<f64>,
    mean_us: Option<f64>,
) -> TrialPercentiles {
    let percentile = |quantile: f64| {
        Some(TrialPercentile {
            us: value(quantile)?,
            thin: match quantile < 1.0 {
                true => waggle_stats::thin_tail(count, quantile),
                false => None,
            },
        })
    };
    TrialPercentiles {
        count,
        p50: percentile(0.5),
        p90: percentile(0.9),
        p95: percentile(0.95),
        p99: percentile(0.99),
        p999: percentile(0.999),
        p9999: percentile(0.9999),
        max: percentile(1.0),
        mean_us,
    }
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
