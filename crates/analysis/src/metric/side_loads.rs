//! What a trial has of loads that are not the measured one: those of the preparation, and those beside it.

use waggle_metrics::{Metric, NamedMetric};

use crate::{
    metric::{
        reading::{Reading, count, value},
        source::{Source, find_by_name},
    },
    trial::{background::TrialBackgroundLoad, preparation::TrialPrepareLoad},
};

/// The load of the preparation that a metric names; `None`: the trial has not run it.
pub(super) fn preparation<'a>(
    named: &NamedMetric<'_>,
    trial: Source<'a>,
) -> Option<&'a TrialPrepareLoad> {
    find_by_name(named, &trial.preparation?.loads, |load| &load.info.name)
}

/// The background load that a metric names; `None`: it did not run.
pub(super) fn background<'a>(
    named: &NamedMetric<'_>,
    trial: Source<'a>,
) -> Option<&'a TrialBackgroundLoad> {
    let background_load = find_by_name(named, trial.background, |load| &load.name)?;
    background_load.load.as_ref()
}

/// `None`: it has no such metric that is one number.
pub(super) fn preparation_reading(metric: Metric, load: &TrialPrepareLoad) -> Option<Reading> {
    match metric {
        Metric::PreparationDuration => value(load.info.seconds * 1e6),
        Metric::PreparationGoodput => value(load.goodput_per_s()?),
        Metric::PreparationErrorRate => Some(Reading::Share(load.failed_share())),
        Metric::PreparationRetries => count(load.info.retries),
        _ => None,
    }
}

/// The same of a background load.
pub(super) fn background_reading(metric: Metric, load: &TrialBackgroundLoad) -> Option<Reading> {
    match metric {
        Metric::BackgroundGoodput => value(load.goodput_per_s()?),
        Metric::BackgroundThroughput => value(load.throughput_per_s()?),
        Metric::BackgroundErrorRate => Some(Reading::Share(load.failed_share())),
        Metric::BackgroundFailed => count(load.info.measured.failed),
        Metric::BackgroundInFlight => value(load.info.generator.in_flight_mean),
        Metric::BackgroundBytesReceivedPerAnswer => value(load.bytes_per_answer()?),
        _ => None,
    }
}
