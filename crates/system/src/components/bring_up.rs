//! A system that is brought up outside a study: started, checked, kept up for its users, and brought down.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use waggle_results::private_file;
use waggle_study::{Level, System};

use crate::{
    components::{
        driver::{
            Death, Driver, Failure, ProcessDriver, ProcessParts, ProgramError, Programs, Search,
            Setup,
        },
        limits::{CGROUPS, Limiter},
        verify,
        verify::Target,
    },
    http::{client::Network, peer, transport::TlsOfPorts},
    secrets::words::Secrets,
    shutdown::Shutdown,
};

/// Timeout for stopping everything.
const DOWN_AT_MOST: Duration = Duration::from_secs(120);

/// A system that is to be up.
#[derive(Debug, Clone)]
pub struct UpRequest {
    pub system: System,
    /// The folder of `system.yaml`.
    pub system_folder: PathBuf,
    /// A level for each of its parameters.
    pub parameters: BTreeMap<String, Level>,
    /// All files that the system writes are below it. It is empty at the start, and removed at the end.
    pub folder: PathBuf,
    pub ready_at_most: Duration,
    /// Folders in which programs are searched before `PATH`.
    pub program_folders: Vec<PathBuf>,
    /// Where fetched artifacts are kept.
    pub artifacts_folder: PathBuf,
    /// A program that calls [`crate::supervise()`] with its arguments when its first one is `__supervise`.
    pub supervisor: PathBuf,
}

/// How to reach a system that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Up {
    /// Each endpoint with its address at every replica.
    pub endpoints: Vec<(String, Vec<SocketAddr>)>,
    /// Each port of each component, `kafka.broker`, with its addresses.
    pub ports: Vec<(String, Vec<SocketAddr>)>,
    /// Name and value.
    pub secrets: Vec<(String, String)>,
    /// Where its certificates and their keys are; `None`: it has none.
    pub certificates: Option<PathBuf>,
    /// Where the components write their logs.
    pub logs: PathBuf,
}

/// Why a system could not be brought up, or did not stay up.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("cannot {attempt} {}: {problem}", path.display())]
    Folder {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error("{reason}{}", log_tail.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Failed {
        reason: String,
        /// Last lines of the log of the component that caused it, if one did.
        log_tail: Vec<String>,
    },
}

impl From<Failure> for UpError {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            reason: failure.reason,
            log_tail: failure.log_tail,
        }
    }
}

/// Brings a system up, passes its addresses to `on_ready`, and keeps it up until `shutdown` asks for an end. Always brings it
/// down again; returns the problems of that as remarks.
///
/// # Errors
/// A program is missing, the system does not come up or does not work, or one of its components ends.
pub async fn bring_up(
    request: &UpRequest,
    shutdown: watch::Receiver<bool>,
    on_ready: impl FnOnce(&Up),
) -> Result<Vec<String>, UpError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = request.program_folders.clone();
    folders.push(request.system_folder.clone());
    let search = Search {
        folders: &folders,
        path: &path,
        artifacts: Some(&request.artifacts_folder),
    };
    if request.system.asks_with_token() || request.system.is_set_up_with_token() {
        let name = &request.system.name;
        return Err(Failure::new(format!(
            "system {name} is asked with ${{oauth2.token}}, which only a study has (system.oauth2), so it cannot be brought up alone"
        ))
        .into());
    }
    if request.system.manifests.is_some() {
        let name = &request.system.name;
        return Err(Failure::new(format!(
            "system {name} is manifests or a chart, which are applied for the trials of a study alone; to keep it up, apply them with \
             kubectl or helm"
        ))
        .into());
    }
    let configuration = std::iter::once(&request.parameters);
    let programs = Programs::find(&request.system, configuration, search)?;
    let system_folder = absolute(&request.system_folder)?;
    let limits = request.system.configure(&request.parameters);
    let limits = limits.limits(&request.parameters);
    let limiter = match limits.is_empty() {
        true => Limiter::without_limits(),
        false => Limiter::find(Path::new(CGROUPS)),
    };
    let mut driver = ProcessDriver::new(ProcessParts {
        system: Arc::new(request.system.clone()),
        system_folder,
        programs,
        supervisor: request.supervisor.clone(),
        limiter,
        external_tls: TlsOfPorts::new(),
        created: None,
    });
    let secrets = Secrets::default();
    let mut shutdown = Shutdown::new(shutdown);
    let ended = tokio::select! {
        ended = stay_up(request, &mut driver, &secrets, on_ready) => ended,
        () = shutdown.wait_for_stop() => Ok(()),
    };
    let remarks = timeout(DOWN_AT_MOST, driver.stop_all()).await;
    let seconds = DOWN_AT_MOST.as_secs();
    let late = || vec![format!("tear-down took longer than {seconds} s")];
    let remarks = remarks.unwrap_or_else(|_| late());
    fs::remove_dir_all(&request.folder)
        .or_else(|problem| match problem.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(problem),
        })
        .map_err(|problem| io_error("remove", &request.folder, problem))?;
    ended.map(|()| remarks)
}

/// Returns only on an error.
async fn stay_up(
    request: &UpRequest,
    driver: &mut ProcessDriver,
    secrets: &Secrets,
    on_ready: impl FnOnce(&Up),
) -> Result<(), UpError> {
    let folder = absolute(&request.folder)?;
    let logs = folder.join("logs");
    private_file::create_folder(&logs).map_err(|problem| io_error("create", &logs, problem))?;
    let system = request.system.configure(&request.parameters);
    let limits = system.limits(&request.parameters);
    let setup = Setup {
        is_restored: false,
        upgrades: &[],
        has_drains: false,
        parameters: &request.parameters,
        limits: &limits,
        secrets,
        folder: &folder,
        logs: &logs,
        cpus: &[],
        deadline: Instant::now() + request.ready_at_most,
    };
    driver.start_all(setup).await?;
    driver.ready(setup).await?;
    let mut deaths = driver.deaths();
    let checked = async {
        let target = Target {
            system: &system,
            secrets,
        };
        verify::verify(target, driver, &Network).await
    };
    tokio::select! {
        checked = checked => checked?,
        death = deaths.next_death() => return Err(death_error(driver, death)),
    }
    on_ready(&offer(&system, driver, secrets, &logs));
    let death = deaths.next_death().await;
    Err(death_error(driver, death))
}

fn offer(system: &System, driver: &ProcessDriver, secrets: &Secrets, logs: &Path) -> Up {
    let endpoints = system.endpoints.iter().map(|endpoint| {
        let peers = driver.peers(&endpoint.component, &endpoint.port);
        (endpoint.name.clone(), peer::addresses(&peers))
    });
    let ports = system.components.iter().flat_map(|component| {
        component.ports.iter().map(|port| {
            let peers = driver.peers(&component.name, port);
            let name = format!("{}.{port}", component.name);
            (name, peer::addresses(&peers))
        })
    });
    Up {
        endpoints: endpoints.collect(),
        ports: ports.collect(),
        secrets: secrets.used_values(),
        certificates: driver.certificates().map(Path::to_path_buf),
        logs: logs.to_path_buf(),
    }
}

fn death_error(driver: &ProcessDriver, death: Death) -> UpError {
    UpError::Failed {
        reason: format!("{} ended {}", death.replica, death.how),
        log_tail: driver.log_tail(&death.replica),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, UpError> {
    std::path::absolute(path).map_err(|problem| io_error("find", path, problem))
}

fn io_error(attempt: &'static str, path: &Path, problem: io::Error) -> UpError {
    UpError::Folder {
        attempt,
        path: path.to_path_buf(),
        problem,
    }
}
