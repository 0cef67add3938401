//! What a trial has of loads that are not the measured one.

use waggle_metrics::{LoadMetric, NamedMetric};
use waggle_spec::LoadRole;

use crate::{
    metric::{
        reading::{Reading, count, value},
        source::Source,
    },
    trial::side_load::TrialSideLoad,
};

/// The load of this role that a metric names; `None`: the trial has not run it.
pub(super) fn side_load<'a>(
    named: &NamedMetric<'_>,
    role: LoadRole,
    trial: Source<'a>,
) -> Option<&'a TrialSideLoad> {
    let mut loads = trial.side_loads.iter();
    loads.find(|load| load.info.role == role && Some(load.info.name.as_str()) == named.of)
}

/// `None`: it has no such metric that is one number.
pub(super) fn reading(metric: LoadMetric, load: &TrialSideLoad) -> Option<Reading> {
    match metric {
        LoadMetric::Duration => value(load.info.counts.seconds * 1e6),
        LoadMetric::Goodput => value(load.goodput_per_s()?),
        LoadMetric::Throughput => value(load.throughput_per_s()?),
        LoadMetric::ErrorRate => Some(Reading::Share(load.failed_share())),
        LoadMetric::Failed => count(load.info.counts.failed),
        LoadMetric::InFlight => value(load.info.generator.in_flight_mean),
        LoadMetric::Retries => count(load.info.fill?.retries),
        LoadMetric::BytesReceivedPerAnswer => value(load.bytes_per_answer()?),
        LoadMetric::Time(_) => None,
    }
}
