//! A cell over its trials: estimates, sums, verdict.
//!
//! Estimates rest on every trial that came to its end, whatever its verdict: leaving out the bad ones would
//! select. The cell's verdict says whether they may be believed.

use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_results::{CellInfo, FailureKind, LedgerInfo, RunInfo, Trial};
use waggle_stats::{Estimate, Reason, Verdict};

use crate::{
    TrialModel, TrialNumbers,
    bottleneck::{self, Bottleneck, whole_components},
    distribution::{self, SpectrumPoint},
    distributions::{self, Distribution},
    instrument::component_of,
    metric::{self, CellNumber, Number},
    probes::{self, ProbeModel},
    recovered::{self, CellRecovery},
    steps::{self, SessionsModel, StepModel},
    system_metrics::{self, SystemMetricModel},
};

/// One combination of levels, over its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct CellModel {
    /// Counted from 1.
    pub cell: u32,
    pub levels: Vec<(String, String)>,
    /// Trials that were to run, that ran, and that the estimates rest on.
    pub planned: u32,
    pub ran: usize,
    pub counted: usize,
    /// It rests on the trials at the highest level that holds.
    pub is_searched: bool,
    /// `None`: no trial of it has run, or no level holds.
    pub verdict: Option<Verdict>,
    pub reasons: Vec<CellReason>,
    /// Per second, of what [`super::Counted`] says.
    pub goodput: Option<Estimate>,
    /// Answered requests per second, failures included.
    pub throughput: Option<Estimate>,
    pub response: Distribution,
    pub service: Distribution,
    /// From sent until visible.
    pub delay: Distribution,
    /// From sent until the store of the probe where it must arrive had it.
    pub arrival: Distribution,
    /// Probes on the records' way, without the last.
    pub intermediate_probes: Vec<ProbeModel>,
    /// Requests over the counted trials.
    pub succeeded: u64,
    pub failed: u64,
    /// Failures by kind, the most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// Failed ÷ answered, an estimate over trials is of no use for something that should be nothing.
    pub error_rate: Option<f64>,
    /// Answered ÷ due requests, in the trial that achieved least.
    pub achieved_ratio: Option<f64>,
    /// Sum over trials; `None` where no account was kept.
    pub ledger: Option<LedgerInfo>,
    /// Largest of the trials' poll intervals.
    pub delay_resolution_ms: Option<f64>,
    pub system_cpu_us_per_request: Option<Estimate>,
    pub generator_cpu_us_per_request: Option<Estimate>,
    /// The largest in any trial.
    pub system_rss_max_bytes: Option<Estimate>,
    /// Mean cores of each component replica.
    pub component_cores: Vec<(String, Estimate)>,
    /// Cores of all replicas of a component together.
    pub whole_component_cores: Vec<(String, Estimate)>,
    /// `None` where the CPU of no component is known.
    pub bottleneck: Option<Bottleneck>,
    pub metrics: Vec<SystemMetricModel>,
    /// Largest share of its CPU that a worker of the engine used in any trial.
    pub generator_utilization: Option<f64>,
    /// Largest p99 of the engine's lag in any trial.
    pub generator_lag_p99_us: Option<f64>,
    /// The largest share of the CPUs' time that the machine's host took in any trial; `None`: not noted.
    pub cpu_steal: Option<f64>,
    /// The largest share of what the engine can send by its calibration; `None` where it was not calibrated.
    pub generator_capacity_used: Option<f64>,
    /// Of the histograms of all counted trials together.
    pub spectrum: Vec<SpectrumPoint>,
    /// Of a scenario; none where the load is one request.
    pub steps: Vec<StepModel>,
    pub sessions: Option<SessionsModel>,
    /// How soon it had recovered; `None` if the load does not drop.
    pub recovery: Option<CellRecovery>,
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
    /// Whether its numbers may be believed; one of which no trial has run has none.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.verdict.is_some_and(Verdict::counts_for_thresholds)
    }

    /// The number of a path that the run names.
    #[must_use]
    pub fn number(&self, path: &[String]) -> Option<Number> {
        let mut numbers = self.numbers.iter();
        let found = numbers.find(|known| known.path == path)?;
        Some(found.number)
    }

    /// The same without its interval.
    #[must_use]
    pub fn value(&self, path: &[String]) -> Option<f64> {
        self.number(path).map(Number::point)
    }
}

