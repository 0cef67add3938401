//! Starts the load of a system that is up, and its probes.

use std::{iter::once, sync::Arc};

use tokio::sync::watch;
use waggle_load::{self as load, DueTimes};
use waggle_results::LoadStart;
use waggle_study::{self as study, Cell, Probe, ProbeKind, System};
use waggle_system::{
    components::driver::{Driver, Failure},
    http::client::HttpConnector,
};

use crate::{
    clock::Clock,
    event_sender::IntervalEvents,
    load::{
        counts::Carried,
        job,
        job::{Parts, RECORDS_PER_WORKER_MAX},
        load_run::{Load, LoadError, LoadRun},
        scenario::{Kept, load_scenario},
    },
    probe::{DueInstants, ProbeConfig, ProbeReader, WatchStream, Window, open_stream},
    trial::{
        TrialContext, TrialEnvironment,
        beside::{
            background,
            background::{Background, BackgroundJob, MeasuredLoad, end_runs},
            delivery::{Delivery, ProbePosition},
            faults::{Axis, FaultInjector, Restarts},
            resend::{Content, Resend},
            system_metrics::{Sampling, SystemMetrics},
        },
        execute::Trial,
        load_content::{no_secret, requests, targets_and_host},
        load_phases::{LoadPhases, Progress, stop_watch::StopWatch},
        phases::Abort,
    },
};

/// A running load with its probes and metrics.
pub(crate) struct Started<'a, R, N> {
    pub(crate) load: LoadPhases<'a, R>,
    pub(crate) background: Background<R>,
    /// The measured load and those beside it, for the next token.
    pub(crate) resends: Vec<Resend<'a>>,
    /// In the order of the records' path.
    pub(crate) deliveries: Vec<Delivery<'a, N>>,
    pub(crate) metrics: SystemMetrics<N>,
    pub(crate) faults: FaultInjector<'a>,
    pub(crate) clock: Clock,
    pub(crate) workers: usize,
}

/// What is made before the first load begins.
pub(super) struct SetUp<'a, N> {
    job: load::Job,
    /// What the job sends.
    content: Content<'a>,
    beside: Vec<BackgroundJob<'a>>,
    observing: Observing<'a, N>,
}

/// What observers are made of.
struct Observing<'a, N> {
    before: Clock,
    /// The mark of the records.
    run: String,
    probes: Vec<&'a Probe>,
    streams: Vec<Option<WatchStream>>,
    metrics: SystemMetrics<N>,
}

/// How the measured load sends.
struct Sending {
    workers: usize,
    due_instants: Option<DueInstants>,
}

/// What observes the loads once they have begun.
struct Observers<'a, N> {
    clock: Clock,
    window: watch::Sender<Option<Window>>,
    window_known: watch::Receiver<Option<Window>>,
    deliveries: Vec<Delivery<'a, N>>,
    metrics: SystemMetrics<N>,
    faults: FaultInjector<'a>,
}

/// Makes the requests, and what must be there before the load: nothing is sent yet.
pub(super) async fn set_up<'a, D: Driver, L: Load, W: HttpConnector>(
    trial: &Trial<'a>,
    environment: &TrialEnvironment<D, L, W>,
) -> Result<SetUp<'a, W::Connection>, Abort> {
    let context = trial.context;
    let cell = context.cell;
    let probes = probes(context.system, probe_names(cell))?;
    let driver = &environment.driver;
    trial.ensure_token(driver, &environment.http).await?;
    let before = Clock::start();
    let run = mark(before, context.position);
    let kept = &environment.prepared.kept;
    let job = job_of(context, driver, &run, kept)?;
    let (_, host) = targets_and_host(context, driver, &cell.endpoint)?;
    let (own_mark, kept) = (run.clone(), kept.clone());
    let content = move || load_content(context, &own_mark, &host, &kept);
    let beside = background::jobs(context, driver)?;
    // Generators are other processes, with limits of their own.
    let measured = (cell.generators <= 1).then_some(&job);
    let here: Vec<&load::Job> = measured
        .into_iter()
        .chain(beside.iter().map(|beside| &beside.job))
        .collect();
    (environment.load.reserve_files(&here)).map_err(start_failure)?;
    let mut metrics = system_metrics(context, environment, before);
    metrics.read_before_load().await;
    let streams = open_streams(context, driver, &probes).await?;
    Ok(SetUp {
        job,
        content: Box::new(content),
        beside,
        observing: Observing {
            before,
            run,
            probes,
            streams,
            metrics,
        },
    })
}

