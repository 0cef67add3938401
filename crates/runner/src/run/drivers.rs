//! The drivers of a run: one for a server that is given by its URL, or one for each version of a system of processes. All trials run
//! with them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use waggle_agents::Fleet;
use waggle_study::System;
use waggle_system::{
    components::{
        created::Place,
        driver::{Driver, ExternalDriver, ProcessDriver, ProcessParts, Programs},
        limits::Limiter,
    },
    host::cpu_time::CpuClocks,
    http::{client::Network, transport::Transports},
    shutdown::Shutdown,
};

#[cfg(feature = "cluster")]
use crate::run::system_manifests::manifest_driver;
#[cfg(feature = "cluster")]
use crate::run::system_pods::PodSite;
use crate::{
    event::Event,
    event_sender::Events,
    load::engine::Engine,
    run::{
        request::{Ended, RunRequest},
        schedule,
        schedule::{CHANGED_SYSTEM_FOLDER, SYSTEM_FOLDER, Series},
        version_programs::VersionPrograms,
    },
    trial::{Environments, TrialEnvironment, error::RunError, snapshot::Prepared},
};

/// What drivers are made of, beside the programs of their system.
pub(crate) struct DriverParts<'a> {
    pub(crate) request: &'a RunRequest,
    pub(crate) limiter: Limiter,
    pub(crate) tls: Transports,
    pub(crate) clocks: &'a CpuClocks,
    /// `None`: loads are made here.
    pub(crate) fleet: Option<Arc<Fleet>>,
}

/// Runs all trials with the driver that fits the system.
pub(crate) async fn run_trials(
    parts: DriverParts<'_>,
    programs: VersionPrograms,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let request = parts.request;
    let engine = &Engine {
        program: request.supervisor.clone(),
        fleet: parts.fleet.clone(),
    };
    if request.system.manifests.is_some() {
        return run_manifests(&parts, engine, series, events, shutdown).await;
    }
    match &request.system.external {
        Some(server) => {
            let driver = ExternalDriver::new(server.clone(), parts.tls.server, request.server_at);
            let driver = driver.with_clocks(parts.clocks.clone());
            let mut environments = Environments {
                baseline: with_driver(driver, engine, SYSTEM_FOLDER),
                changed: None,
            };
            schedule::run_all(&mut environments, series, events, shutdown).await
        }
        None => {
            let (system, folder) = (&request.system, &request.system_folder);
            let VersionPrograms { baseline, changed } = programs;
            let changed = match (changed, &request.changed) {
                (Some(programs), Some(changed)) => {
                    Some(parts.process_driver(programs, &changed.system, &changed.folder)?)
                }
                _ if request.study.has_duets() => {
                    Some(parts.process_driver(baseline.clone(), system, folder)?)
                }
                _ => None,
            };
            let baseline = parts.process_driver(baseline, system, folder)?;
            let baseline = with_pods(baseline, request).await?;
            let mut environments = Environments {
                baseline: with_driver(baseline, engine, SYSTEM_FOLDER),
                changed: changed.map(|changed| with_driver(changed, engine, CHANGED_SYSTEM_FOLDER)),
            };
            let ended = schedule::run_all(&mut environments, series, events, shutdown).await;
            for problem in environments.baseline.driver.end().await {
                events.report(Event::Warning(problem)).await;
            }
            ended
        }
    }
}

/// The driver of a system whose components are pods; of any other system the same one.
async fn with_pods(driver: ProcessDriver, request: &RunRequest) -> Result<ProcessDriver, RunError> {
    let Some(pods) = &request.study.system_pods else {
        return Ok(driver);
    };
    #[cfg(feature = "cluster")]
    {
        let site = PodSite::claim(request, pods).await?;
        Ok(driver.with_site(Box::new(site), env!("CARGO_PKG_VERSION")))
    }
    #[cfg(not(feature = "cluster"))]
    {
        let _ = (driver, pods);
        Err(RunError::NoPods)
    }
}

/// Runs all trials of a system that is manifests or a chart.
#[cfg(feature = "cluster")]
async fn run_manifests(
    parts: &DriverParts<'_>,
    engine: &Engine,
    series: Series<'_>,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Ended, RunError> {
    let driver = manifest_driver(parts.request, parts.clocks.clone()).await?;
    let mut environments = Environments {
        baseline: with_driver(driver, engine, SYSTEM_FOLDER),
        changed: None,
    };
    let ended = schedule::run_all(&mut environments, series, events, shutdown).await;
    for problem in environments.baseline.driver.end().await {
        events.report(Event::Warning(problem)).await;
    }
    ended
}

#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "with Kubernetes it runs trials")]
async fn run_manifests(
    _: &DriverParts<'_>,
    _: &Engine,
    _: Series<'_>,
    _: &Events,
    _: &Shutdown,
) -> Result<Ended, RunError> {
    Err(RunError::NoManifests)
}

impl DriverParts<'_> {
    fn process_driver(
        &self,
        programs: Programs,
        system: &System,
        folder: &Path,
    ) -> Result<ProcessDriver, RunError> {
        let driver = ProcessDriver::new(ProcessParts {
            system: Arc::new(system.clone()),
            system_folder: absolute(folder)?,
            programs,
            supervisor: self.request.supervisor.clone(),
            limiter: self.limiter.clone(),
            external_tls: self.tls.ports.clone(),
            created: created_place(self.request),
        });
        Ok(driver.with_clocks(self.clocks.clone()))
    }
}

pub(super) fn absolute(folder: &Path) -> Result<PathBuf, RunError> {
    std::path::absolute(folder).map_err(|problem| RunError::Folder {
        attempt: "find",
        path: folder.to_path_buf(),
        problem,
    })
}

fn with_driver<D: Driver>(
    driver: D,
    engine: &Engine,
    system_folder: &'static str,
) -> TrialEnvironment<D, Engine, Network> {
    TrialEnvironment {
        driver,
        load: engine.clone(),
        http: Network,
        system_folder,
        running_system: None,
        namespace: None,
        prepared: Prepared::default(),
    }
}

/// Where it is noted what setup makes in components that run already; `None`: the run keeps no such files.
fn created_place(request: &RunRequest) -> Option<Place> {
    let system = request.system.name.clone();
    Some(Place {
        folder: request.created_folder.as_ref()?.join(&system),
        study: std::path::absolute(&request.study_file).ok()?,
        system,
    })
}
