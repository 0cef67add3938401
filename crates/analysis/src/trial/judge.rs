//! The joint with statistics: what a trial's results say, put as the plain facts that are judged there.

use hdrhistogram::Histogram;
use waggle_metrics::Metric;
use waggle_results as results;
use waggle_results::{
    CountsRow, FaultInfo, GeneratorInfo, GeneratorPartInfo, LedgerInfo, LoadInfo, MachineInfo,
    PhaseName, RunInfo, Trial, TrialEnd, TrialInfo,
};
use waggle_spec::{LoadKind, LoadRole, Threshold, TimeKind};
use waggle_stats::{
    Arrivals, Counts, Findings, Generator, GeneratorPart, InjectedFault, Ledger, LoadModel,
    LoadProfile, Machine, Sender, StallSpan, SteadyBins, TrialFacts,
};

use crate::{
    info::metric_path,
    recording::{
        course::{Course, Length, OpenRange, Totals},
        delays::{DelayLogs, KnownBy},
        histogram::as_f64,
        samples,
        trial_view::TrialView,
    },
    trial::agents,
};

/// What one load is judged by beside its intervals.
#[derive(Debug, Clone)]
pub struct LoadFacts<'a> {
    pub model: LoadModel,
    /// Why it did not come to its end, or measured nothing.
    pub failed: Option<String>,
    /// Measured phase.
    pub measured: &'a CountsRow,
    /// Whole run of the engine.
    pub totals: &'a CountsRow,
    /// Over the measured phase; `None`: another tool sent the load.
    pub engine: Option<&'a GeneratorInfo>,
    /// The system takes fewer requests at once over a connection than the load may send.
    pub is_system_narrow: bool,
    pub machine: Option<MachineInfo>,
    /// How many CPUs that is of.
    pub cpus: u32,
    /// Whether loops were to keep the CPUs awake.
    pub kept_awake: bool,
    /// Requests per second asked for, in open load.
    pub offered_per_s: Option<f64>,
    /// Of the measured phase, in microseconds; as [`results::Trial::measured_histograms`] has them.
    pub response_time: &'a Histogram<u64>,
    pub service_time: &'a Histogram<u64>,
    /// The strictest upper bound on times that a search asks for, in microseconds.
    pub time_bound_us: Option<f64>,
    /// Whether its level changes by stages.
    pub has_stages: bool,
}

/// Every check that a load allows of which nothing is known but what the engine saw.
#[must_use]
pub fn load(load: &LoadFacts<'_>, course: &Course) -> Findings {
    waggle_stats::check(&facts(load, course))
}

/// What the checks say of one trial.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) findings: Findings,
    /// Throughput of the second half of the measured phase ÷ that of the first, as a logarithm; `None` where it should change, or
    /// there are too few bins.
    pub(crate) half_change: Option<f64>,
    /// Stretches without a success, in their order.
    pub(crate) stalls: Vec<StallSpan>,
}