/// Starts the loads, and what observes them. If that fails, those that have begun have ended.
pub(super) async fn start<'a, D: Driver, L: Load, W: HttpConnector>(
    trial: &Trial<'a>,
    environment: &mut TrialEnvironment<D, L, W>,
    set_up: SetUp<'a, W::Connection>,
) -> Result<Started<'a, L::Run, W::Connection>, Abort> {
    let cell = trial.context.cell;
    let SetUp {
        job,
        content,
        beside,
        observing,
    } = set_up;
    let workers = job.sending_workers();
    let due_times = DueTimes::new(&job);
    let mut begun = background::start(beside, &mut environment.load).await?;
    let mut resends = begun.take_resends();
    let run = match environment.load.start(job, cell.generators).await {
        Ok(run) => run,
        Err(why) => {
            end_runs(begun.into_runs()).await;
            return Err(start_failure(why).into());
        }
    };
    resends.push(Resend::new(&run, content));
    let records = job::records_per_request(cell);
    let due_instants =
        due_times.map(|times| DueInstants::new(times, run.started_unix_ns(), records));
    let sending = Sending {
        workers,
        due_instants,
    };
    let observers = match observers(trial, environment, observing, sending) {
        Ok(observers) => observers,
        Err(abort) => {
            end_runs(once(run).chain(begun.into_runs())).await;
            return Err(abort);
        }
    };
    let measured = MeasuredLoad {
        started: run.started_monotonic(),
        interval: cell.schedule.interval,
        window: observers.window_known,
    };
    Ok(Started {
        load: load_phases(trial, run, observers.window),
        background: Background::new(begun, &measured),
        resends,
        deliveries: observers.deliveries,
        metrics: observers.metrics,
        faults: observers.faults,
        clock: observers.clock,
        workers,
    })
}

/// What observes the loads, which began a moment ago.
fn observers<'a, D: Driver, L: Load, W: HttpConnector>(
    trial: &Trial<'a>,
    environment: &TrialEnvironment<D, L, W>,
    observing: Observing<'a, W::Connection>,
    sending: Sending,
) -> Result<Observers<'a, W::Connection>, Abort> {
    let context = trial.context;
    let cell = context.cell;
    let mut metrics = observing.metrics;
    // The load's own clock started a moment ago, when all of its threads were ready.
    let clock = Clock::start();
    let before_last = probe_names(cell).split_last();
    trial.writer.borrow_mut().load_started(&LoadStart {
        name: cell.name(),
        steps: cell.scenario().map_or(&[], |scenario| &scenario.steps),
        intermediate_probes: before_last.map_or(&[], |(_, before)| before),
        started_unix_ns: clock.start_unix_ns(),
    })?;
    metrics.load_started(clock, trial.writer)?;
    let (window, window_known) = watch::channel(None);
    let restarts = Restarts::default();
    let number_of_probes = observing.probes.len();
    let mut deliveries = Vec::with_capacity(number_of_probes);
    for (number, (probe, stream)) in observing.probes.iter().zip(observing.streams).enumerate() {
        let Some(delivery) = cell.delivery.as_ref() else {
            break;
        };
        let position = ProbePosition::new(number, number_of_probes);
        let config = ProbeConfig {
            probe,
            delivery,
            run: observing.run.clone(),
            workers: sending.workers,
            sequence_max: RECORDS_PER_WORKER_MAX,
            interval: cell.schedule.interval,
            clock,
            since_ns: observing.before.start_unix_ns(),
            has_others: has_others(context, probe),
            sample_limits: context.sample_limits,
            secrets: context.secrets,
            due_instants: sending.due_instants.clone(),
            window: window_known.clone(),
        };
        let peers = environment.driver.peers(&probe.component, &probe.port);
        let reader = match (stream, &probe.kind) {
            (Some(stream), ProbeKind::Watch(watch)) => ProbeReader::watch(&config, watch, stream)?,
            _ => ProbeReader::new(&config, &peers, |peer| environment.http.connection(peer))?,
        };
        deliveries.push(Delivery::new(&config, position, &restarts, reader));
    }
    let axis = Axis {
        clock,
        window: window_known.clone(),
    };
    Ok(Observers {
        clock,
        window,
        window_known,
        deliveries,
        metrics,
        faults: FaultInjector::new(cell, axis, trial.events, restarts),
    })
}