pub(crate) fn cell(
    cell: &CellInfo,
    info: &RunInfo,
    trials: &[TrialModel],
    raw: &[Trial],
) -> CellModel {
    let ran: Vec<&TrialModel> = trials
        .iter()
        .filter(|trial| trial.key.cell == cell.cell)
        .collect();
    let counted: Vec<(&TrialModel, &TrialNumbers)> = ran
        .iter()
        .filter_map(|trial| Some((*trial, trial.counts()?)))
        .collect();
    let of_all = || counted.iter().map(|(_, numbers)| *numbers);
    let own: Vec<&TrialModel> = counted.iter().map(|(trial, _)| *trial).collect();
    let own_raw: Vec<&Trial> = own
        .iter()
        .filter_map(|trial| raw.iter().find(|raw| raw.info.key == trial.key))
        .collect();
    let over = |metric| metric::estimate(&NamedMetric::of_all(metric), &own);
    let times = |metric| distributions::over_trials(&NamedMetric::of_all(metric), &own);
    let point = |metric| metric::over_trials(&NamedMetric::of_all(metric), &own).map(Number::point);
    let goodput = over(Metric::Goodput);
    let (verdict, reasons) = verdict(&ran, goodput.as_ref(), info);
    let component_cores = component_cores(&counted);
    let whole_component_cores = whole_component_cores(&counted, &component_cores);
    CellModel {
        cell: cell.cell,
        levels: cell.levels.clone(),
        planned: planned_trials(info, ran.len()),
        ran: ran.len(),
        counted: counted.len(),
        is_searched: info.search.is_some(),
        verdict,
        reasons,
        goodput,
        throughput: over(Metric::Throughput),
        response: times(Metric::ResponseTime),
        service: times(Metric::ServiceTime),
        delay: times(Metric::Delay),
        arrival: times(Metric::ArrivalDelay),
        intermediate_probes: probes::over_trials(&own),
        succeeded: of_all().map(|numbers| numbers.succeeded).sum(),
        failed: of_all().map(|numbers| numbers.failed).sum(),
        failures: distribution::by_kind(of_all().flat_map(|numbers| &numbers.failures)),
        error_rate: point(Metric::ErrorRate),
        achieved_ratio: point(Metric::AchievedRatio),
        ledger: ledger(&counted),
        delay_resolution_ms: point(Metric::Resolution).map(|us| us / 1e3),
        system_cpu_us_per_request: over(Metric::SystemCpuPerRequest),
        generator_cpu_us_per_request: over(Metric::GeneratorCpuPerRequest),
        system_rss_max_bytes: metric::estimate(
            &NamedMetric {
                statistic: Some(Statistic::Max),
                ..NamedMetric::of_all(Metric::SystemRss)
            },
            &own,
        ),
        component_cores,
        bottleneck: bottleneck::of_cell(&whole_component_cores, of_all(), info),
        metrics: system_metrics::over_trials(&own),
        whole_component_cores,
        generator_utilization: point(Metric::GeneratorUtilization),
        generator_lag_p99_us: point(Metric::GeneratorLagP99),
        cpu_steal: point(Metric::CpuSteal),
        generator_capacity_used: point(Metric::GeneratorCapacityUsed),
        spectrum: distribution::spectrum_of(
            own_raw.iter().map(|trial| (*trial, &trial.response_time)),
        ),
        steps: steps::over_trials(&own, &own_raw),
        sessions: steps::sessions(&own),
        recovery: recovered::over_trials(&own),
        numbers: metric::of_cell(info, &own),
    }
}

/// Every kind of failure in any cell, the most frequent first.
pub fn failure_kinds(cells: &[CellModel]) -> Vec<FailureKind> {
    let mut sums: Vec<(FailureKind, u64)> = Vec::new();
    for &(kind, count) in cells.iter().flat_map(|cell| &cell.failures) {
        match sums.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum += count,
            None => sums.push((kind, count)),
        }
    }
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.into_iter().map(|(kind, _)| kind).collect()
}

/// Of a search as many trials are planned as it needed.
fn planned_trials(info: &RunInfo, ran: usize) -> u32 {
    match info.search {
        Some(_) => u32::try_from(ran).unwrap_or(u32::MAX),
        None => info.schedule.repeat,
    }
}

fn ledger(counted: &[(&TrialModel, &TrialNumbers)]) -> Option<LedgerInfo> {
    counted
        .iter()
        .filter_map(|(trial, _)| trial.ledger.clone())
        .reduce(probes::sum)
}

/// Of each replica.
fn component_cores(counted: &[(&TrialModel, &TrialNumbers)]) -> Vec<(String, Estimate)> {
    let replicas = values_by_name(counted, |numbers| numbers.component_cores.clone());
    let estimated =
        |(replica, values): (String, Vec<f64>)| Some((replica, waggle_stats::estimate(&values)?));
    replicas.into_iter().filter_map(estimated).collect()
}

/// All replicas of each component together; a single replica is estimated already.
fn whole_component_cores(
    counted: &[(&TrialModel, &TrialNumbers)],
    replicas: &[(String, Estimate)],
) -> Vec<(String, Estimate)> {
    let whole = |(component, values): (String, Vec<f64>)| {
        let mut own = replicas
            .iter()
            .filter(|(replica, _)| component_of(replica) == component);
        let estimate = match (own.next(), own.next()) {
            (Some((_, only)), None) => *only,
            _ => waggle_stats::estimate(&values)?,
        };
        Some((component, estimate))
    };
    let all = values_by_name(counted, whole_components);
    all.into_iter().filter_map(whole).collect()
}

/// What each trial has, by name, in the order in which names first come.
fn values_by_name(
    counted: &[(&TrialModel, &TrialNumbers)],
    of_trial: impl Fn(&TrialNumbers) -> Vec<(String, f64)>,
) -> Vec<(String, Vec<f64>)> {
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    for (component, cores) in counted.iter().flat_map(|(_, numbers)| of_trial(numbers)) {
        match all.iter_mut().find(|(name, _)| *name == component) {
            Some((_, values)) => values.push(cores),
            None => all.push((component, vec![cores])),
        }
    }
    all
}

/// A cell's verdict (`None`: nothing of it has run) with its reasons: what statistics says of the cell, then why each
/// of its trials is not valid.
fn verdict(
    trials: &[&TrialModel],
    goodput: Option<&Estimate>,
    info: &RunInfo,
) -> (Option<Verdict>, Vec<CellReason>) {
    let verdicts: Vec<Verdict> = trials.iter().map(|trial| trial.verdict).collect();
    let reasons = waggle_stats::cell_reasons(&verdicts, goodput, info.schedule.max_ci_width);
    let verdict = (!trials.is_empty()).then(|| waggle_stats::verdict_of(&reasons));
    let of_cell = reasons.into_iter().map(|reason| CellReason {
        repetition: None,
        reason,
    });
    let of_trials = trials.iter().flat_map(|trial| {
        trial.reasons.iter().map(|reason| CellReason {
            repetition: Some(trial.key.repetition),
            reason: reason.clone(),
        })
    });
    (verdict, of_cell.chain(of_trials).collect())
}
