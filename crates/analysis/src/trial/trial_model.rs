//! One trial's numbers, verdict and reasons.

use waggle_metrics::Metric;
use waggle_results::{
    ClientInfo, CountsRow, GeneratorInfo, LogTail, MachineInfo, NetworkCounts, PhaseName, RunInfo,
    SessionCounts, Trial, TrialEnd, TrialInfo,
};
use waggle_spec::{LoadRole, TimeKind, Times};
use waggle_stats::{Cause, Finding, Reason, Stall, StallSpan, Verdict};

use crate::{
    info::{factor::Counted, imported},
    recording::{
        delays::{DelayLogs, Delays},
        histogram::{self, TrialPercentiles, as_f64},
        lag::percentiles_without_lag,
        samples,
        trial_view::TrialView,
    },
    trial::{
        bottleneck::cpus_of_system,
        judge::{self, Judged},
        limits, machine,
        memory::{self, Memory},
        outage::{self, TrialFaults},
        probe::{self, TrialProbe},
        recovery::{self, TrialRecovery},
        series::{self, Series},
        side_load::{self, TrialSideLoad},
        step::{self, TrialStep},
        system_metric::{self, TrialSystemMetric},
        time_weighted,
    },
};

/// One run of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialModel {
    /// As it is on disk.
    pub info: TrialInfo,
    pub levels: Vec<(String, String)>,
    pub verdict: Verdict,
    pub reasons: Vec<Reason>,
    /// Where the reasons come from, as far as that is known.
    pub causes: Vec<Cause>,
    pub failure: Option<Failure>,
    /// `None` where nothing was measured.
    pub numbers: Option<TrialNumbers>,
    /// In the order of the records' way, without the last.
    pub intermediate_probes: Vec<TrialProbe>,
    /// `None` if the load did not drop, or the trial did not come to its end.
    pub recovery: Option<TrialRecovery>,
    /// What the runner saw, then what the checks found worth a line.
    pub remarks: Vec<TrialRemark>,
    /// The generator came late, and idle polling may help it.
    pub awake_may_help: bool,
    /// What was done to components on purpose; `None`: nothing.
    pub faults: Option<TrialFaults>,
    /// The loads that are not the measured one, in the order of the study.
    pub side_loads: Vec<TrialSideLoad>,
    pub series: Series,
    /// The ends of the components' logs, by name.
    pub logs: Vec<LogTail>,
    /// Throughput of the second half of the measured phase ÷ that of the first, as a logarithm.
    pub half_change: Option<f64>,
    /// Length of an interval.
    pub interval_s: f64,
    /// CPUs that the system could use.
    pub system_cpus: Option<u32>,
}

/// Worth a line, and no reason to doubt the trial.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialRemark {
    /// By the runner, in its words.
    Seen(String),
    /// By a check.
    Found(Finding),
}

/// Why a trial did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub phase: PhaseName,
    pub reason: String,
    pub log_tail: Vec<String>,
}

impl Failure {
    /// The line of the log that says most: the last one that names an error, else the last one.
    #[must_use]
    pub fn log_line(&self) -> Option<&str> {
        const ERRORS: [&str; 8] = [
            "error",
            "exception",
            "panicked",
            "fatal",
            "cannot",
            "failed",
            "denied",
            "refused",
        ];
        let lines = || self.log_tail.iter().map(|line| line.trim());
        let is_error = |line: &&str| {
            let line = line.to_lowercase();
            ERRORS.iter().any(|word| line.contains(word))
        };
        let named = lines().rfind(is_error);
        named.or_else(|| lines().rfind(|line| !line.is_empty()))
    }
}

