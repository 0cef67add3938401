//! The joint between the catalogue of metrics and results: how a trial has a metric, and how the trials of a cell make one number of it.

use waggle_metrics::{Metric, NamedMetric, OverTrials, Row, Statistic, Unit, resolve};
use waggle_results::{LedgerInfo, RunInfo};
use waggle_stats::Estimate;

use crate::{
    TrialModel, TrialNumbers, TrialPercentiles, TrialStep, busiest::whole_components,
    distribution::as_f64, recovery::CellRecovery,
};

/// A number of a cell: an estimate over trials, or one that has no interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Estimate(Estimate),
    Exact(f64),
}

impl Number {
    /// The number itself.
    #[must_use]
    pub fn point(self) -> f64 {
        match self {
            Self::Estimate(estimate) => estimate.point,
            Self::Exact(value) => value,
        }
    }
}

/// A number that the run names somewhere, in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellNumber {
    /// As the study writes it.
    pub path: Vec<String>,
    pub number: Number,
}

/// What a number that a path names is counted in.
#[must_use]
pub fn unit(path: &[String]) -> Unit {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    resolve(&path).map_or(Unit::Count, |named| named.row.unit)
}

/// A metric in one trial, of all that is sent or of the last probe; `None` where it was not measured.
#[must_use]
pub fn in_trial(
    row: &'static Row,
    statistic: Option<Statistic>,
    trial: &TrialModel,
) -> Option<f64> {
    let named = NamedMetric {
        row,
        statistic,
        of: None,
    };
    reading(&named, trial).and_then(Reading::value)
}

/// Every number that the run's thresholds, search and published figures name, in a cell of these trials; the unit is that in which
/// conditions are written.
pub(crate) fn of_cell(
    info: &RunInfo,
    trials: &[&TrialModel],
    recovery: Option<&CellRecovery>,
) -> Vec<CellNumber> {
    let thresholds = info.thresholds.iter().map(|threshold| &threshold.number);
    let conditions = info.find.iter().flat_map(|find| &find.conditions);
    let columns = info.published.iter().flat_map(|all| &all.columns);
    let paths = thresholds
        .chain(conditions.map(|condition| &condition.number))
        .chain(columns.map(|column| &column.number));
    let mut numbers: Vec<CellNumber> = Vec::new();
    for path in paths {
        if numbers.iter().any(|known| known.path == *path) {
            continue;
        }
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let number = resolve(&parts).and_then(|named| match named.row.metric {
            // Only if each trial recovered.
            Metric::RecoveryTime => recovery?.after.map(Number::Estimate),
            _ => over_trials(&named, trials),
        });
        numbers.extend(number.map(|number| CellNumber {
            path: path.clone(),
            number,
        }));
    }
    numbers
}

fn over_trials(named: &NamedMetric<'_>, trials: &[&TrialModel]) -> Option<Number> {
    let readings: Vec<Reading> = trials
        .iter()
        .filter_map(|trial| reading(named, trial))
        .collect();
    let values: Vec<f64> = readings.iter().filter_map(|one| one.value()).collect();
    let exact = |value: Option<f64>| value.map(Number::Exact);
    match named.row.over_trials {
        OverTrials::Mean => waggle_stats::estimate(&values).map(Number::Estimate),
        OverTrials::Sum => exact(values.into_iter().reduce(|sum, value| sum + value)),
        OverTrials::Max => exact(values.into_iter().reduce(f64::max)),
        OverTrials::Min => exact(values.into_iter().reduce(f64::min)),
        OverTrials::ShareOfSums => exact(readings.into_iter().reduce(Reading::with)?.value()),
    }
}

/// What one trial has of a metric.
#[derive(Debug, Clone, Copy)]
enum Reading {
    Value(f64),
    Share { part: u64, whole: u64 },
}

