//! How a system is brought up and down: the trait that the trial uses, and the values that it returns.

mod child;
mod elsewhere;
mod env;
pub mod external;
mod free_port;
mod idle_check;
mod log;
mod orders;
mod ports;
mod process;
mod program;
mod ready;
mod setup;

use std::{collections::BTreeMap, path::Path, time::Duration};

use tokio::{sync::watch, time::Instant};
use waggle_results::{LimitInfo, ReplicaPod};
use waggle_study::{Level, Limits};

pub(super) use self::log::remark;
pub use self::{
    child::{Child, Launch},
    elsewhere::{MadeReplica, Site, SiteFuture, WantedReplica},
    external::ExternalDriver,
    idle_check::IdleCheck,
    process::{ProcessDriver, ProcessParts},
    program::{
        ProgramError, Programs, Search, artifact_of, distinct, folder_name, names, started_programs,
    },
};
use crate::{
    components::limits::Throttled,
    host::{cpu_time::CpuReading, usage::Usage},
    http::peer::Peer,
    problem::Problem,
    secrets::words::Secrets,
};

/// What a driver needs to know about the system that it brings up.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// Every parameter of the system with its level.
    pub parameters: &'a BTreeMap<String, Level>,
    /// Of the components that have any.
    pub limits: &'a BTreeMap<String, Limits>,
    pub secrets: &'a Secrets,
    /// Replicas write below this folder; it is removed after the trial.
    pub folder: &'a Path,
    pub logs: &'a Path,
    /// CPUs of the components; empty: any.
    pub cpus: &'a [usize],
    /// The components start in folders that they left after a clean stop; their setup was carried out before.
    pub is_restored: bool,
    /// The levels of all parameters after each upgrade to come, which can be checked now.
    pub upgrades: &'a [&'a BTreeMap<String, Level>],
    /// Nodes of replicas are to be drained: whether that is allowed can be checked now.
    pub has_drains: bool,
    /// Everything must be ready by then.
    pub deadline: Instant,
}

/// Why a phase failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub reason: String,
    /// Last lines of the log of the component that caused it, if one did.
    pub log_tail: Vec<String>,
}

impl Failure {
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            log_tail: Vec::new(),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::new(problem.to_string())
    }
}

/// A component that ended without being asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// `gateway-0`.
    pub replica: String,
    /// `with exit code 1`, `by signal 9`.
    pub how: String,
}

/// Reports deaths as they happen.
#[derive(Debug, Clone)]
pub struct Deaths(pub watch::Receiver<Vec<Death>>);

impl Deaths {
    /// The first death; never returns while all components run.
    pub async fn next_death(&mut self) -> Death {
        if let Ok(deaths) = self.0.wait_for(|deaths| !deaths.is_empty()).await
            && let Some(death) = deaths.first()
        {
            return death.clone();
        }
        // No sender is left, so no death can be reported.
        std::future::pending().await
    }
}

/// The limits of a replica and how it met them so far.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitReading {
    pub info: LimitInfo,
    /// `None`: its CPU time is not limited by a cgroup.
    pub throttled: Option<Throttled>,
}

/// The last lines of a log; empty if it cannot be read.
pub fn log_tail(log: &Path) -> Vec<String> {
    waggle_results::log_tail(log).unwrap_or_default()
}

/// Brings a system up for one trial after another.
#[expect(
    async_fn_in_trait,
    reason = "the futures stay on the thread of their trial: none has to be Send"
)]
pub trait Driver {
    /// Starts every component. Those that need others are started once these are ready.
    async fn start_all(&mut self, setup: Setup<'_>) -> Result<(), Failure>;

    /// Returns when every replica is ready.
    async fn ready(&mut self, setup: Setup<'_>) -> Result<(), Failure>;

    /// Deaths of components. Call it once all are ready.
    fn deaths(&self) -> Deaths;

    /// The last lines of a replica's log.
    fn log_tail(&self, replica: &str) -> Vec<String>;

    /// A port of every replica of a component, in the order of replicas; empty if it does not exist.
    fn peers(&self, component: &str, port: &str) -> Vec<Peer>;

    /// CPU and memory of every replica and of waggle.
    fn usage(&self) -> Vec<Usage>;

    /// CPU time so far, of the machine and of all that is known of it; `None`: it cannot be read.
    fn cpu_reading(&self) -> Option<CpuReading>;

    /// Looks again for the processes of what runs already: some of them are known only by what they do under load.
    fn find_processes(&self);

    /// Limits of every replica that has any, in the order of their starts.
    fn limits(&self) -> Vec<LimitReading>;

    /// The replicas that are pods, with those that were replaced since the start; empty: none is.
    fn pods(&self) -> Vec<ReplicaPod> {
        Vec::new()
    }

    /// Kills a replica and all its descendants, and returns when they are gone. [`Driver::deaths`] does not report this. If the
    /// future is dropped, `stop_all` completes the kill.
    async fn kill(&self, component: &str, replica: u32) -> Result<(), Failure>;

    /// Starts a killed replica again with the same command and without its setup, and returns when it is ready.
    async fn start_again(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<(), Failure>;

    /// Gives a component that is up what changes if the system's parameters have these levels, and returns when all is ready again;
    /// `None`: its replicas are replaced by others that are the same. [`Driver::deaths`] does not report those that end by that.
    /// Returns the components whose replicas may have been replaced.
    async fn upgrade(
        &self,
        component: &str,
        levels: Option<&BTreeMap<String, Level>>,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        let (_, _) = (levels, deadline);
        let why = "is no workload of manifests or a chart, which alone can be upgraded";
        Err(Failure::new(format!("{component} {why}")))
    }

    /// Moves the system's replicas away from the node of this one, which nothing may be placed on any more until [`Driver::stop_all`], and
    /// returns when all are ready elsewhere. [`Driver::deaths`] does not report those that end by that. Returns their components.
    async fn drain(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        let _ = deadline;
        let why = "is no pod of manifests or a chart, which alone can leave its node";
        Err(Failure::new(format!("{component}-{replica} {why}")))
    }

    /// How long [`Driver::stop_all`] may take at most beside the stops of components: for the removal of what was made for them.
    fn removal_timeout(&self) -> Duration {
        Duration::ZERO
    }

    /// Stops everything that was started; returns remarks about what went wrong. If the future is dropped, what is left stays noted.
    async fn stop_all(&mut self) -> Vec<String>;

    /// The same, and replicas leave in this folder what they had in theirs, wherever these were. The second value is why one did not.
    async fn stop_and_fetch(&mut self, _folder: &Path) -> (Vec<String>, Result<(), Problem>) {
        (self.stop_all().await, Ok(()))
    }

    /// Secrets that were not known when the components were started do not come into their logs from now on.
    fn hide(&self, secrets: &Secrets);

    /// Whether the host is idle enough for the next trial.
    fn is_host_idle(&mut self) -> bool;
}
