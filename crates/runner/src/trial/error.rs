//! Why a run cannot go on. A trial under way ends with it.

use std::{io, path::PathBuf};

use waggle_results::{ReadError, WriteError};
use waggle_system::{components::driver::ProgramError, host::idle_poll::IdlePollError};

/// Why a run failed. Failures of a system or of a trial are results, not errors.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(
        "{url} cannot be reached: {why} (tried for {}; schedule.ready_timeout is how long a run waits for its server)",
        waggle_units::format_duration(*waited)
    )]
    Unreachable {
        url: String,
        why: std::io::Error,
        waited: std::time::Duration,
    },
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Awake(#[from] IdlePollError),
    #[error(transparent)]
    Records(#[from] crate::load::records::RecordsError),
    #[error(transparent)]
    Transport(#[from] waggle_system::http::transport::TransportError),
    #[error("the study's {what} \"{name}\" is not in the system")]
    NotInSystem { what: &'static str, name: String },
    #[error(
        "{key} has CPU {cpu}, which waggle may not use; it may use {}",
        waggle_system::host::cpus::cpu_list(allowed)
    )]
    Cpu {
        key: &'static str,
        cpu: usize,
        allowed: Vec<usize>,
    },
    #[error("component {component} cannot be limited to {why}")]
    Limit { component: String, why: String },
    #[error(transparent)]
    Network(#[from] waggle_system::host::namespace::NetworkError),
    #[error(
        "network cannot be combined with --design duet: both versions are loaded at the same time; choose --design blocks"
    )]
    NetworkInDuet,
    #[error(transparent)]
    Agents(#[from] waggle_agents::FleetError),
    #[error("{0}")]
    Ssh(String),
    #[error("{0}")]
    JoinFile(String),
    #[error("agents in Kubernetes: {0}")]
    AgentJob(String),
    #[error("system.pods: {0}")]
    SystemPods(String),
    #[error(
        "system.pods: this waggle has no support for Kubernetes; build it with --features cluster, or take a package"
    )]
    NoPods,
    #[error(
        "agents.kubernetes: this waggle has no support for Kubernetes; build it with --features cluster, or take a package"
    )]
    NoKubernetes,
    #[error("the system's manifests: {0}")]
    Manifests(String),
    #[error(
        "the system is manifests or a chart: this waggle has no support for Kubernetes; build it with --features cluster, or take a \
         package"
    )]
    NoManifests,
    #[error(
        "the run is driven from a pod in namespace {runner}, and its system is applied in namespace {system}: what is made there would \
         stay if the pod were killed; drive the run from namespace {system}, or leave out the system's namespace"
    )]
    ManifestsElsewhere { runner: String, system: String },
    #[error(
        "the system is manifests or a chart, of which two versions cannot be compared in one run: make the version a parameter, which \
         patches or helm.set put in, and a factor of it"
    )]
    ManifestsOfTwo,
    #[error(
        "agents.kubernetes lacks agents.listen: pods must reach the runner, ADDRESS:PORT of this machine, and agents.advertise if they see \
         another address"
    )]
    NoListen,
    #[error("the run was stopped before all agents had joined")]
    AgentsNotAwaited,
    #[error(
        "agents cannot be combined with --design duet: both versions are loaded at the same time, by the same agents; choose --design blocks"
    )]
    AgentsInDuet,
    #[error("schedule.cool_down.until.{key}: {why}; {remedy}")]
    Sensor {
        key: &'static str,
        why: String,
        remedy: &'static str,
    },
    #[error("the secret \"{0}\" has no value yet")]
    NoSecret(String),
    #[error(
        "{} cannot be resumed: {what} differs from the one the run was begun with{}",
        folder.display(),
        line.as_ref().map_or_else(String::new, |line| format!(": {line}"))
    )]
    Different {
        folder: PathBuf,
        what: &'static str,
        /// The first line that differs, if it is a text.
        line: Option<String>,
    },
    #[error("{} cannot be resumed: {problem}", folder.display())]
    CannotCompare { folder: PathBuf, problem: io::Error },
    #[error("cannot {attempt} {}: {problem}", path.display())]
    Folder {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error(
        "two versions at the same time, each on its half of the CPUs, need two CPUs; waggle may use one"
    )]
    NoHalves,
    #[error("cannot start the runner's thread: {0}")]
    Thread(io::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

pub(crate) fn io_error(
    attempt: &'static str,
    path: &std::path::Path,
    problem: std::io::Error,
) -> RunError {
    RunError::Folder {
        attempt,
        path: path.to_path_buf(),
        problem,
    }
}
