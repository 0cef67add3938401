//! What the findings of a trial leave open of its numbers, where that has two ends: the generator's lag, and a change of level within
//! the measured phase. A doubt without a number is of the cell (`crate::cell::asked_metrics`).

use waggle_metrics::{Metric, NamedMetric, OverTrials};
use waggle_spec::TimeKind;
use waggle_stats::{Bounded, LevelChange, Series};

use crate::{
    metric::{aspect::aspect, load::Load, reading::Reading},
    recording::lag::is_late,
    trial::trial_model::TrialModel,
};

/// The reading with the lowest and highest value that the system's own one may have.
pub(super) fn with_bounds(
    named: &NamedMetric<'_>,
    trial: &TrialModel,
    reading: Reading,
) -> Reading {
    let Reading::Value(value) = reading else {
        return reading;
    };
    let mut bounded = Bounded::exact(value);
    if let Some(low) = least_by_lag(named, trial) {
        bounded.low = low.min(value);
    }
    if let Some((low, high)) = levels(named, trial, value) {
        bounded.low = bounded.low.min(low);
        bounded.high = bounded.high.max(high);
    }
    match bounded.low < bounded.high {
        true => Reading::Within(bounded),
        false => reading,
    }
}

/// The lowest that a response time may be if the generator was late in the trial; `None` if it was not, or if its lag was not noted.
fn least_by_lag(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<f64> {
    if named.row.metric != Metric::Time(TimeKind::Response) || !is_late(&trial.reasons) {
        return None;
    }
    let load = Load::new(named, trial.numbers.as_ref()?);
    load.response_without_lag()?.statistic(named.statistic?)
}

/// The levels of a metric that is a mean over the measured phase; `None` if it did not change.
fn levels(named: &NamedMetric<'_>, trial: &TrialModel, value: f64) -> Option<(f64, f64)> {
    let seconds = trial.numbers.as_ref()?.counts.seconds;
    let change = LevelChange::from_reasons(&trial.reasons, seconds)?;
    let metric_series = series(named.row.metric)?;
    let is_mean = matches!(
        named.over_trials(),
        OverTrials::Mean | OverTrials::MeanOfAll
    );
    (is_mean && value > 0.0 && change.concerns(aspect(named.row.metric)))
        .then(|| change.levels(value, metric_series == change.series))
}

/// The series that a metric is a mean of; `None`: its value over the phase is no mean of levels.
fn series(metric: Metric) -> Option<Series> {
    match metric {
        Metric::Goodput | Metric::Throughput | Metric::SessionsGoodput => Some(Series::Throughput),
        // Percentiles of the whole phase lie between those of its two parts.
        Metric::Time(TimeKind::Response) | Metric::Time(TimeKind::Service) => Some(Series::P50),
        Metric::SystemCpuPerRequest | Metric::ComponentCpuPerRequest | Metric::ComponentCpu => {
            Some(Series::Cpu)
        }
        _ => None,
    }
}
