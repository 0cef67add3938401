//! Percentiles over the trials of a cell. They are never averaged within a trial; over trials each trial's percentile is one
//! observation.

use waggle_metrics::{NamedMetric, Statistic};
use waggle_stats::{Estimate, ThinTail};

use crate::{TrialModel, metric};

/// A cell's percentile over its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentile {
    /// µs; `None` where no counted trial has a sample.
    pub estimate: Option<Estimate>,
    /// Too few samples lie beyond it to rely on it.
    pub thin: Option<ThinTail>,
}

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

/// The distribution of which a metric has the statistics.
pub(crate) fn over_trials(of: &NamedMetric<'_>, trials: &[&TrialModel]) -> Distribution {
    let named = |statistic| NamedMetric {
        statistic: Some(statistic),
        ..*of
    };
    let percentile = |statistic| Percentile {
        estimate: metric::estimate(&named(statistic), trials),
        thin: metric::thin(&named(statistic), trials),
    };
    Distribution {
        p50: percentile(Statistic::P50),
        p90: percentile(Statistic::P90),
        p95: percentile(Statistic::P95),
        p99: percentile(Statistic::P99),
        p999: percentile(Statistic::P999),
        p9999: percentile(Statistic::P9999),
        max: percentile(Statistic::Max),
        mean: metric::estimate(&named(Statistic::Mean), trials),
    }
}
