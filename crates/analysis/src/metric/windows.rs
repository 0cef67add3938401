//! Delays of records that were followed in windows: what too few of them leave open.

use waggle_metrics::{NamedMetric, Statistic};
use waggle_results::PhaseName;
use waggle_stats::{Range, ThinTail};

use crate::{
    metric::{
        source::Source,
        trial_value::{delays, delivery_of, thin},
    },
    trial::trial_model::TrialModel,
};

/// The append time of a broker is noted as the end of its millisecond.
const APPEND_TIME_US: f64 = 1e3;

/// What is known of a number that is that of a few windows of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hidden {
    pub thin: ThinTail,
    /// What the value may be.
    pub within: Range,
}

/// Why the trials do not show a metric at all: it is that of windows of a sample, and too few of them. What a percentile of so few
/// windows is, is chance, and no interval over trials shows that. The mean is asked for as many windows as the median.
pub(crate) fn too_few_windows(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<ThinTail> {
    let statistic = match named.statistic? {
        Statistic::Mean => Statistic::P50,
        statistic => statistic,
    };
    let metric = NamedMetric {
        statistic: Some(statistic),
        ..*named
    };
    thin(&metric, trials).filter(ThinTail::is_of_windows)
}

/// `None`: the trials show the metric.
pub(crate) fn hidden_value(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<Hidden> {
    let thin = too_few_windows(named, trials)?;
    let trials = trials.iter();
    let bounds = trials.map(|trial| delay_bounds(named, trial));
    let within = bounds.reduce(|all, range| Range {
        low: all.low.min(range.low),
        high: all.high.max(range.high),
    });
    within.map(|within| Hidden { thin, within })
}

/// What a statistic of delays may be in a trial, whatever was sampled: no record was there before its store had it, nor later than
/// the last of them.
fn delay_bounds(named: &NamedMetric<'_>, trial: &TrialModel) -> Range {
    let source = Source::from_trial(trial);
    let arrival = delays(named, source).and_then(|delays| delays.arrival.as_ref());
    let statistic = named.statistic;
    let arrived = arrival
        .zip(statistic)
        .and_then(|(arrival, statistic)| arrival.statistic(statistic));
    Range {
        low: arrived.map_or(0.0, |us| (us - APPEND_TIME_US).max(0.0)),
        high: longest_delay_us(named, trial).unwrap_or(f64::INFINITY),
    }
}

/// From the start of the measured phase until the store had all records; `None`: it never had them.
fn longest_delay_us(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<f64> {
    let interval = |phase: PhaseName| trial.info.phases.iter().find(|entry| entry.phase == phase);
    let drained_s = delivery_of(named, trial)?.drain_time_s?;
    let start_s = interval(PhaseName::Measure)?.start_s;
    let end_s = interval(PhaseName::Drain)?.start_s;
    Some((end_s + drained_s - start_s) * 1e6)
}