impl Reading {
    /// `None` for a share of nothing.
    fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::Share { whole: 0, .. } => None,
            Self::Share { part, whole } => Some(as_f64(part) / as_f64(whole)),
        }
    }

    /// The two as one, which only shares are.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (
                Self::Share { part, whole },
                Self::Share {
                    part: more,
                    whole: of,
                },
            ) => Self::Share {
                part: part + more,
                whole: whole + of,
            },
            (first, _) => first,
        }
    }
}

/// How a trial has a metric.
fn reading(named: &NamedMetric<'_>, trial: &TrialModel) -> Option<Reading> {
    let numbers = || trial.numbers.as_ref();
    let count = |count: u64| Some(Reading::Value(as_f64(count)));
    let value = |value: Option<f64>| value.map(Reading::Value);
    let times = |times: Option<&TrialPercentiles>| {
        let times = times?;
        value(named.statistic.map(|statistic| times.statistic(statistic)))
    };
    let ledger = |pick: fn(&LedgerInfo) -> u64| count(pick(ledger(named, trial)?));
    let sessions = || numbers()?.sessions;
    let load = || Some(Load::of(named, numbers()?));
    match named.row.metric {
        Metric::Goodput => value(Some(load()?.goodput_per_s())),
        Metric::Throughput => value(Some(load()?.throughput_per_s())),
        Metric::ErrorShare => Some(load()?.error_share()),
        Metric::Succeeded => count(load()?.answered().0),
        Metric::Failed => count(load()?.answered().1),
        Metric::ResponseTime => times(load()?.response()),
        Metric::ServiceTime => times(load()?.service()),
        Metric::ClientWaitTime => value(load()?.client_wait_mean_us()),
        Metric::BytesReceivedPerAnswer => value(bytes_per_answer(numbers()?)),
        Metric::BytesReceivedRate => value(Some(per_s(numbers()?.bytes_received, numbers()?))),
        Metric::BytesSentRate => value(Some(per_s(numbers()?.bytes_sent, numbers()?))),
        Metric::AchievedShare => value(numbers()?.achieved_share),
        Metric::SessionsStarted => count(sessions()?.started),
        Metric::SessionsCompleted => count(sessions()?.completed),
        Metric::SessionsFailed => count(sessions()?.failed),
        Metric::SessionsGoodput => value(Some(per_s(sessions()?.completed, numbers()?))),
        Metric::RecordsSent => ledger(|ledger| ledger.sent),
        Metric::RecordsAccepted => ledger(|ledger| ledger.accepted),
        Metric::RecordsRejected => ledger(|ledger| ledger.rejected),
        Metric::RecordsUnknown => ledger(|ledger| ledger.unknown),
        Metric::Delivered => ledger(|ledger| ledger.delivered),
        Metric::Missing => ledger(|ledger| ledger.missing),
        Metric::MissingShare => {
            let ledger = self::ledger(named, trial)?;
            Some(Reading::Share {
                part: ledger.missing,
                whole: ledger.accepted,
            })
        }
        Metric::RejectedDelivered => ledger(|ledger| ledger.rejected_delivered),
        Metric::UnknownDelivered => ledger(|ledger| ledger.unknown_delivered),
        Metric::Duplicates => ledger(|ledger| ledger.duplicates),
        Metric::Late => ledger(|ledger| ledger.late),
        Metric::OutOfOrder => ledger(|ledger| ledger.out_of_order),
        Metric::Unexpected => ledger(|ledger| ledger.unexpected),
        Metric::Backlog => value(numbers()?.backlog_max),
        Metric::Delay => times(delay(named, trial)),
        Metric::EngineBusyShare => value(Some(numbers()?.engine_busy_share)),
        Metric::EngineLagP99 => value(Some(numbers()?.engine_lag_p99_us)),
        Metric::RecoveryTime => value(recovery_us(trial)),
        Metric::ComponentCpu => {
            let cores = whole_components(numbers()?);
            let own = |(name, _): &&(String, f64)| Some(name.as_str()) == named.of;
            value(cores.iter().find(own).map(|(_, cores)| *cores))
        }
        Metric::WatchMean => value(watch(named, numbers()?)?.measured.map(|all| all.mean)),
        Metric::WatchMax => value(watch(named, numbers()?)?.measured.map(|all| all.max)),
        Metric::WatchEnd => value(Some(watch(named, numbers()?)?.end)),
    }
}

