//! A cell over its trials: estimates, sums, verdict.
//!
//! Estimates rest on every trial that came to its end, whatever its verdict: leaving out the bad ones would
//! select. The cell's verdict says whether they may be believed.

use waggle_metrics::{Metric, NamedMetric, Statistic, Subject};
use waggle_results::{CellInfo, FailureKind, LedgerInfo, RunInfo, SampleInfo, Trial};
use waggle_spec::{LoadRole, TimeKind};
use waggle_stats::{
    Asked, Aspect, Bias, CellFinding, ChangeOverTrials, Estimate, MetricVerdict, Reason, Verdict,
};

use crate::{
    cell::{
        asked_metrics::{
            AskedMetric, AskedReading, asked_readings, estimate_asked_metrics, estimate_readings,
        },
        causes::{self, CellCause},
        cell_number::{self, CellNumber},
        clients::{self, ClientsModel},
        component_cores,
        contention::{self, ContentionModel},
        cpu_capacity::{CpuCapacity, cpu_capacity},
        distribution::{self, Distribution},
        pooled::Pooled,
        probe_delays::{self, ProbeModel},
        scenario::{self, SessionsModel, StepModel},
        streamed_answers::{self, AnswersModel},
        system_over_trials::{self, SystemMetricModel},
        time_to_recover::{self, CellRecovery},
    },
    info::metric_path::resolve_path,
    metric::{
        aggregate,
        aspect::aspect,
        biases::{biases, distinct, resolve_biases, shared_biases, trial_biases},
        number::Number,
        windows::Hidden,
    },
    recording::{
        delays::DelaySource,
        histogram::{self, SpectrumPoint},
    },
    trial::{
        bottleneck::{self, Bottleneck},
        limits::{self, ComponentLimits},
        trial_model::{TrialModel, TrialNumbers},
    },
};

