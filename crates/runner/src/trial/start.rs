//! From a system that is up to a load that runs, with the store followed.

use std::sync::Arc;

use tokio::sync::watch;
use waggle_load as load;
use waggle_results::LoadStart;
use waggle_study::{self as study, Delivery as DeliveryAsked, Probe, System};

use crate::{
    clock::Clock,
    driver::{Driver, Failure},
    events::IntervalEvents,
    job::{self, Parts, RECORDS_PER_WORKER_MAX},
    load::Load,
    probe::{Follower, Following, Window},
    scenario::load_scenario,
    trial::{
        Means, Order,
        delivery::{Delivery, Place},
        disturbing::{Axis, Disturbing, Restarts},
        phases::Cut,
        places::endpoints,
        stop_watch::StopWatch,
        system_metrics::{Sampling, SystemMetrics},
        under_load::{Progress, UnderLoad},
        way::Trial,
    },
    web::Web,
};

/// A load that runs and all that belongs to it.
pub(crate) struct Started<'a, R, N> {
    pub(crate) load: UnderLoad<'a, R>,
    /// In the order of the records' way.
    pub(crate) deliveries: Vec<Delivery<'a, N>>,
    pub(crate) metrics: SystemMetrics<N>,
    pub(crate) disturbing: Disturbing<'a>,
    pub(crate) clock: Clock,
    pub(crate) workers: usize,
}

/// Makes the requests and starts the load.
pub(crate) fn start<'a, D: Driver, L: Load, W: Web>(
    trial: &Trial<'a>,
    means: &mut Means<D, L, W>,
) -> Result<Started<'a, L::Run, W::Line>, Cut> {
    let order = trial.order;
    let cell = order.cell;
    let asked = cell.delivery.as_ref();
    let places = asked.map_or(&[][..], |asked| &asked.probes);
    let probes = probes(order.system, places)?;
    let before = Clock::start();
    let run = mark(before, order.position);
    let job = job_of(order, &means.driver, &run)?;
    let workers = job.sending_workers();
    let started = means
        .load
        .start(job)
        .map_err(|why| Failure::new(format!("the load cannot be started: {why}")))?;
    // The load's own clock has started a moment ago, once all of its threads were ready.
    let clock = Clock::start();
    trial.writer.borrow_mut().load_started(&LoadStart {
        name: cell.name(),
        steps: cell.scenario().map_or(&[], |scenario| &scenario.steps),
        intermediate_probes: places.split_last().map_or(&[], |(_, before)| before),
        started_unix_ns: clock.start_unix_ns(),
    })?;
    let (window, window_known) = watch::channel(None);
    let restarts = Restarts::default();
    let following = |probe: &'a Probe, delivery: &'a DeliveryAsked| Following {
        probe,
        delivery,
        run: run.clone(),
        workers,
        sequence_max: RECORDS_PER_WORKER_MAX,
        interval: cell.schedule.interval,
        clock,
        since_ns: before.start_unix_ns(),
        has_others: order.is_up
            || probe
                .sources()
                .any(|source| is_external(order.system, source)),
        secrets: order.secrets,
        window: window_known.clone(),
    };
    let mut deliveries = Vec::with_capacity(probes.len());
    for (number, probe) in probes.iter().enumerate() {
        let Some(asked) = asked else { break };
        let place = if number + 1 == probes.len() {
            Place::Last
        } else {
            Place::Intermediate(number)
        };
        let following = following(probe, asked);
        let addresses = means.driver.addresses(&probe.component, &probe.port);
        let follower = Follower::new(&following, &addresses, |address| means.web.line(address))?;
        deliveries.push(Delivery::new(&following, place, &restarts, follower));
    }
    let disturbing = Disturbing::new(
        cell,
        Axis {
            clock,
            window: window_known,
        },
        trial.events,
        restarts,
    );
    Ok(Started {
        load: under_load(trial, started, window),
        deliveries,
        metrics: system_metrics(order, means, clock),
        disturbing,
        clock,
        workers,
    })
}

