//! Percentiles over the trials of a cell. They are never averaged within a trial; over trials each trial's percentile is one
//! observation.

use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_results::LagInfo;
use waggle_spec::TimeKind;
use waggle_stats::{Estimate, ThinTail};

use crate::{
    metric::{aggregate, trial_value},
    trial::trial_model::TrialModel,
};

/// A cell's percentile over its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentile {
    /// µs; `None` where no counted trial has a sample.
    pub estimate: Option<Estimate>,
    /// Too few samples lie beyond it to rely on it.
    pub thin: Option<ThinTail>,
    /// How late the generator was at the same percentile, in µs, in the trial where it was latest, if that is so large a part of the
    /// value that the system's own is not resolved.
    pub lag_us: Option<f64>,
}

/// From this share of a percentile on the lag at the same percentile hides the system's own value.
const LAG_HIDES_FROM: f64 = 0.1;

/// A cell's percentiles, each an estimate over trials, in µs.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub p50: Percentile,
    pub p90: Percentile,
    pub p95: Percentile,
    pub p99: Percentile,
    pub p999: Percentile,
    pub p9999: Percentile,
    pub max: Percentile,
    pub mean: Option<Estimate>,
}

impl Distribution {
    /// `None` of the mean, which is no percentile.
    #[must_use]
    pub fn percentile(&self, statistic: Statistic) -> Option<&Percentile> {
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

/// The distribution of which a metric has the statistics.
pub(crate) fn over_trials(metric: &NamedMetric<'_>, trials: &[&TrialModel]) -> Distribution {
    let named = |statistic| NamedMetric {
        statistic: Some(statistic),
        ..*metric
    };
    let percentile = |statistic| Percentile {
        estimate: aggregate::estimate(&named(statistic), trials),
        thin: trial_value::thin(&named(statistic), trials),
        lag_us: hiding_lag(&named(statistic), trials),
    };
    Distribution {
        p50: percentile(Statistic::P50),
        p90: percentile(Statistic::P90),
        p95: percentile(Statistic::P95),
        p99: percentile(Statistic::P99),
        p999: percentile(Statistic::P999),
        p9999: percentile(Statistic::P9999),
        max: percentile(Statistic::Max),
        mean: aggregate::estimate(&named(Statistic::Mean), trials),
    }
}

/// `None` if the metric has no lag in it, or so little that it does not matter.
fn hiding_lag(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<f64> {
    if !matches!(
        named.row.metric,
        Metric::Time(TimeKind::Response) | Metric::Time(TimeKind::Service)
    ) {
        return None;
    }
    let lags = trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref()?.generator.lag);
    let lag_percentile = |lag: LagInfo| match named.statistic? {
        Statistic::P50 => Some(lag.p50_us),
        Statistic::P90 => Some(lag.p90_us),
        Statistic::P99 => Some(lag.p99_us),
        Statistic::P999 => Some(lag.p999_us),
        Statistic::Max => Some(lag.max_us),
        Statistic::P95 | Statistic::P9999 | Statistic::Mean => None,
    };
    let latest = lags.filter_map(lag_percentile).reduce(f64::max)?;
    let point = aggregate::over_trials(named, trials)?.point();
    (latest > LAG_HIDES_FROM * point).then_some(latest)
}
