//! From a system that is up to a load that runs, with the store followed.

use std::{net::SocketAddr, sync::Arc};

use tokio::sync::watch;
use waggle_load as load;
use waggle_results::LoadStart;
use waggle_study::{self as study, Delivery as DeliveryAsked, External, Probe};

use crate::{
    clock::Clock,
    driver::{Driver, Failure},
    job::{self, Parts, RECORDS_PER_WORKER_MAX},
    load::Load,
    probe::Following,
    scenario::load_scenario,
    trial::{
        Means, Order,
        delivery::Delivery,
        phases::Cut,
        places::{endpoints, of_component},
        under_load::{Progress, UnderLoad},
        way::Trial,
    },
    web::Web,
};

/// A load that runs and all that belongs to it.
pub(crate) struct Started<'a, R, N> {
    pub(crate) load: UnderLoad<'a, R>,
    pub(crate) delivery: Option<Delivery<'a, N>>,
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
    let followed = match &cell.measure.delivery {
        Some(asked) => Some(store(trial, &means.driver, asked)?),
        None => None,
    };
    let clock = Clock::start();
    let run = mark(clock, order.position);
    let job = job_of(order, &means.driver, &run)?;
    let count = job.workers.len();
    let started = means
        .load
        .start(job)
        .map_err(|why| Failure::new(format!("the load cannot be started: {why}")))?;
    // The load's own clock has started a moment ago, once all of its threads were ready.
    let clock = Clock::start();
    trial.writer.borrow_mut().load_started(&LoadStart {
        name: cell.name(),
        steps: cell.scenario().map_or(&[], |scenario| &scenario.steps),
        started_unix_ns: clock.start_unix_ns(),
    })?;
    let (window, window_known) = watch::channel(None);
    let delivery = followed.map(|(asked, probe, address)| {
        let following = Following {
            probe,
            delivery: asked,
            run,
            workers: count,
            sequence_max: RECORDS_PER_WORKER_MAX,
            interval: cell.measure.interval,
            clock,
            window: window_known,
        };
        Delivery::new(&following, means.web.line(address))
    });
    let load = UnderLoad {
        run: started,
        writer: trial.writer,
        events: trial.events.clone(),
        records_per_request: job::records_per_request(cell),
        interval: cell.measure.interval,
        window,
        progress: Progress::new(),
    };
    Ok(Started {
        load,
        delivery,
        clock,
        workers: count,
    })
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
        (None, [only]) => only.to_string(),
        // Every replica gets the same requests, as behind a name that all of them have.
        (None, _) => order.cell.endpoint.clone(),
    };
    let parts = Parts {
        targets,
        tls: external.map(tls).transpose()?.flatten(),
        what: what(order, run, &host)?,
        workers: order.shares.workers(order.cell.load_workers),
        seed: order.seed,
    };
    Ok(job::job(order.cell, parts))
}

/// For a server whose URL says https.
fn tls(server: &External) -> Result<Option<load::Tls>, Failure> {
    if !server.is_tls {
        return Ok(None);
    }
    let roots = if server.insecure {
        load::Roots::Unchecked
    } else {
        load::Roots::System
    };
    let tls = load::Tls::new(load::TlsOptions {
        server_name: server.host.clone(),
        roots,
        client: None,
        resumes: true,
    });
    tls.map(Some)
        .map_err(|problem| Failure::new(format!("{}: {problem}", server.url)))
}

/// What is sent; `run` marks its records, `host` goes into its heads.
fn what(order: Order<'_>, run: &str, host: &str) -> Result<load::What, Failure> {
    Ok(match &order.cell.what {
        study::What::Request(request) => load::What::Requests {
            requests: order
                .records
                .prepare(request, run, host)
                .map_err(|problem| Failure::new(problem.to_string()))?,
            expect: job::expect(&request.expect),
        },
        study::What::Scenario(scenario) => {
            load::What::Scenario(Arc::new(load_scenario(scenario, host)))
        }
    })
}

/// The probe that a study asks for, and where its store is.
fn store<'a, D: Driver>(
    trial: &Trial<'a>,
    driver: &D,
    asked: &'a DeliveryAsked,
) -> Result<(&'a DeliveryAsked, &'a Probe, SocketAddr), Failure> {
    let probe = trial
        .order
        .system
        .probes
        .iter()
        .find(|probe| probe.name == asked.at);
    let probe =
        probe.ok_or_else(|| Failure::new(format!("the system has no probe \"{}\"", asked.at)))?;
    Ok((
        asked,
        probe,
        of_component(driver, &probe.component, &probe.port)?,
    ))
}

/// What marks the records of one trial in the store. Digits and letters only, so that it is the same in every format;
/// the time keeps apart two attempts at the same trial.
fn mark(clock: Clock, position: u32) -> String {
    format!("t{position}x{:x}", clock.start_unix_ns())
}