fn under_load<'a, R>(
    trial: &Trial<'a>,
    run: R,
    window: watch::Sender<Option<Window>>,
) -> UnderLoad<'a, R> {
    let cell = trial.order.cell;
    UnderLoad {
        run,
        writer: trial.writer,
        events: IntervalEvents::new(trial.events.clone()),
        carried: job::carrying_requests(cell),
        interval: cell.schedule.interval,
        window,
        clocks: trial.order.clocks,
        shutdown: trial.shutdown.clone(),
        stop_watch: StopWatch::new(&cell.schedule.stop_when),
        progress: Progress::new(),
    }
}

fn system_metrics<D: Driver, L: Load, W: Web>(
    order: Order<'_>,
    means: &Means<D, L, W>,
    clock: Clock,
) -> SystemMetrics<W::Line> {
    SystemMetrics::new(
        order.system,
        Sampling {
            period: order.cell.schedule.sampling_interval,
            clock,
        },
        |metric| means.driver.addresses(&metric.component, &metric.port),
        |address| means.web.line(address),
    )
}

/// The probes of the places that are followed, in their order.
fn probes<'a>(system: &'a study::System, places: &[String]) -> Result<Vec<&'a Probe>, Failure> {
    places.iter().map(|name| probe(system, name)).collect()
}

/// Whether a component runs already, with whatever is in it.
fn is_external(system: &System, name: &str) -> bool {
    let mut components = system.components.iter();
    components.any(|component| component.name == name && component.external.is_some())
}

/// What the engine is told; `run` marks the records.
pub(crate) fn job_of<D: Driver>(
    order: Order<'_>,
    driver: &D,
    run: &str,
) -> Result<load::Job, Failure> {
    let targets = endpoints(order.system, driver, &order.cell.endpoint)?;
    let external = order.system.external.as_ref();
    let host = match (external, &targets[..]) {
        (Some(server), _) => server.authority.clone(),
        (None, [only]) => given_host(order).unwrap_or_else(|| only.to_string()),
        // Every replica gets the same requests, as behind a name that all of them have.
        (None, _) => order.cell.endpoint.clone(),
    };
    let parts = Parts {
        targets,
        tls: order.tls.cloned(),
        what: load_content(order, run, &host)?,
        workers: order.shares.workers(order.cell.load_workers),
        seed: order.seed,
    };
    Ok(job::job(order.cell, parts))
}

/// The name of the endpoint's host, where its component runs already.
fn given_host(order: Order<'_>) -> Option<String> {
    let mut endpoints = order.system.endpoints.iter();
    let endpoint = endpoints.find(|known| known.name == order.cell.endpoint)?;
    let mut components = order.system.components.iter();
    let component = components.find(|known| known.name == endpoint.component)?;
    let mut ports = component.external.iter().flatten();
    let port = ports.find(|known| known.name == endpoint.port)?;
    port.at.first().map(ToString::to_string)
}

/// What is sent; `run` marks its records, `host` goes into its heads.
fn load_content(order: Order<'_>, run: &str, host: &str) -> Result<load::What, Failure> {
    Ok(match &order.cell.what {
        study::What::Request(request) => load::What::Requests {
            requests: order
                .records
                .prepare(request, run, host)
                .map_err(|problem| Failure::new(problem.to_string()))?,
            expect: job::expect(&request.expect),
        },
        study::What::Scenario(scenario) => {
            load::What::Scenario(Arc::new(load_scenario(scenario, host, run)))
        }
    })
}

/// The probe that a study asks for.
fn probe<'a>(system: &'a System, name: &str) -> Result<&'a Probe, Failure> {
    let found = system.probes.iter().find(|probe| probe.name == name);
    found.ok_or_else(|| Failure::new(format!("the system has no probe \"{name}\"")))
}

/// What marks the records of one trial in the store. Digits and letters only, so that it is the same in every format;
/// the time keeps apart two attempts at the same trial.
pub(crate) fn mark(clock: Clock, position: u32) -> String {
    format!("t{position}x{:x}", clock.start_unix_ns())
}
