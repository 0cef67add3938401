//! The joint between the catalogue of metrics and results: how a trial has a metric, and how the trials of a cell make one number of it.

mod answers;
mod bounds;
mod clients;
mod components;
mod load;
mod number;
mod outages;
mod reading;
mod side_loads;
mod source;
mod windows;

use waggle_metrics::{Metric, NamedMetric, OverTrials, Subject, Unit, resolve_in_load};
use waggle_results::{DeliveryInfo, LedgerInfo, RunInfo, SystemMetricInfo};
use waggle_stats::{Bounded, Drawn, Estimate, Part, Range, Scale, ThinTail};

pub use self::number::Number;
pub use self::windows::Hidden;
use self::{
    components::{cores, cpu_us_per_request, memory},
    load::Load,
    outages::{recovery_us, time_to_ready_us},
    reading::{count, value},
    side_loads::{background, background_reading, preparation, preparation_reading},
    source::{Source, find_by_name},
};
pub(crate) use self::{
    reading::Reading,
    windows::{hidden_value, too_few_windows},
};
use crate::{
    TrialModel, TrialNumbers, TrialPercentiles, TrialProbe, TrialSystemMetric, limits,
    path::resolve_in_run, probe::resolution_us, scale::scale,
};

/// A number that the run names somewhere, in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellNumber {
    /// As the study writes it.
    pub path: Vec<String>,
    pub number: Number,
    /// The trials do not show it, because it is that of a few windows of a sample.
    pub hidden: Option<Hidden>,
}

/// What a number that a path names is counted in, in a run with these system metrics.
#[must_use]
pub fn unit(path: &[String], metrics: &[SystemMetricInfo]) -> Unit {
    resolve_in_run(path, metrics).map_or(Unit::Count, |named| named.row.unit)
}

/// The number of a path in a load of which these numbers are known and no more; what is sent has no name in the path.
#[must_use]
pub fn in_load(path: &[String], numbers: &TrialNumbers) -> Option<f64> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let source = Source {
        numbers: Some(numbers),
        ..Source::default()
    };
    single_value(&resolve_in_load(&parts)?, source)
}

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

/// Every path by which the run's question, thresholds, bounds, search and reference results name a metric.
pub(crate) fn paths(info: &RunInfo) -> impl Iterator<Item = &Vec<String>> {
    let thresholds = info.thresholds.iter().map(|threshold| &threshold.metric);
    let conditions = info.search.iter().flat_map(|search| &search.conditions);
    let columns = info.reference.iter().flat_map(|all| &all.columns);
    let asks = info.asks.iter();
    let bounds = info.scaling.iter().flat_map(|scaling| &scaling.bounds);
    asks.chain(thresholds)
        .chain(conditions.map(|condition| &condition.metric))
        .chain(columns.map(|column| &column.metric))
        .chain(bounds.map(|bound| &bound.metric))
}

/// Every number that the run names, in a cell of these trials; the unit is that in which conditions are written.
pub(crate) fn of_cell(info: &RunInfo, trials: &[&TrialModel]) -> Vec<CellNumber> {
    let mut numbers: Vec<CellNumber> = Vec::new();
    for path in paths(info) {
        if numbers.iter().any(|known| known.path == *path) {
            continue;
        }
        let Some(named) = resolve_in_run(path, &info.metrics) else {
            continue;
        };
        numbers.extend(over_trials(&named, trials).map(|number| CellNumber {
            path: path.clone(),
            number,
            hidden: hidden_value(&named, trials),
        }));
    }
    numbers
}

/// The metric of a path, the same by whichever of its names: all that is sent, and the probe where records must arrive, are not named.
#[must_use]
pub fn without_names<'a>(path: &'a [String], info: &RunInfo) -> Option<NamedMetric<'a>> {
    let named = resolve_in_run(path, &info.metrics)?;
    let scenario = info.scenario.iter();
    let steps: Vec<&String> = scenario.flat_map(|scenario| &scenario.steps).collect();
    let of = named.of.filter(|of| match named.row.subject {
        Subject::Load | Subject::WholeLoad => steps.iter().any(|step| step == of),
        Subject::Answers => false,
        Subject::Probe => info.delivery_probe.as_deref() != Some(*of),
        _ => true,
    });
    Some(NamedMetric { of, ..named })
}