/// One combination of levels, over its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct CellModel {
    /// Counted from 1.
    pub cell: u32,
    /// As the study names it.
    pub name: Option<String>,
    pub levels: Vec<(String, String)>,
    /// Levels that are computed from these; no factors.
    pub derived: Vec<(String, String)>,
    /// Trials that were to run, that ran, and that the estimates rest on.
    pub planned: u32,
    pub ran: usize,
    pub counted: usize,
    /// It rests on the trials at the highest level that holds.
    pub is_searched: bool,
    /// `None`: no trial of it has run, or no level holds.
    pub verdict: Option<Verdict>,
    pub reasons: Vec<CellReason>,
    /// Where the reasons of its trials come from, as far as that is known.
    pub causes: Vec<CellCause>,
    /// How the throughput changes within the measured phase, over trials; `None` of few trials, or of short ones.
    pub change: Option<ChangeOverTrials>,
    /// What may be wrong with each kind of metric, and in which directions; kinds without a doubt are left out.
    pub doubts: Vec<(Aspect, Vec<Bias>)>,
    /// The metrics that the study asks about.
    pub asked: Vec<AskedMetric>,
    /// Per second, of what [`Counted`](crate::info::factor::Counted) says.
    pub goodput: Option<Estimate>,
    /// Answered requests per second, failures included.
    pub throughput: Option<Estimate>,
    pub response: Distribution,
    pub service: Distribution,
    /// How the delays at the last probe are known; `None`: records were not followed.
    pub delay_source: Option<DelaySource>,
    /// From sent until visible.
    pub delay: Distribution,
    /// From sent until the store of the probe where it must arrive had it.
    pub arrival: Distribution,
    /// Probes on the records' way, without the last.
    pub intermediate_probes: Vec<ProbeModel>,
    /// Requests over the counted trials.
    pub succeeded: u64,
    pub failed: u64,
    /// Failed requests by kind, the most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// The same of connections and sessions.
    pub other_failures: Vec<(FailureKind, u64)>,
    /// Failed ÷ answered, an estimate over trials is of no use for something that should be nothing.
    pub error_rate: Option<f64>,
    /// Answered ÷ due requests, in the trial that achieved least.
    pub achieved_ratio: Option<f64>,
    /// Sum over trials; `None` where no account was kept.
    pub ledger: Option<LedgerInfo>,
    /// The records that the last probe followed as they came, of the whole load, if that is only a part of them.
    pub delay_sample: Option<SampleInfo>,
    pub system_cpu_us_per_request: Option<Estimate>,
    pub generator_cpu_us_per_request: Option<Estimate>,
    /// The largest in any trial.
    pub system_rss_max_bytes: Option<Estimate>,
    /// Mean cores of each component replica.
    pub component_cores: Vec<(String, Estimate)>,
    /// Cores of all replicas of a component together.
    pub whole_component_cores: Vec<(String, Estimate)>,
    /// Of the components that had any.
    pub component_limits: Vec<ComponentLimits>,
    /// `None` where the CPU of no component is known.
    pub bottleneck: Option<Bottleneck>,
    pub metrics: Vec<SystemMetricModel>,
    /// Largest share of its CPU that a worker of the engine used in any trial.
    pub generator_utilization: Option<f64>,
    /// Largest p99 of the engine's lag in any trial.
    pub generator_lag_p99_us: Option<f64>,
    /// The largest share of the system's CPU that reading the records back took in any trial.
    pub probe_cpu_share: Option<f64>,
    /// The largest share of the CPUs' time that the machine's host took in any trial; `None`: not noted.
    pub cpu_steal: Option<f64>,
    /// The mean share of the CPUs' time without work; `None`: not noted.
    pub cpu_idle: Option<f64>,
    /// What other programs and the host of the machine used; `None`: not known.
    pub contention: Option<ContentionModel>,
    /// CPU per request or record where CPU limits; `None`: it does not, or the load is not closed.
    pub cpu_capacity: Option<CpuCapacity>,
    /// The largest share of what the engine can send by its calibration; `None` where it was not calibrated.
    pub generator_capacity_used: Option<f64>,
    /// Of the histograms of all counted trials together.
    pub spectrum: Vec<SpectrumPoint>,
    /// Of all requests, and of all records, of the counted trials together; the distributions above are over trials.
    pub pooled: Pooled,
    /// Of a scenario; none where the load is one request.
    pub steps: Vec<StepModel>,
    pub sessions: Option<SessionsModel>,
    pub clients: Option<ClientsModel>,
    /// `None` if answers were not inspected.
    pub answers: Option<AnswersModel>,
    /// How soon it had recovered; `None` if the load does not drop.
    pub recovery: Option<CellRecovery>,
    /// The background loads of the study that are absent in it.
    pub absent_loads: Vec<String>,
    /// Trials came to their end, and none has a fault.
    pub is_without_faults: bool,
    /// Every number that a condition or a column of reference results names, where the cell has it.
    pub numbers: Vec<CellNumber>,
}

/// Why a cell has its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct CellReason {
    /// Of this repetition; `None`: of the cell over its trials.
    pub repetition: Option<u32>,
    pub reason: Reason,
}

impl CellModel {
    /// Whether no doubt changes what is said of the metrics that the study asks about; not in a cell of which no trial has run.
    #[must_use]
    pub fn is_free_of_doubt(&self) -> bool {
        self.verdict == Some(Verdict::Valid)
    }