fn per_s(count: u64, numbers: &TrialNumbers) -> f64 {
    as_f64(count) / numbers.seconds
}

/// `None` if nothing was answered.
fn bytes_per_answer(numbers: &TrialNumbers) -> Option<f64> {
    let answered = numbers.succeeded + numbers.failed;
    (answered > 0).then(|| as_f64(numbers.bytes_received) / as_f64(answered))
}

fn recovery_us(trial: &TrialModel) -> Option<f64> {
    let recovery = trial.recovery?;
    let at_s = recovery.at_s()?;
    Some((at_s - recovery.fall.at_s) * 1e6)
}

/// All that is sent, or one step of it.
enum Load<'a> {
    Whole(&'a TrialNumbers),
    Step(&'a TrialStep),
}

impl<'a> Load<'a> {
    /// A step's, if one has the name; the study's check sees to it that nothing else has.
    fn of(named: &NamedMetric<'_>, numbers: &'a TrialNumbers) -> Self {
        let mut steps = numbers.steps.iter();
        let step = steps.find(|step| Some(step.name.as_str()) == named.of);
        step.map_or(Self::Whole(numbers), Self::Step)
    }

    fn goodput_per_s(&self) -> f64 {
        match self {
            Self::Whole(numbers) => numbers.goodput_per_s,
            Self::Step(step) => step.goodput_per_s,
        }
    }

    fn throughput_per_s(&self) -> f64 {
        match self {
            Self::Whole(numbers) => numbers.throughput_per_s,
            Self::Step(step) => step.throughput_per_s,
        }
    }

    /// Requests that succeeded, and that failed.
    fn answered(&self) -> (u64, u64) {
        match self {
            Self::Whole(numbers) => (numbers.succeeded, numbers.failed),
            Self::Step(step) => (step.succeeded, step.failed),
        }
    }

    fn error_share(&self) -> Reading {
        let (succeeded, failed) = self.answered();
        Reading::Share {
            part: failed,
            whole: succeeded + failed,
        }
    }

    /// Both times are of the same successes, so the difference of the means is the mean of the differences.
    fn client_wait_mean_us(&self) -> Option<f64> {
        Some(self.response()?.mean_us - self.service()?.mean_us)
    }

    fn response(&self) -> Option<&'a TrialPercentiles> {
        match self {
            Self::Whole(numbers) => numbers.response.as_ref(),
            Self::Step(step) => step.response.as_ref(),
        }
    }

    fn service(&self) -> Option<&'a TrialPercentiles> {
        match self {
            Self::Whole(numbers) => numbers.service.as_ref(),
            Self::Step(step) => step.service.as_ref(),
        }
    }
}

/// Of the probe with the name; a probe that is not on the way is the one where the way ends.
fn ledger<'a>(named: &NamedMetric<'_>, trial: &'a TrialModel) -> Option<&'a LedgerInfo> {
    let mut before = trial.on_the_way.iter();
    let before = before.find(|place| Some(place.name.as_str()) == named.of);
    before.map(|place| &place.ledger).or(trial.ledger.as_ref())
}

fn delay<'a>(named: &NamedMetric<'_>, trial: &'a TrialModel) -> Option<&'a TrialPercentiles> {
    let mut before = trial.on_the_way.iter();
    match before.find(|place| Some(place.name.as_str()) == named.of) {
        Some(place) => place.delay.as_ref(),
        None => trial.numbers.as_ref()?.delay.as_ref(),
    }
}

fn watch<'a>(named: &NamedMetric<'_>, numbers: &'a TrialNumbers) -> Option<&'a crate::TrialWatch> {
    let mut watches = numbers.watches.iter();
    watches.find(|watch| Some(watch.name.as_str()) == named.of)
}