/// What a trial that came to its end has of a metric.
pub(crate) fn reading_of(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<Reading> {
    let found = reading(named, Source::from_trial(trial))?;
    Some(bounds::with_bounds(named, trial, found))
}

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
            .reduce(|one, other| Range {
                low: one.low.max(other.low),
                high: one.high.max(other.high),
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
        Metric::ResponseTime
        | Metric::ResponseTimeDeviation
        | Metric::TimeWeightedResponseTime
        | Metric::ServiceTime
        | Metric::ServiceTimeDeviation
        | Metric::FirstByteTime
        | Metric::FirstByteTimeDeviation
        | Metric::SessionDuration
        | Metric::SessionDurationDeviation
        | Metric::FailedTime
        | Metric::DelayDeviation
        | Metric::PreparationResponseTime
        | Metric::BackgroundResponseTime
        | Metric::BackgroundServiceTime
        | Metric::ArrivalDelay => value(percentiles(named, trial)?.statistic(named.statistic?)?),
        Metric::Delay | Metric::EndToEndDelay => delay(named, trial),
        Metric::ClientWaitTime => value(load()?.client_wait_mean_us()?),
        Metric::LongestStall => value(numbers()?.longest_stall_s()? * 1e6),
        Metric::StalledRatio => value(numbers()?.stalled_ratio()?),
        Metric::Offered => value(numbers()?.offered_per_s?),
        Metric::Skipped => count(numbers()?.skipped),
        Metric::InFlight => value(numbers()?.in_flight_mean),
        Metric::MeasuredTime => value(numbers()?.seconds * 1e6),
        metric @ (Metric::BodyBytesPerAnswer
        | Metric::DecodedBytesPerAnswer
        | Metric::ItemsPerAnswer) => answers::reading(metric, numbers()?.inspected?),
        Metric::BytesReceivedPerAnswer => value(answers::bytes_received(numbers()?)?),
        Metric::BytesReceivedRate => value(numbers()?.bytes_received_per_s),
        Metric::BytesSentRate => value(numbers()?.bytes_sent_per_s),
        Metric::BytesReceived => count(numbers()?.bytes_received),
        Metric::BytesSent => count(numbers()?.bytes_sent),
        Metric::AchievedRatio => value(numbers()?.achieved_ratio?),
        Metric::SessionsStarted => count(numbers()?.sessions?.started),
        Metric::SessionsCompleted => count(numbers()?.sessions?.completed),
        Metric::SessionsFailed => count(numbers()?.sessions?.failed),
        Metric::SessionsGoodput => value(numbers()?.sessions_per_s?),
        metric @ (Metric::ClientsFinished
        | Metric::ClientsFailed
        | Metric::ClientsCompleted
        | Metric::ClientsSucceeded
        | Metric::ClientsThroughput) => clients::reading(metric, &numbers()?.clients),
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
        Metric::GeneratorLagP99 => value(numbers()?.generator_lag_p99_us),
        Metric::GeneratorCpuPerRequest => value(numbers()?.generator_cpu_us_per_request),
        Metric::GeneratorCapacity => value(numbers()?.generator_capacity_per_s?),
        Metric::GeneratorCapacityUsed => value(numbers()?.generator_capacity_used?),
        Metric::CpuSteal => value(numbers()?.cpu_steal?),
        Metric::CpuIdle => value(numbers()?.cpu_idle?),
        Metric::OtherCores => value(numbers()?.other_cores?),
        Metric::SystemCpuPerRequest => value(numbers()?.system_cpu_us_per_request?),
        Metric::SystemRss => memory(named, numbers()?.system_rss?),
        Metric::RecoveryTime => value(recovery_us(trial.recovery?)?),
        Metric::TimeToReady => value(time_to_ready_us(trial.faults?)?),
        Metric::LongestOutage => value(trial.faults?.outage?.us),
        Metric::FailedWholeLoad => count(trial.faults?.failed),
        metric @ (Metric::PreparationDuration
        | Metric::PreparationGoodput
        | Metric::PreparationErrorRate
        | Metric::PreparationRetries) => preparation_reading(metric, preparation(named, trial)?),
        metric @ (Metric::BackgroundGoodput
        | Metric::BackgroundThroughput
        | Metric::BackgroundErrorRate
        | Metric::BackgroundFailed
        | Metric::BackgroundInFlight
        | Metric::BackgroundBytesReceivedPerAnswer) => {
            background_reading(metric, background(named, trial)?)
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
    Some(Reading::Within(Bounded {
        low,
        value: high,
        high,
    }))
}

/// The distribution of the earliest that delays may have been.
fn earliest<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a TrialPercentiles> {
    let is_end_to_end = named.row.metric == Metric::EndToEndDelay;
    match (probe(named, trial), is_end_to_end) {
        (Some(probe), false) => probe.earliest.as_ref(),
        (Some(probe), true) => probe.earliest_end_to_end.as_ref(),
        (None, false) => trial.numbers?.earliest.as_ref(),
        (None, true) => trial.numbers?.earliest_end_to_end.as_ref(),
    }
}

/// The distribution that a metric is a statistic of.
fn percentiles<'a>(named: &NamedMetric<'_>, trial: Source<'a>) -> Option<&'a TrialPercentiles> {
    let numbers = || trial.numbers;
    let load = || Some(Load::new(named, numbers()?));
    let probe = probe(named, trial);
    match named.row.metric {
        Metric::ResponseTime | Metric::ResponseTimeDeviation => load()?.response(),
        Metric::TimeWeightedResponseTime => numbers()?.time_weighted.as_ref(),
        Metric::ServiceTime | Metric::ServiceTimeDeviation => load()?.service(),
        Metric::FirstByteTime | Metric::FirstByteTimeDeviation => numbers()?.first_byte.as_ref(),
        Metric::SessionDuration | Metric::SessionDurationDeviation => {
            numbers()?.session_duration.as_ref()
        }
        Metric::FailedTime => numbers()?.failed_times.as_ref(),
        Metric::PreparationResponseTime => preparation(named, trial)?.response.as_ref(),
        Metric::BackgroundResponseTime => background(named, trial)?.response.as_ref(),
        Metric::BackgroundServiceTime => background(named, trial)?.service.as_ref(),
        Metric::Delay | Metric::DelayDeviation => match probe {
            Some(probe) => probe.delay.as_ref(),
            None => numbers()?.delay.as_ref(),
        },
        Metric::EndToEndDelay => match probe {
            Some(probe) => probe.end_to_end.as_ref(),
            None => numbers()?.end_to_end.as_ref(),
        },
        Metric::ArrivalDelay => match probe {
            Some(probe) => probe.arrival.as_ref(),
            None => numbers()?.arrival.as_ref(),
        },
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_make_one_number_by_the_rule_of_the_row() {
        let check = |metric, trials: &[Option<f64>], expected: Option<f64>| {
            let found = estimate_of(&NamedMetric::of_all(metric), trials, Scale::default());
            let rounded = found.map(|one| (one.point * 1e6).round() / 1e6);
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