    /// Whether something is known of what the study asks about: the system kept up with the load, the counts add up, and some metric
    /// has a value or a bound.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let is_measured = matches!(
            self.verdict,
            Some(
                Verdict::Valid
                    | Verdict::Unsteady
                    | Verdict::Contended
                    | Verdict::InstrumentLimited
            )
        );
        let mut asked = self.asked.iter();
        is_measured && asked.any(|metric| metric.verdict != MetricVerdict::Unknown)
    }

    /// The reasons that it has over its trials, and that no trial has by itself.
    pub(crate) fn own_reasons(&self) -> Vec<Reason> {
        change_reason(self.change.as_ref()).into_iter().collect()
    }

    /// In which directions the system's own value of a metric may differ from the measured one, beyond its interval.
    #[must_use]
    pub fn biases(&self, metric: Metric) -> Vec<Bias> {
        let aspect = aspect(metric);
        let mut doubts = self.doubts.iter();
        let doubt = doubts.find(|(doubt_aspect, _)| *doubt_aspect == aspect);
        resolve_biases(
            metric,
            doubt
                .into_iter()
                .flat_map(|(_, biases)| biases.iter().copied()),
        )
    }

    /// The number of a path that the run names.
    #[must_use]
    pub fn number(&self, path: &[String]) -> Option<Number> {
        let mut numbers = self.numbers.iter();
        let entry = numbers.find(|known| known.path == path)?;
        Some(entry.number)
    }

    /// Whether a path names a metric of a background load that is absent in the cell, or of faults in a cell without any.
    #[must_use]
    pub fn lacks(&self, path: &[String]) -> bool {
        let Some(named) = resolve_path(path) else {
            return false;
        };
        let mut absent = self.absent_loads.iter();
        let is_absent = |name: &&str| absent.any(|known| known == name);
        match named.row.subject {
            Subject::Fault => self.is_without_faults,
            Subject::SideLoad(LoadRole::Background) => named.of.as_ref().is_some_and(is_absent),
            _ => false,
        }
    }

    /// What is known of the number of a path that is that of a few windows of a sample; `None`: it is shown as well as any other.
    #[must_use]
    pub fn hidden_value(&self, path: &[String]) -> Option<Hidden> {
        let mut numbers = self.numbers.iter();
        numbers.find(|known| known.path == path)?.hidden
    }

    /// The same without its interval.
    #[must_use]
    pub fn value(&self, path: &[String]) -> Option<f64> {
        self.number(path).map(Number::point)
    }
}

/// The change within the measured phase of each cell, by the trials that each rests on, as far as all cells show them together.
pub(crate) fn changes<'a>(
    cells: impl IntoIterator<Item = &'a [TrialModel]>,
) -> Vec<Option<ChangeOverTrials>> {
    let of_cell = |trials: &'a [TrialModel]| {
        let counted = trials.iter().filter(|trial| trial.counts().is_some());
        change(&counted.collect::<Vec<_>>())
    };
    let mut all: Vec<Option<ChangeOverTrials>> = cells.into_iter().map(of_cell).collect();
    waggle_stats::hold_changes(all.iter_mut().flatten());
    all
}

