//! The joint between the catalogue of metrics and results: how a trial has a metric.

use waggle_metrics::{LoadMetric, Metric, NamedMetric, OverTrials};
use waggle_results::{DeliveryInfo, LedgerInfo};
use waggle_stats::{Bounded, Drawn, Part, ThinTail};

use crate::{
    metric::{
        answer_sizes, bounds, client_outcomes,
        components::{cores, cpu_us_per_request, memory},
        load::Load,
        reading::{Reading, count, value},
        repair_times::{recovery_us, time_to_ready_us},
        side_loads::{self, side_load},
        source::{Source, find_by_name},
    },
    recording::{delays::Delays, histogram::TrialPercentiles},
    trial::{
        limits,
        probe::{TrialProbe, resolution_us},
        system_metric::TrialSystemMetric,
        trial_model::{TrialModel, TrialNumbers},
    },
};

/// A metric in one trial; `None` where it was not measured, and of a number that only several trials have.
#[must_use]
pub fn in_trial(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<f64> {
    single_value(named, Source::from_trial(trial))
}

/// The same with the lowest and the highest value that it may have; these are the same value unless the metric is known to within a
/// range only.
pub fn range_in_trial(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<Bounded> {
    let value = in_trial(named, trial)?;
    let range = reading_of(named, trial).and_then(Reading::range);
    Some(range.unwrap_or(Bounded::exact(value)))
}

fn single_value(named: &NamedMetric<'_>, trial: Source<'_>) -> Option<f64> {
    match named.over_trials() {
        OverTrials::StandardDeviation => None,
        _ => reading(named, trial).and_then(Reading::value),
    }
}

/// What a trial that came to its end has of a metric.
pub(crate) fn reading_of(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<Reading> {
    let trial_reading = reading(named, Source::from_trial(trial))?;
    Some(bounds::with_bounds(named, trial, trial_reading))
}

/// Why a percentile over trials should not be relied on, by the trial that has fewest samples beyond it: windows that nobody counted
/// are the fewest, then those that somebody did.
pub(crate) fn thin(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<ThinTail> {
    let statistic = named.statistic?;
    let all = trials
        .iter()
        .filter_map(|trial| percentiles(named, Source::from_trial(trial)));
    let thin = all.filter_map(|times| times.percentile(statistic)?.thin);
    thin.min_by_key(|thin| match thin.drawn {
        Drawn::Windows(windows) => (false, windows),
        Drawn::Values(values) => (true, Some(values)),
    })
}

/// How a trial has a metric.
#[expect(
    clippy::too_many_lines,
    reason = "a line a metric; the compiler sees that none is left out"
)]
fn reading(named: &NamedMetric<'_>, trial: Source<'_>) -> Option<Reading> {
    let numbers = || trial.numbers;
    if numbers().is_some_and(|numbers| numbers.unknown.contains(&named.row.metric)) {
        return None;
    }
    let load = || Some(Load::new(named, numbers()?));
    match named.row.metric {
        Metric::Goodput | Metric::GoodputDeviation => value(load()?.goodput_per_s()),
        Metric::Throughput => value(load()?.throughput_per_s()),
        Metric::ErrorRate => Some(load()?.error_rate()),
        Metric::Succeeded => count(load()?.answer_counts().0),
        Metric::Failed => count(load()?.answer_counts().1),
        Metric::Time(_)
        | Metric::TimeDeviation(_)
        | Metric::TimeWeightedResponseTime
        | Metric::DelayDeviation
        | Metric::SideLoad(_, LoadMetric::Time(_)) => {
            value(percentiles(named, trial)?.statistic(named.statistic?)?)
        }
        Metric::Delay | Metric::EndToEndDelay => delay(named, trial),
        Metric::ArrivalDelay => arrival_delay(named, trial),
        Metric::ClientWaitTime => value(load()?.client_wait_mean_us()?),
        Metric::LongestStall => value(numbers()?.longest_stall_s()? * 1e6),
        Metric::StalledRatio => value(numbers()?.stalled_ratio()?),
        Metric::Offered => value(numbers()?.generator.offered_per_s?),
        Metric::Skipped => count(numbers()?.counts.skipped),
        Metric::InFlight => value(numbers()?.in_flight_mean),
        Metric::MeasuredTime => value(numbers()?.counts.seconds * 1e6),
        metric @ (Metric::BodyBytesPerAnswer
        | Metric::DecodedBytesPerAnswer
        | Metric::ItemsPerAnswer) => answer_sizes::reading(metric, numbers()?.counts.inspected?),
        Metric::BytesReceivedPerAnswer => value(answer_sizes::bytes_received(numbers()?)?),
        Metric::BytesReceivedRate => value(numbers()?.bytes_received_per_s),
        Metric::BytesSentRate => value(numbers()?.bytes_sent_per_s),
        Metric::BytesReceived => count(numbers()?.counts.bytes_received),
        Metric::BytesSent => count(numbers()?.counts.bytes_sent),
        Metric::AchievedRatio => value(numbers()?.achieved_ratio?),
        Metric::SessionsStarted => count(numbers()?.sessions?.started),
        Metric::SessionsCompleted => count(numbers()?.sessions?.completed),
        Metric::SessionsFailed => count(numbers()?.sessions?.failed),
        Metric::SessionsGoodput => value(numbers()?.sessions_per_s?),
        metric @ (Metric::ClientsFinished
        | Metric::ClientsFailed
        | Metric::ClientsCompleted
        | Metric::ClientsSucceeded
        | Metric::ClientsThroughput) => client_outcomes::reading(metric, &numbers()?.clients),
        Metric::RecordsSent => count(ledger(named, trial)?.sent),
        Metric::RecordsAccepted => count(ledger(named, trial)?.accepted),
        Metric::RecordsRejected => count(ledger(named, trial)?.rejected),
        Metric::RecordsUnknown => count(ledger(named, trial)?.unknown),
        Metric::Delivered => count(ledger(named, trial)?.delivered),
        Metric::Missing => count(ledger(named, trial)?.missing),
        Metric::LossRate => Some(Reading::Share(Part {
            of: ledger(named, trial)?.missing,
            all: ledger(named, trial)?.accepted,
        })),
        Metric::RejectedDelivered => count(ledger(named, trial)?.rejected_delivered),
        Metric::UnknownDelivered => count(ledger(named, trial)?.unknown_delivered),
        Metric::Duplicates => count(ledger(named, trial)?.duplicates),
        Metric::Late => count(ledger(named, trial)?.late),
        Metric::OutOfOrder => count(ledger(named, trial)?.out_of_order),
        Metric::Unexpected => count(ledger(named, trial)?.unexpected),
        Metric::Backlog => value(match probe(named, trial) {
            Some(probe) => probe.backlog_max?,
            None => numbers()?.backlog_max?,
        }),
        Metric::DrainTime => value(delivery(named, trial)?.drain_time_s? * 1e6),
        Metric::Resolution => value(delivery(named, trial)?.resolution_ms * 1e3),
        Metric::NegativeDelays => count(delivery(named, trial)?.negative_delays),
        Metric::ProbeCpu => value(delivery(named, trial)?.probe_cpu_s? * 1e6),
        Metric::GeneratorUtilization => value(numbers()?.generator_utilization),
        Metric::GeneratorLagP99 => value(numbers()?.generator.lag_p99_us),
        Metric::GeneratorCpuPerRequest => value(numbers()?.generator.cpu_us_per_request),
        Metric::GeneratorCapacity => value(numbers()?.generator.capacity_per_s?),
        Metric::GeneratorCapacityUsed => value(numbers()?.generator_capacity_used?),
        Metric::CpuSteal => value(numbers()?.machine?.cpu_steal),
        Metric::CpuIdle => value(numbers()?.machine?.cpu_idle),
        Metric::OtherCores => value(numbers()?.machine?.other_cores?),
        Metric::SystemCpuPerRequest => value(numbers()?.system_cpu_us_per_request?),
        Metric::SystemRss => memory(named, numbers()?.system_rss?),
        Metric::RecoveryTime => value(recovery_us(trial.recovery?)?),
        Metric::TimeToReady => value(time_to_ready_us(trial.faults?)?),
        Metric::LongestOutage => value(trial.faults?.outage?.us),
        Metric::FailedWholeLoad => count(trial.faults?.failed),
        Metric::SideLoad(role, metric) => {
            side_loads::reading(metric, side_load(named, role, trial)?)
        }
        Metric::ComponentCpu => value(cores(named, numbers()?)?),
        Metric::ComponentCpuPerRequest => value(cpu_us_per_request(named, numbers()?)?),
        Metric::ComponentRss => {
            let all = &numbers()?.component_rss;
            memory(named, find_by_name(named, all, |(name, _)| name)?.1)
        }
        Metric::ComponentThrottled => value(limits::throttled_share(numbers()?, named.of?)?),
        Metric::ListenOverflows => count(numbers()?.network?.listen_overflows),
        Metric::ListenDrops => count(numbers()?.network?.listen_drops),
        Metric::SynCookies => count(numbers()?.network?.syn_cookies),
        Metric::Retransmissions => count(numbers()?.network?.retransmissions),
        Metric::Resets => count(numbers()?.network?.resets),
        Metric::SystemMetricMean => value(system_metric(named, numbers()?)?.measured?.mean),
        Metric::SystemMetricMax => value(system_metric(named, numbers()?)?.measured?.max),
        Metric::SystemMetricEnd => value(system_metric(named, numbers()?)?.end),
    }
}

/// Until a record was seen, and until it may have been visible. Of results without the second it was at most the probe's resolution
/// earlier.
fn delay(named: &NamedMetric<'_>, trial: Source<'_>) -> Option<Reading> {
    let statistic = named.statistic?;
    let high = percentiles(named, trial)?.statistic(statistic)?;
    let low = match earliest(named, trial) {
        Some(earliest) => earliest.statistic(statistic)?.min(high),
        None => (high - resolution_us(delivery(named, trial)?)).max(0.0),
    };
    // By the clocks of an agent and of the runner it may be so much longer or shorter.
    let error_us = trial.numbers.map_or(0.0, |numbers| numbers.clock_error_us);
    let high = high + error_us;
    Some(Reading::Within(Bounded {
        low: (low - error_us).max(0.0),
        value: high,
        high,
    }))
}

/// By the instants of the store, which is taken to have the runner's clock.
fn arrival_delay(named: &NamedMetric<'_>, trial: Source<'_>) -> Option<Reading> {
    let known = percentiles(named, trial)?.statistic(named.statistic?)?;
    let error_us = trial.numbers.map_or(0.0, |numbers| numbers.clock_error_us);
    if error_us <= 0.0 {
        return value(known);
    }
    Some(Reading::Within(Bounded {
        low: (known - error_us).max(0.0),
        value: known,
        high: known + error_us,
    }))
}

/// The distribution of the earliest that delays may have been.
fn earliest<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a TrialPercentiles> {
    let is_end_to_end = named.row.metric == Metric::EndToEndDelay;
    let delays = delays(named, trial)?;
    match is_end_to_end {
        true => delays.earliest_end_to_end.as_ref(),
        false => delays.earliest.as_ref(),
    }
}

/// The distribution that a metric is a statistic of.
fn percentiles<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a TrialPercentiles> {
    let numbers = || trial.numbers;
    let load = || Some(Load::new(named, numbers()?));
    match named.row.metric {
        Metric::Time(kind) | Metric::TimeDeviation(kind) => load()?.times(kind),
        Metric::TimeWeightedResponseTime => numbers()?.time_weighted.as_ref(),
        Metric::SideLoad(role, LoadMetric::Time(kind)) => {
            side_load(named, role, trial)?.times(kind)
        }
        Metric::Delay | Metric::DelayDeviation => delays(named, trial)?.delay.as_ref(),
        Metric::EndToEndDelay => delays(named, trial)?.end_to_end.as_ref(),
        Metric::ArrivalDelay => delays(named, trial)?.arrival.as_ref(),
        _ => None,
    }
}

/// The delays at the probe of a metric.
pub(super) fn delays<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a Delays> {
    match probe(named, trial) {
        Some(probe) => Some(&probe.delays),
        None => Some(&trial.numbers?.delays),
    }
}

/// The intermediate probe that a path names; `None` for the one where records must arrive.
fn probe<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a TrialProbe> {
    find_by_name(named, trial.intermediate_probes, |probe| &probe.name)
}

fn ledger<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a LedgerInfo> {
    let before = probe(named, trial).map(|probe| &probe.ledger);
    before.or(trial.ledger)
}

fn delivery<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a DeliveryInfo> {
    let before = probe(named, trial).map(|probe| &probe.delivery);
    before.or(trial.delivery)
}

/// At the probe of a metric.
pub(crate) fn delivery_of<'a>(
    named: &NamedMetric<'_>,
    trial: &'a TrialModel,
) -> Option<&'a DeliveryInfo> {
    delivery(named, Source::from_trial(trial))
}

fn system_metric<'a>(
    named: &NamedMetric<'_>,
    numbers: &'a TrialNumbers,
) -> Option<&'a TrialSystemMetric> {
    find_by_name(named, &numbers.metrics, |metric| &metric.name)
}