/// The probes of a cell, in the order of the records' path.
fn probe_names(cell: &Cell) -> &[String] {
    let asked = cell.delivery.as_ref();
    asked.map_or(&[], |asked| &asked.probes)
}

fn start_failure(why: LoadError) -> Failure {
    Failure::new(format!("the load cannot be started: {why}"))
}

fn load_phases<'a, R>(
    trial: &Trial<'a>,
    run: R,
    window: watch::Sender<Option<Window>>,
) -> LoadPhases<'a, R> {
    let cell = trial.context.cell;
    LoadPhases {
        run,
        writer: trial.writer,
        events: IntervalEvents::new(trial.events.clone()),
        carried: Carried::from_cell(cell),
        inspects: cell.inspect().is_some(),
        interval: cell.schedule.interval,
        window,
        shutdown: trial.shutdown.clone(),
        stop_watch: StopWatch::new(&cell.schedule.stop_when),
        progress: Progress::new(),
    }
}

fn system_metrics<D: Driver, L: Load, W: HttpConnector>(
    context: TrialContext<'_>,
    environment: &TrialEnvironment<D, L, W>,
    clock: Clock,
) -> SystemMetrics<W::Connection> {
    SystemMetrics::new(
        context.system,
        Sampling {
            period: context.cell.schedule.sampling_interval,
            clock,
        },
        |metric| environment.driver.peers(&metric.component, &metric.port),
        |peer| environment.http.connection(peer),
    )
}

/// The streams of the probes, in their order; `None` for a probe that reads none.
async fn open_streams<D: Driver>(
    context: TrialContext<'_>,
    driver: &D,
    probes: &[&Probe],
) -> Result<Vec<Option<WatchStream>>, Failure> {
    let mut streams = Vec::with_capacity(probes.len());
    for probe in probes {
        let peers = driver.peers(&probe.component, &probe.port);
        streams.push(open_stream(probe, &peers, context.secrets).await?);
    }
    Ok(streams)
}

/// The probes that a study names, in their order.
fn probes<'a>(system: &'a study::System, endpoints: &[String]) -> Result<Vec<&'a Probe>, Failure> {
    endpoints.iter().map(|name| probe(system, name)).collect()
}

/// Whether a component runs already and may have data.
fn is_external(system: &System, name: &str) -> bool {
    let mut components = system.components.iter();
    components.any(|component| component.name == name && component.external.is_some())
}

/// The job of the engine; `run` marks the records.
pub(crate) fn job_of<D: Driver>(
    context: TrialContext<'_>,
    driver: &D,
    run: &str,
    kept: &Kept,
) -> Result<load::Job, Failure> {
    let cell = context.cell;
    let (targets, host) = targets_and_host(context, driver, &cell.endpoint)?;
    let parts = Parts {
        targets,
        what: load_content(context, run, &host, kept)?,
        workers: (context.shares).workers(cell.load_workers, cell.generators),
        seed: context.seed,
    };
    Ok(job::job(cell, parts))
}

/// The content of the requests; `run` marks the records, `host` goes into the heads.
fn load_content(
    context: TrialContext<'_>,
    run: &str,
    host: &str,
    kept: &Kept,
) -> Result<load::What, Failure> {
    Ok(match &context.cell.what {
        study::What::Request(request) => requests(context, request, run, host)?,
        study::What::Scenario(scenario) => {
            let secret = |name: &str| context.secrets.placeholder(name);
            let scenario = scenario.with_secrets(&secret).map_err(no_secret)?;
            load::What::Scenario(Arc::new(load_scenario(&scenario, host, run, kept)))
        }
    })
}

/// The probe with this name.
fn probe<'a>(system: &'a System, name: &str) -> Result<&'a Probe, Failure> {
    let entry = system.probes.iter().find(|probe| probe.name == name);
    entry.ok_or_else(|| Failure::new(format!("the system has no probe \"{name}\"")))
}

/// The mark of one trial's records in the store. It has digits and letters only, so that it is the same in every format. The time
/// distinguishes two attempts at the same trial.
pub(crate) fn mark(clock: Clock, position: u32) -> String {
    format!("t{position}x{:x}", clock.start_unix_ns())
}

/// Whether others may write where a probe reads, too.
fn has_others(context: TrialContext<'_>, probe: &Probe) -> bool {
    let is_from_outside = |source| is_external(context.system, source);
    context.is_up || probe.sources().any(is_from_outside)
}