/// A cell with what [`changes`] found of it.
#[expect(clippy::too_many_lines, reason = "a line a field")]
pub(crate) fn cell(
    cell: &CellInfo,
    change: Option<ChangeOverTrials>,
    info: &RunInfo,
    trials: &[TrialModel],
    raw: &[Trial],
) -> CellModel {
    let ran = trials
        .iter()
        .filter(|trial| trial.info.key.cell == cell.cell);
    let ran: Vec<&TrialModel> = ran.collect();
    let counted = ran
        .iter()
        .filter_map(|trial_run| Some((*trial_run, trial_run.counts()?)));
    let counted: Vec<(&TrialModel, &TrialNumbers)> = counted.collect();
    let of_all = || counted.iter().map(|(_, numbers)| *numbers);
    let counted_trials: Vec<&TrialModel> = counted.iter().map(|(trial, _)| *trial).collect();
    let raw_of = |trial: &&TrialModel| raw.iter().find(|raw| raw.info.key == trial.info.key);
    let own_raw: Vec<&Trial> = counted_trials.iter().filter_map(raw_of).collect();
    let all = NamedMetric::of_all;
    let over = |metric| aggregate::estimate(&all(metric), &counted_trials);
    let times = |metric| distribution::over_trials(&all(metric), &counted_trials);
    let point = |metric| aggregate::over_trials(&all(metric), &counted_trials).map(Number::point);
    let of_cell: Vec<Reason> = change_reason(change.as_ref()).into_iter().collect();
    let (verdict, reasons) = verdict(&ran, &estimate_asked(info, &counted_trials), &of_cell);
    let (component_cores, whole_component_cores) =
        component_cores::over_trials(&counted, &counted_trials);
    CellModel {
        cell: cell.cell,
        name: cell.name.clone(),
        levels: cell.levels.clone(),
        derived: cell.derived.clone(),
        planned: planned_trials(info, cell.cell, ran.len()),
        ran: ran.len(),
        counted: counted.len(),
        is_searched: info.search.is_some(),
        verdict,
        reasons,
        causes: causes::over_trials(&ran),
        doubts: doubts(&ran, &of_cell),
        asked: estimate_asked_metrics(info, &counted_trials, &of_cell),
        change,
        goodput: over(Metric::Goodput),
        throughput: over(Metric::Throughput),
        response: times(Metric::Time(TimeKind::Response)),
        service: times(Metric::Time(TimeKind::Service)),
        delay_source: DelaySource::over_trials(
            counted
                .iter()
                .filter(|(trial, _)| trial.info.delivery.is_some())
                .map(|(_, numbers)| numbers.delays.source),
        ),
        delay: times(Metric::Delay),
        arrival: times(Metric::ArrivalDelay),
        intermediate_probes: probe_delays::over_trials(&counted_trials),
        succeeded: of_all().map(|numbers| numbers.counts.succeeded).sum(),
        failed: of_all().map(|numbers| numbers.counts.failed).sum(),
        failures: histogram::by_kind(of_all().flat_map(|numbers| &numbers.counts.failures)),
        other_failures: histogram::by_kind(
            of_all().flat_map(|numbers| &numbers.counts.other_failures),
        ),
        error_rate: point(Metric::ErrorRate),
        achieved_ratio: point(Metric::AchievedRatio),
        ledger: ledger(&counted),
        delay_sample: delay_sample(&counted_trials),
        system_cpu_us_per_request: over(Metric::SystemCpuPerRequest),
        generator_cpu_us_per_request: over(Metric::GeneratorCpuPerRequest),
        system_rss_max_bytes: peak_memory(&counted_trials),
        component_cores,
        bottleneck: bottleneck::of_cell(&whole_component_cores, of_all(), info),
        metrics: system_over_trials::over_trials(&counted_trials),
        whole_component_cores,
        component_limits: limits::of_cell(&ran, |component| {
            throttled_estimate(component, &counted_trials)
        }),
        generator_utilization: point(Metric::GeneratorUtilization),
        generator_lag_p99_us: point(Metric::GeneratorLagP99),
        probe_cpu_share: largest(of_all().filter_map(|trial_run| trial_run.probe_cpu_share)),
        cpu_steal: point(Metric::CpuSteal),
        cpu_idle: point(Metric::CpuIdle),
        contention: contention::over_trials(counted_trials.iter().copied(), info),
        cpu_capacity: cpu_capacity(&counted_trials, info),
        generator_capacity_used: point(Metric::GeneratorCapacityUsed),
        spectrum: spectrum(&own_raw),
        pooled: Pooled::of_trials(&own_raw),
        steps: scenario::over_trials(&counted_trials, &own_raw),
        sessions: scenario::sessions(&counted_trials),
        clients: clients::of_cell(&counted_trials),
        answers: streamed_answers::of_cell(&counted_trials),
        recovery: time_to_recover::over_trials(&counted_trials),
        absent_loads: absent_loads(&ran),
        is_without_faults: !counted_trials.is_empty()
            && ran.iter().all(|trial| trial.faults.is_none()),
        numbers: cell_number::of_cell(info, &counted_trials),
    }
}

fn spectrum(trials: &[&Trial]) -> Vec<SpectrumPoint> {
    let trials = trials.iter();
    histogram::spectrum_of(trials.map(|trial| (*trial, &trial.times[TimeKind::Response])))
}

fn delay_sample(trials: &[&TrialModel]) -> Option<SampleInfo> {
    let trials = trials.iter();
    probe_delays::sample(
        trials
            .filter_map(|trial| Some((trial.info.delivery.as_ref()?, trial.info.ledger.as_ref()?))),
    )
}

