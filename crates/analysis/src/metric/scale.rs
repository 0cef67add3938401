//! What each metric can tell apart in given trials, and how large it can be: nothing is stated below that.

use waggle_metrics::{Metric, NamedMetric};
use waggle_stats::Scale;

use crate::{
    metric::trial_value::delivery_of,
    trial::{
        probe::resolution_us,
        trial_model::{TrialModel, TrialNumbers},
    },
};

/// A tick of the kernel's accounting of CPU time.
const CPU_TICK_US: f64 = 10_000.0;
/// Histograms count whole microseconds.
const TIME_US: f64 = 1.0;
const PAGE_BYTES: f64 = 4096.0;

/// The scale of a metric in trials that came to their end. Where they differ, the coarsest resolution.
pub(crate) fn scale(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Scale {
    let resolutions = trials.iter().filter_map(|trial| resolution(named, trial));
    Scale {
        resolution: resolutions.fold(0.0, f64::max),
        max: max(named.row.metric, trials),
    }
}

/// `None`: not known.
fn resolution(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<f64> {
    let numbers = trial.numbers.as_ref();
    let time_us = numbers.map_or(TIME_US, |numbers| numbers.time_resolution_us.max(TIME_US));
    let per_second = || Some(1.0 / numbers?.counts.seconds);
    match named.row.metric {
        Metric::Goodput | Metric::Throughput | Metric::SessionsGoodput => per_second(),
        // Of a single client, over a time that is known to the nanosecond.
        Metric::ClientsThroughput => None,
        Metric::Time(_)
        | Metric::TimeWeightedResponseTime
        | Metric::ClientWaitTime
        | Metric::GeneratorLagP99 => Some(time_us),
        // From an instant of an agent's clock to one of the runner's: it may be too long or too short by the error.
        Metric::Delay | Metric::EndToEndDelay | Metric::ArrivalDelay => {
            Some(time_us.max(2.0 * numbers?.clock_error_us))
        }
        Metric::DrainTime => Some(resolution_us(delivery_of(named, trial)?)),
        Metric::Backlog
        | Metric::ItemsPerAnswer
        | Metric::BodyBytesPerAnswer
        | Metric::DecodedBytesPerAnswer => Some(1.0),
        Metric::RecoveryTime | Metric::LongestOutage | Metric::LongestStall => {
            Some(trial.interval_s * 1e6)
        }
        Metric::SystemCpuPerRequest | Metric::ComponentCpuPerRequest => {
            Some(CPU_TICK_US / requests(numbers?)?)
        }
        Metric::ComponentCpu => Some(CPU_TICK_US / 1e6 / numbers?.counts.seconds),
        Metric::SystemRss | Metric::ComponentRss => Some(PAGE_BYTES),
        _ => None,
    }
}

fn requests(numbers: &TrialNumbers) -> Option<f64> {
    let answered = numbers.throughput_per_s * numbers.counts.seconds;
    (answered > 0.0).then_some(answered)
}

/// Infinite: no limit is known.
fn max(metric: Metric, trials: &[&TrialModel]) -> f64 {
    match metric {
        Metric::ErrorRate
        | Metric::AchievedRatio
        | Metric::StalledRatio
        | Metric::LossRate
        | Metric::GeneratorUtilization
        | Metric::CpuSteal
        | Metric::CpuIdle
        | Metric::ComponentThrottled => 1.0,
        Metric::ComponentCpu => {
            let cpus = trials.iter().map(|trial| trial.system_cpus.map(f64::from));
            let cpus: Option<Vec<f64>> = cpus.collect();
            let most = cpus.and_then(|cpus| cpus.into_iter().reduce(f64::max));
            most.unwrap_or(f64::INFINITY)
        }
        _ => f64::INFINITY,
    }
}
