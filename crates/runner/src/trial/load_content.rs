//! What a load sends, and to whom.

use std::sync::Arc;

use waggle_load as load;
use waggle_study as study;
use waggle_system::{
    components::{
        driver::{Driver, Failure},
        endpoints::endpoints,
    },
    http::peer::Peer,
};

use crate::{
    clock::Clock,
    load::{
        job,
        job::Parts,
        scenario::{Kept, load_scenario},
    },
    trial::TrialContext,
};

/// An endpoint, and what goes into the `Host` header of requests to it.
pub(crate) fn targets_and_host<D: Driver>(
    context: TrialContext<'_>,
    driver: &D,
    endpoint: &str,
) -> Result<(Vec<Peer>, String), Failure> {
    let targets = endpoints(context.system, driver, endpoint)?;
    let external = context.system.external.as_ref();
    let host = match (external, &targets[..]) {
        (Some(server), _) => server.authority.clone(),
        (None, [only]) => given_host(context, endpoint).unwrap_or_else(|| only.address.to_string()),
        // Every replica gets the same requests, as behind a shared host name.
        (None, _) => endpoint.to_owned(),
    };
    Ok((targets, host))
}

/// The name of the endpoint's host, if its component runs already.
fn given_host(context: TrialContext<'_>, endpoint: &str) -> Option<String> {
    let mut endpoints = context.system.endpoints.iter();
    let endpoint = endpoints.find(|known| known.name == endpoint)?;
    let mut components = context.system.components.iter();
    let component = components.find(|known| known.name == endpoint.component)?;
    let mut ports = component.external.iter().flatten();
    let port = ports.find(|known| known.name == endpoint.port)?;
    port.at.first().map(ToString::to_string)
}

/// The same request again and again, or one after the other with the values of its variables.
pub(crate) fn requests(
    context: TrialContext<'_>,
    request: &study::Request,
    run: &str,
    host: &str,
) -> Result<load::What, Failure> {
    let secret = |name: &str| context.secrets.placeholder(name);
    let request = request.with_secrets(&secret).map_err(no_secret)?;
    let requests = context.records.prepare(&request, run, host);
    Ok(load::What::Requests {
        requests: requests.map_err(|problem| Failure::new(problem.to_string()))?,
        expect: job::expect(&request.expect),
        inspect: request.inspect.as_ref().map(job::inspect),
    })
}

/// Why a header of the load has no value.
pub(crate) fn no_secret(problem: study::EnvironmentError) -> Failure {
    Failure::new(problem.to_string())
}

/// The job of the engine; `run` marks the records.
pub(super) fn job_of<D: Driver>(
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
pub(super) fn load_content(
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

/// The mark of one trial's records in the store. It has digits and letters only, so that it is the same in every format. The time
/// distinguishes two attempts at the same trial.
pub(super) fn mark(clock: Clock, position: u32) -> String {
    format!("t{position}x{:x}", clock.start_unix_ns())
}