/// Of trials that came to their end.
fn estimate_asked(info: &RunInfo, trials: &[&TrialModel]) -> Vec<Asked> {
    let readings = trials.iter().map(|trial| asked_readings(info, trial));
    let readings: Vec<Vec<AskedReading>> = readings.collect();
    estimate_readings(&readings.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

fn peak_memory(trials: &[&TrialModel]) -> Option<Estimate> {
    let peak = NamedMetric {
        statistic: Some(Statistic::Max),
        ..NamedMetric::of_all(Metric::SystemRss)
    };
    aggregate::estimate(&peak, trials)
}

/// Of trials that came to their end.
fn change(trials: &[&TrialModel]) -> Option<ChangeOverTrials> {
    let changes = trials.iter().map(|trial| trial.half_change);
    waggle_stats::change_over_trials(&changes.collect::<Option<Vec<f64>>>()?)
}

/// That the trials have a change in common, if it is shown.
fn change_reason(change: Option<&ChangeOverTrials>) -> Option<Reason> {
    let change = change.filter(|change| change.is_shown)?;
    Some(Reason {
        verdict: Verdict::Unsteady,
        finding: CellFinding::Changed {
            ratio: change.ratio.point,
        }
        .into(),
    })
}

fn doubts(trials: &[&TrialModel], of_cell: &[Reason]) -> Vec<(Aspect, Vec<Bias>)> {
    let mut doubts = Vec::new();
    for aspect in Aspect::ALL {
        let each = trials
            .iter()
            .map(|trial| trial_biases(aspect, trial, trials.len()));
        let common_biases = shared_biases(&each.collect::<Vec<_>>());
        let all = distinct(common_biases.into_iter().chain(biases(aspect, of_cell)));
        if !all.is_empty() {
            doubts.push((aspect, all));
        }
    }
    doubts
}

/// Every kind of failure in one of its lists in any cell, the most frequent first.
pub fn failure_kinds(
    cells: &[CellModel],
    list: fn(&CellModel) -> &[(FailureKind, u64)],
) -> Vec<FailureKind> {
    let mut sums: Vec<(FailureKind, u64)> = Vec::new();
    for &(kind, count) in cells.iter().flat_map(list) {
        match sums.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum += count,
            None => sums.push((kind, count)),
        }
    }
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.into_iter().map(|(kind, _)| kind).collect()
}

/// With those that were added. Of a search as many trials are planned as it needed.
fn planned_trials(info: &RunInfo, cell: u32, ran: usize) -> u32 {
    let planned = match info.search {
        Some(_) => ran,
        None => info.order.iter().filter(|key| key.cell == cell).count(),
    };
    u32::try_from(planned).unwrap_or(u32::MAX)
}

fn ledger(counted: &[(&TrialModel, &TrialNumbers)]) -> Option<LedgerInfo> {
    counted
        .iter()
        .filter_map(|(trial, _)| trial.info.ledger.clone())
        .reduce(probe_delays::sum)
}

fn throttled_estimate(component: &str, trials: &[&TrialModel]) -> Option<Estimate> {
    let metric = NamedMetric {
        of: Some(component),
        ..NamedMetric::of_all(Metric::ComponentThrottled)
    };
    aggregate::estimate(&metric, trials)
}

/// A cell's verdict (`None`: nothing of it has run) with its reasons: what statistics says of the cell, then why each
/// of its trials is not valid.
fn verdict(
    trials: &[&TrialModel],
    asked: &[Asked],
    of_cell: &[Reason],
) -> (Option<Verdict>, Vec<CellReason>) {
    let each: Vec<&[Reason]> = trials.iter().map(|trial| &*trial.reasons).collect();
    let mut reasons = waggle_stats::cell_reasons(&each, asked);
    let concerns = |reason: &&Reason| asked.iter().any(|asked| asked.is_changed_by(reason));
    reasons.extend(of_cell.iter().filter(concerns).cloned());
    let verdict = (!trials.is_empty()).then(|| waggle_stats::verdict_of(&reasons));
    let of_cell = reasons.into_iter().map(|reason| CellReason {
        repetition: None,
        reason,
    });
    let of_trials = trials.iter().flat_map(|trial| {
        trial.reasons.iter().map(|reason| CellReason {
            repetition: Some(trial.info.key.repetition),
            reason: reason.clone(),
        })
    });
    (verdict, of_cell.chain(of_trials).collect())
}

/// The background loads that are absent in the cell of these trials.
fn absent_loads(trials: &[&TrialModel]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in trials.iter().flat_map(|trial| &trial.info.absent_loads) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