/// Every check of one trial.
///
/// `machine`: what the CPUs did, and who used them.
pub(crate) fn trial(view: &TrialView<'_>, info: &RunInfo, machine: Option<MachineInfo>) -> Judged {
    let TrialView { trial, times, .. } = view;
    let course = course(view);
    let disturbances = injected_faults(&trial.info.faults);
    let delivery = delivery(view);
    let of_load = LoadFacts {
        model: load_model(info.load_model),
        failed: match &trial.info.end {
            TrialEnd::Completed => None,
            TrialEnd::Failed { reason, .. } => Some(reason.clone()),
        },
        measured: &trial.info.measured,
        totals: &trial.info.totals,
        engine: trial.info.generator.as_ref(),
        is_system_narrow: (trial.info.connecting)
            .is_some_and(|connecting| connecting.narrow_connections > Some(0)),
        machine,
        cpus: info.host.cpus,
        kept_awake: info.host.idle_poll,
        offered_per_s: (trial.info.generator.as_ref())
            .and_then(|generator| generator.offered_per_s),
        response_time: &times[TimeKind::Response],
        service_time: &view.service_time_measured,
        time_bound_us: (info.search.as_ref())
            // At an operating point the times themselves are the question.
            .filter(|search| search.operating_point(trial.info.key.repetition).is_none())
            .and_then(|search| time_bound_us(&search.conditions)),
        has_stages: !trial.info.stages.is_empty(),
    };
    let findings = waggle_stats::check(&TrialFacts {
        ledger: trial.info.ledger.as_ref().map(ledger),
        delivery: delivery.totals(),
        probe_lag_s: probe_lag_s(trial),
        background: background_workers(&trial.info),
        agents: agents::agents(&trial.info, info),
        probe_cpu_share: probe_cpu_share(view),
        negative_delay_share: negative_delay_share(&trial.info),
        store_unread: trial
            .info
            .delivery
            .as_ref()
            .is_some_and(|delivery| delivery.unread),
        warm_up_steady: trial.info.warm_up_steady,
        bins: SteadyBins {
            min_time_change: min_time_change(trial),
            ..course.bins()
        },
        faults: &disturbances,
        ..facts(&of_load, &course)
    });
    let is_level = !of_load.has_stages && disturbances.is_empty();
    let half_change = waggle_stats::half_change(course.bins().throughput).filter(|_| is_level);
    Judged {
        findings,
        half_change,
        stalls: waggle_stats::stalls(
            course.served_intervals(),
            mean_us(&view.service_time_measured),
        ),
    }
}

/// The worker thread of each background load. How late it sends is of no other load, and it waits for its CPU at the cost of its
/// own times.
fn background_workers(info: &TrialInfo) -> Vec<GeneratorPart> {
    let part = |load: &LoadInfo| GeneratorPart {
        utilization: load.generator.utilization,
        utilization_wanted: load.generator.utilization_wanted,
        ..GeneratorPart::default()
    };
    info.loads_of(LoadRole::Background).map(part).collect()
}

/// How long any probe was behind: its delays are its own. By a store's own instants they are not.
fn probe_lag_s(trial: &Trial) -> Option<f64> {
    let logs = trial.info.intermediate_probes.iter();
    let before = logs
        .zip(&trial.intermediate_probes)
        .map(|(info, logs)| DelayLogs::of_intermediate_probe(&info.delivery, logs));
    let probes = before.chain(DelayLogs::of_last_probe(trial));
    let by_reads = probes.filter(|probe| probe.source().by != KnownBy::Instants);
    by_reads.map(|probe| probe.lag_s()).reduce(f64::max)
}

/// The least change of a time that imported results show: two steps of their resolution. 0: as little as histograms show.
fn min_time_change(trial: &Trial) -> f64 {
    let imported = trial.info.imported.as_ref();
    imported.map_or(0.0, |imported| 2.0 * imported.resolution_us)
}

fn facts<'a>(load: &LoadFacts<'_>, course: &'a Course) -> TrialFacts<'a> {
    let (response, service) = (load.response_time, load.service_time);
    TrialFacts {
        model: load.model,
        failed: load.failed.clone(),
        measured: counts(load.measured),
        totals: counts(load.totals),
        generator: load
            .engine
            .map_or_else(Generator::default, |engine_facts| Generator {
                is_system_narrow: load.is_system_narrow,
                ..engine(engine_facts, course)
            }),
        generators: load.engine.map_or_else(Vec::new, |engine_facts| {
            engine_facts.generators.iter().map(generator_part).collect()
        }),
        sender: match load.engine {
            Some(_) => Sender::Waggle,
            None => Sender::OtherTool,
        },
        machine: machine(load),
        offered_per_s: load.offered_per_s,
        response_p50_us: (!response.is_empty()).then(|| as_f64(response.value_at_quantile(0.5))),
        service_mean_us: mean_us(service),
        time_bound_us: load.time_bound_us,
        arrivals: match load.engine.map(|engine| engine.arrivals) {
            Some(waggle_spec::Arrivals::Uniform) => Arrivals::Uniform,
            Some(waggle_spec::Arrivals::Poisson) | None => Arrivals::Poisson,
        },
        in_flight_start: course.in_flight_start(),
        answers: course.answers(),
        bins: course.bins(),
        bin_s: course.bin_s(),
        bins_from_s: course.bins_from_s(),
        served: course.served_intervals(),
        profile: match load.has_stages {
            true => LoadProfile::Stages,
            false => LoadProfile::Constant,
        },
        ..TrialFacts::default()
    }
}