/// The measured phase in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialNumbers {
    pub counts: CountsRow,
    /// What the load generator noted of itself; all 0 and unknown of another tool's.
    pub generator: GeneratorInfo,
    /// What the CPUs did, and who used them; `None`: not noted.
    pub machine: Option<MachineInfo>,
    /// At the probe where records must arrive.
    pub delays: Delays,
    /// Succeeded records (or requests) per second.
    pub goodput_per_s: f64,
    /// Answered requests per second, failures included.
    pub throughput_per_s: f64,
    /// From the sum of their times.
    pub in_flight_mean: f64,
    /// By kind; none without a sample.
    pub times: Times<Option<TrialPercentiles>>,
    /// The lowest that response times may be without the lag of the load generator; `None`: the lag was not noted.
    pub response_without_lag: Option<TrialPercentiles>,
    /// What an arrival at a random instant of a load that waits for answers waits; `None`: another load, or not known.
    pub time_weighted: Option<TrialPercentiles>,
    /// Stretches without a success, in their order; `None`: not known.
    pub stalls: Option<Vec<StallSpan>>,
    /// `None` where resources were not sampled.
    pub system_cpu_us_per_request: Option<f64>,
    pub generator_utilization: f64,
    /// CPU that reading the records back took, as a share of what the system used.
    pub probe_cpu_share: Option<f64>,
    /// Requests sent, as a share of what the load generator can send.
    pub generator_capacity_used: Option<f64>,
    /// Mean cores of each component replica.
    pub component_cores: Vec<(String, f64)>,
    /// The shortest and the longest time between two readings of these of one replica, in seconds; `None`: none was read twice.
    pub readings_apart_s: Option<(f64, f64)>,
    /// Of all the system's components together.
    pub system_rss: Option<Memory>,
    /// Of all replicas of each component together.
    pub component_rss: Vec<(String, Memory)>,
    /// The share of throttled periods of each component that has a limit on CPUs by a cgroup.
    pub component_throttled: Vec<(String, f64)>,
    /// Answered ÷ due requests; `None` where none was due.
    pub achieved_ratio: Option<f64>,
    /// Most records that were accepted and not yet visible at one look; `None` where nobody looked.
    pub backlog_max: Option<f64>,
    pub bytes_sent_per_s: f64,
    pub bytes_received_per_s: f64,
    /// Of a scenario; none where the load is one request.
    pub steps: Vec<TrialStep>,
    pub sessions: Option<SessionCounts>,
    /// Completed ones.
    pub sessions_per_s: Option<f64>,
    /// Of a load of clients.
    pub clients: Vec<ClientInfo>,
    /// What the trial's own network counted.
    pub network: Option<NetworkCounts>,
    pub metrics: Vec<TrialSystemMetric>,
    /// What imported results do not show, so that the numbers above have no meaning; empty of waggle's own.
    pub unknown: Vec<Metric>,
    /// Times are not finer than this; 0: as fine as histograms are.
    pub time_resolution_us: f64,
    /// The most that an instant of an agent can be wrong in the runner's time; 0: the load was made on its machine.
    pub clock_error_us: f64,
}

impl TrialNumbers {
    /// All stalls together; `None`: there was none, or they are not known.
    #[must_use]
    pub fn stall(&self) -> Option<Stall> {
        Stall::new(self.stalls.as_ref()?, self.counts.seconds)
    }

    /// 0: there was none.
    pub(crate) fn longest_stall_s(&self) -> Option<f64> {
        self.stalls.as_ref()?;
        Some(self.stall().map_or(0.0, |stall| stall.longest_s))
    }

    /// Of the measured phase.
    pub(crate) fn stalled_ratio(&self) -> Option<f64> {
        self.stalls.as_ref()?;
        Some(self.stall().map_or(0.0, |stall| stall.ratio()))
    }
}

impl TrialModel {
    /// The loads of a role, in the order of the study.
    pub fn loads_of(&self, role: LoadRole) -> impl Iterator<Item = &TrialSideLoad> {
        let loads = self.side_loads.iter();
        loads.filter(move |load| load.info.role == role)
    }

    /// Whether the cell's estimates rest on it too: it came to its end and measured something.
    #[must_use]
    pub fn counts(&self) -> Option<&TrialNumbers> {
        if self.failure.is_some() {
            None
        } else {
            self.numbers.as_ref()
        }
    }
}

pub(crate) fn trial(trial: &Trial, info: &RunInfo, counted: Counted) -> TrialModel {
    let view = TrialView::new(trial);
    let machine = machine::machine(&view, info);
    let Judged {
        findings,
        half_change,
        stalls,
    } = judge::trial(&view, info, machine);
    let numbers = numbers(&view, counted, machine).map(|numbers| TrialNumbers {
        time_weighted: time_weighted::of_trial(&view, info, &stalls),
        stalls: imported_quantiles(&trial.info).is_none().then_some(stalls),
        ..numbers
    });
    let failure = match &trial.info.end {
        TrialEnd::Completed => None,
        TrialEnd::Failed {
            phase,
            reason,
            log_tail,
        } => Some(Failure {
            phase: *phase,
            reason: reason.clone(),
            log_tail: log_tail.clone(),
        }),
    };
    TrialModel {
        info: trial.info.clone(),
        levels: info
            .cell(trial.info.key.cell)
            .map(|cell| cell.levels.clone())
            .unwrap_or_default(),
        verdict: waggle_stats::verdict_of(&findings.reasons),
        reasons: findings.reasons,
        causes: findings.causes,
        awake_may_help: findings.idle_poll_may_help,
        failure,
        numbers,
        intermediate_probes: probe::of_trial(&view),
        recovery: recovery::of_trial(trial),
        remarks: trial
            .info
            .remarks
            .iter()
            .cloned()
            .map(TrialRemark::Seen)
            .chain(findings.remarks.into_iter().map(TrialRemark::Found))
            .collect(),
        faults: outage::of_trial(trial),
        logs: trial.logs.clone(),
        side_loads: side_load::of_trial(&trial.info),
        series: series::series(&view, counted, series::points_max(info.order.len())),
        half_change,
        interval_s: judge::interval_s(trial),
        system_cpus: cpus_of_system(info),
    }
}

fn clock_error_us(info: &TrialInfo) -> f64 {
    let errors = info.agents.iter().map(|agent| agent.clock_error_ms * 1e3);
    errors.fold(0.0, f64::max)
}

