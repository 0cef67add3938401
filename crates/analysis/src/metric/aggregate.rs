//! How the trials of a cell make one number of a metric.

use waggle_metrics::{NamedMetric, OverTrials};
use waggle_stats::{Bounded, Estimate, Part, Range, Scale};

use crate::{
    metric::{
        number::Number,
        reading::Reading,
        scale::scale,
        trial_value::{range_in_trial, reading_of},
    },
    trial::trial_model::TrialModel,
};

/// A metric over trials that came to their end.
pub(crate) fn over_trials(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<Number> {
    let readings: Vec<Option<Reading>> = trials
        .iter()
        .map(|trial| reading_of(named, trial))
        .collect();
    aggregate(named.over_trials(), &readings, scale(named, trials))
}

/// The same as an estimate.
pub(crate) fn estimate(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<Estimate> {
    over_trials(named, trials).map(|number| as_estimate(number, trials.len()))
}

/// The median over trials, with an interval that does not depend on how they scatter; `None` of few trials, and of a metric that
/// is no mean over trials.
#[must_use]
pub(crate) fn median(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<Estimate> {
    let is_mean = matches!(
        named.over_trials(),
        OverTrials::Mean | OverTrials::MeanOfAll
    );
    let trials = trials.iter();
    let ranges: Vec<Bounded> = trials
        .filter_map(|trial| range_in_trial(named, trial))
        .collect();
    waggle_stats::median_of_bounded(&ranges).filter(|_| is_mean)
}

/// An estimate of values of which each trial has one at most, by the rule of a metric.
pub(crate) fn estimate_of(
    named: &NamedMetric<'_>,
    trials: &[Option<f64>],
    scale: Scale,
) -> Option<Estimate> {
    let readings = trials.iter().map(|value| value.map(Reading::Value));
    let number = aggregate(named.over_trials(), &readings.collect::<Vec<_>>(), scale)?;
    Some(as_estimate(number, trials.len()))
}

fn as_estimate(number: Number, count: usize) -> Estimate {
    match number {
        Number::Estimate(estimate) => estimate,
        Number::Exact(point) => Estimate {
            point,
            interval: None,
            count,
            least: None,
        },
        Number::Within(range) => Estimate {
            point: range.high,
            interval: None,
            count,
            least: Some(range.low),
        },
    }
}

/// What each trial has makes one number.
pub(crate) fn aggregate(
    over_trials: OverTrials,
    trials: &[Option<Reading>],
    scale: Scale,
) -> Option<Number> {
    let readings = || trials.iter().copied().flatten();
    let values: Vec<f64> = readings().filter_map(Reading::value).collect();
    let exact = |value: Option<f64>| value.map(Number::Exact);
    let has_ranges = readings().any(|reading| reading.range().is_some());
    let bounded = |reading: Reading| {
        let exact = reading.value().map(Bounded::exact);
        reading.range().or(exact)
    };
    let ranges: Vec<Bounded> = readings().filter_map(bounded).collect();
    let some_have_none = values.len() < trials.len();
    match over_trials {
        OverTrials::MeanOfAll | OverTrials::MaxOfAll if some_have_none => None,
        OverTrials::Mean | OverTrials::MeanOfAll if has_ranges => {
            waggle_stats::estimate_bounded(&ranges, scale).map(Number::Estimate)
        }
        OverTrials::Mean | OverTrials::MeanOfAll => {
            waggle_stats::estimate(&values, scale).map(Number::Estimate)
        }
        OverTrials::Max if has_ranges => ranges
            .into_iter()
            .map(|trial| Range {
                low: trial.low,
                high: trial.high,
            })
            .reduce(|range, other| Range {
                low: range.low.max(other.low),
                high: range.high.max(other.high),
            })
            .map(Number::Within),
        OverTrials::Sum => exact(values.into_iter().reduce(|sum, value| sum + value)),
        OverTrials::Max | OverTrials::MaxOfAll => exact(values.into_iter().reduce(f64::max)),
        OverTrials::Min => exact(values.into_iter().reduce(f64::min)),
        OverTrials::ShareOfSums => {
            let parts: Vec<Part> = readings().filter_map(Reading::part).collect();
            waggle_stats::proportion(&parts).map(Number::Estimate)
        }
        OverTrials::StandardDeviation => exact(waggle_stats::standard_deviation(&values)),
    }
}

#[cfg(test)]
mod tests {
    use waggle_metrics::Metric;

    use super::*;

    #[test]
    fn trials_make_one_number_by_the_rule_of_the_row() {
        let check = |metric, trials: &[Option<f64>], expected: Option<f64>| {
            let actual = estimate_of(&NamedMetric::of_all(metric), trials, Scale::default());
            let rounded = actual.map(|estimate| (estimate.point * 1e6).round() / 1e6);
            assert_eq!(rounded, expected, "{metric:?}");
        };
        let longest = Metric::LongestOutage;
        check(longest, &[Some(2.0), None], Some(2.0));
        check(Metric::TimeToReady, &[Some(2.0), Some(3.0)], Some(3.0));
        check(Metric::TimeToReady, &[Some(2.0), None], None);
        check(Metric::RecoveryTime, &[Some(3.0), Some(3.0)], Some(3.0));
        check(Metric::RecoveryTime, &[Some(0.0), None], None);
        check(Metric::Failed, &[Some(2.0), Some(3.0)], Some(5.0));
    }
}