fn machine(load: &LoadFacts<'_>) -> Option<Machine> {
    let machine = load.machine?;
    Some(Machine {
        cpu_steal: machine.cpu_steal,
        cpu_idle: machine.cpu_idle,
        idle_poll: load.kept_awake,
        cpus: load.cpus,
        own_cores: machine.own_cores,
        system_cores: machine.system_cores,
        other_cores: machine.other_cores,
    })
}

/// `None` without a value.
fn mean_us(times: &Histogram<u64>) -> Option<f64> {
    (!times.is_empty()).then(|| times.mean())
}

/// Of the probe that saw the largest share of its records before they were sent.
fn negative_delay_share(info: &results::TrialInfo) -> Option<f64> {
    let share = |delivery: &results::DeliveryInfo, ledger: &results::LedgerInfo| {
        let sample = delivery.sample.as_ref();
        let seen = sample.map_or(ledger.delivered, |sample| sample.followed);
        (seen > 0).then(|| as_f64(delivery.negative_delays) / as_f64(seen))
    };
    let probes = info.intermediate_probes.iter();
    let probes = probes.map(|probe| (&probe.delivery, &probe.ledger));
    let last = info.delivery.as_ref().zip(info.ledger.as_ref());
    let shares = probes
        .chain(last)
        .filter_map(|(delivery, ledger)| share(delivery, ledger));
    shares.reduce(f64::max)
}

/// CPU that reading the records back took of the system, as a share of what the system used under load; `None` if it is not
/// known.
pub(crate) fn probe_cpu_share(view: &TrialView<'_>) -> Option<f64> {
    let info = &view.trial.info;
    let intermediate = info.intermediate_probes.iter();
    let probes = intermediate
        .map(|probe| &probe.delivery)
        .chain(&info.delivery);
    let read_s = probes
        .filter_map(|delivery| delivery.probe_cpu_s)
        .reduce(|sum, seconds| sum + seconds)?;
    let under_load = (0.0, view.measured.1);
    let used_s = samples::of_system(&view.samples.cores(under_load))? * under_load.1;
    (used_s > 0.0).then(|| (read_s / used_s).min(1.0))
}

/// The series of a trial; empty if it did not come to its measured phase.
fn course(view: &TrialView<'_>) -> Course {
    let TrialView { trial, samples, .. } = view;
    let measure = trial.info.phase(PhaseName::Measure);
    let length = measure.map_or(0.0, |phase| phase.end_s - phase.start_s);
    let mut course = Course::new(
        trial
            .info
            .generator
            .as_ref()
            .map(|generator| generator.connections_asked),
        interval_s(trial),
        Length::Seconds(length),
    );
    let Some(measure) = measure else {
        return course;
    };
    for row in trial.intervals_within(0.0, measure.start_s) {
        course.add_warm_up(row);
    }
    for row in trial.intervals_within(measure.start_s, measure.end_s) {
        let end_s = row.start_s + row.counts.seconds;
        course.add(row, |sum| {
            trial.times[TimeKind::Response].add_to(sum, row.start_s, end_s)
        });
    }
    course.note_cpu(|from_s, to_s| {
        samples::of_system(&samples.cores((from_s, to_s))).unwrap_or(f64::NAN)
    });
    course
}

/// How long the intervals of a trial are: most of them, for one that was taken late is longer.
pub(crate) fn interval_s(trial: &Trial) -> f64 {
    let mut seconds: Vec<f64> = trial
        .intervals
        .iter()
        .map(|row| row.counts.seconds)
        .collect();
    seconds.sort_unstable_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or_default()
}