fn numbers(
    view: &TrialView<'_>,
    counted: Counted,
    machine: Option<MachineInfo>,
) -> Option<TrialNumbers> {
    let TrialView {
        trial,
        times,
        accepted,
        samples,
        measured: within,
        ..
    } = view;
    let measured = &trial.info.measured;
    trial
        .info
        .phase(PhaseName::Measure)
        .filter(|_| measured.seconds > 0.0)?;
    let answered = answer_count(measured);
    let sessions = trial.info.sessions.as_ref().map(|all| all.measured);
    let imported = trial.info.imported.as_ref();
    let generator = trial.info.generator.clone().unwrap_or_default();
    let quantiles = imported_quantiles(&trial.info);
    let delays = DelayLogs::of_last_probe(trial).map(|logs| logs.percentiles());
    let (cores, memory) = (samples.cores(*within), memory::of_trial(samples, *within));
    Some(TrialNumbers {
        counts: measured.clone(),
        machine,
        delays: delays.unwrap_or_default(),
        goodput_per_s: as_f64(good(measured, counted)) / measured.seconds,
        throughput_per_s: answered / measured.seconds,
        in_flight_mean: mean_in_flight(trial, *within),
        times: Times::from_fn(|kind| {
            let is_of_answers = matches!(kind, TimeKind::Response | TimeKind::Service);
            histogram::of_trial(&times[kind])
                .or_else(|| quantiles.clone().filter(|_| is_of_answers))
        }),
        response_without_lag: (generator.lag.as_ref())
            .and_then(|lag| percentiles_without_lag(&times[TimeKind::Response], lag)),
        time_weighted: None,
        stalls: None,
        system_cpu_us_per_request: samples::of_system(&cores)
            .filter(|_| answered > 0.0)
            .map(|cores| cores * measured.seconds * 1e6 / answered),
        network: trial.info.network_counts(),
        generator_utilization: side_load::utilization(&trial.info),
        probe_cpu_share: judge::probe_cpu_share(view),
        generator_capacity_used: capacity_used(&generator, measured),
        component_cores: own_names(cores),
        readings_apart_s: samples.readings_apart_s(),
        system_rss: memory.system,
        component_rss: memory.components,
        component_throttled: limits::throttled_shares(&trial.info.limits),
        achieved_ratio: achieved_ratio(&trial.info, answered),
        backlog_max: accepted.waiting_max(&trial.backlog, *within),
        bytes_sent_per_s: as_f64(measured.bytes_sent) / measured.seconds,
        bytes_received_per_s: as_f64(measured.bytes_received) / measured.seconds,
        steps: step::of_trial(trial),
        sessions,
        sessions_per_s: sessions.map(|counts| as_f64(counts.completed) / measured.seconds),
        clients: trial.info.clients.clone(),
        metrics: system_metric::of_trial(&trial.metrics, *within),
        generator,
        unknown: imported.map(imported::unknown_metrics).unwrap_or_default(),
        clock_error_us: clock_error_us(&trial.info),
        time_resolution_us: imported.map_or(0.0, |imported| imported.resolution_us),
    })
}

fn answer_count(measured: &CountsRow) -> f64 {
    as_f64(measured.succeeded + measured.failed)
}

fn good(measured: &CountsRow, counted: Counted) -> u64 {
    match counted {
        Counted::Records => measured.records_succeeded,
        Counted::Requests => measured.succeeded,
    }
}

/// `None` if nothing fell due, or if it is not known.
fn achieved_ratio(info: &TrialInfo, answered: f64) -> Option<f64> {
    let is_known = info.measured.due > 0 && info.imported.is_none();
    is_known.then(|| answered / as_f64(info.measured.due))
}

/// What an imported trial has in place of histograms.
fn imported_quantiles(info: &TrialInfo) -> Option<TrialPercentiles> {
    let known = info.imported.as_ref()?.quantiles.as_ref()?;
    let count = info.measured.succeeded + info.measured.failed;
    Some(histogram::of_quantiles(known, count))
}

fn own_names(cores: Vec<(&str, f64)>) -> Vec<(String, f64)> {
    let cores = cores.into_iter();
    cores
        .map(|(name, cores)| (name.to_owned(), cores))
        .collect()
}

/// Requests sent, as a share of what the load generator can send.
fn capacity_used(generator: &GeneratorInfo, measured: &CountsRow) -> Option<f64> {
    let capacity = generator.capacity_per_s.filter(|rate| *rate > 0.0)?;
    Some(as_f64(measured.sent) / measured.seconds / capacity)
}

/// As the generator counted it, else by the intervals, weighted by their lengths.
fn mean_in_flight(trial: &Trial, (from_s, to_s): (f64, f64)) -> f64 {
    if let Some(generator) = &trial.info.generator {
        return generator.in_flight_mean;
    }
    let (sum, seconds) =
        trial
            .intervals_within(from_s, to_s)
            .fold((0.0, 0.0), |(sum, seconds), row| {
                let length = row.counts.seconds;
                (sum + row.in_flight_mean * length, seconds + length)
            });
    if seconds > 0.0 { sum / seconds } else { 0.0 }
}