/// Records accepted and records visible, at the looks of the measured phase.
fn delivery(view: &TrialView<'_>) -> Totals {
    let TrialView {
        trial, accepted, ..
    } = view;
    let mut totals = Totals::default();
    if let Some(measure) = trial.info.phase(PhaseName::Measure) {
        let looks = trial
            .backlog
            .iter()
            .filter(|look| look.at_s >= measure.start_s && look.at_s <= measure.end_s);
        for look in looks {
            totals.push(
                look.at_s,
                accepted.accepted_by(look.at_s),
                as_f64(look.visible),
            );
        }
    }
    totals
}

fn ledger(ledger: &LedgerInfo) -> Ledger {
    Ledger {
        sent: ledger.sent,
        accepted: ledger.accepted,
        rejected: ledger.rejected,
        unknown: ledger.unknown,
        delivered: ledger.delivered,
        missing: ledger.missing,
        rejected_delivered: ledger.rejected_delivered,
        unexpected: ledger.unexpected,
        missing_keys: ledger.missing_keys.clone(),
    }
}

/// The strictest upper bound on response and service times among the conditions of a search, in microseconds.
fn time_bound_us(conditions: &[Threshold]) -> Option<f64> {
    conditions
        .iter()
        .filter(|condition| condition.op.is_upper_bound() && is_of_answer_time(condition))
        .map(|condition| condition.value)
        .min_by(f64::total_cmp)
}

fn is_of_answer_time(condition: &Threshold) -> bool {
    matches!(
        metric_path::metric(&condition.metric),
        Some(Metric::Time(TimeKind::Response | TimeKind::Service))
    )
}

fn injected_faults(faults: &[FaultInfo]) -> Vec<InjectedFault> {
    let injected_fault = |fault: &FaultInfo| InjectedFault {
        name: fault.name(),
        kind: fault.kind.name(),
        at_s: fault.begun_s,
    };
    faults.iter().map(injected_fault).collect()
}

/// The load model, as the checks of a trial know it.
#[must_use]
pub fn load_model(kind: LoadKind) -> LoadModel {
    match kind {
        LoadKind::Closed => LoadModel::Closed,
        LoadKind::Open => LoadModel::Open,
        LoadKind::Users => LoadModel::Users,
        LoadKind::Clients => LoadModel::Clients,
    }
}

fn counts(row: &CountsRow) -> Counts {
    Counts {
        seconds: row.seconds,
        due: row.due,
        sent: row.sent,
        succeeded: row.succeeded,
        failed: row.failed,
        skipped: row.skipped,
        in_flight_change: row.in_flight_change,
        records_succeeded: row.records_succeeded,
    }
}

fn generator_part(part: &GeneratorPartInfo) -> GeneratorPart {
    GeneratorPart {
        utilization: part.utilization,
        utilization_wanted: part.utilization_wanted,
        run_queue_wait_mean_us: part.run_queue_wait_mean_us,
        lag_p99_us: part.lag_p99_us,
    }
}

fn engine(engine: &GeneratorInfo, course: &Course) -> Generator {
    // Without an interval that shows them there is nothing to test: then none is missing.
    let asked = engine.connections_asked;
    let open = course.connections_open().unwrap_or(OpenRange {
        min: asked,
        median: asked,
    });
    Generator {
        workers: engine.workers,
        utilization: engine.utilization,
        utilization_wanted: engine.utilization_wanted,
        run_queue_wait_mean_us: engine.run_queue_wait_mean_us,
        cpu_us_per_request: engine.cpu_us_per_request,
        lag_p99_us: engine.lag_p99_us,
        capacity_per_s: engine.capacity_per_s,
        connections_asked: asked,
        connections_open_min: open.min,
        connections_open_median: open.median,
        in_flight_mean: engine.in_flight_mean,
        in_flight_sending: course.in_flight_sending(),
        in_flight_unexplained: engine.in_flight_unexplained,
        in_flight_asked: engine.in_flight_asked,
        is_system_narrow: false,
        in_flight_max: engine.in_flight_max,
    }
}
