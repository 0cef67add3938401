//! The request to run a study, and how a run ends.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use tokio::sync::watch;
use waggle_results::LeftOutInfo;
use waggle_study::{Plan, Study, System};
use waggle_system::host::measuring::Measuring;

use crate::probe::SampleLimits;

/// A study to run, or a run to complete.
#[derive(Debug, Clone)]
pub struct RunRequest {
    pub study: Study,
    pub study_text: String,
    /// As the user wrote it; paths in the study are relative to its folder.
    pub study_file: PathBuf,
    pub system: System,
    pub system_text: String,
    /// The folder of `system.yaml`.
    pub system_folder: PathBuf,
    /// The system of the changed version, if the run compares it with another system.
    pub changed: Option<ChangedSystem>,
    pub run_folder: PathBuf,
    pub plan: Plan,
    /// Cells that were taken out of the study, because their system cannot be had ([`crate::cells_to_leave_out()`]).
    pub left_out: Vec<LeftOutInfo>,
    /// The run folder exists and its run is to be completed.
    pub resume: bool,
    /// Folders in which the system's programs are searched before `PATH`.
    pub program_folders: Vec<PathBuf>,
    /// Where fetched artifacts are kept.
    pub artifacts_folder: Option<PathBuf>,
    /// Where prepared systems are kept; `None`: they are not.
    pub snapshots_folder: Option<PathBuf>,
    /// Where it is noted what is made in systems that run already, until it is removed; `None`: it is not.
    pub created_folder: Option<PathBuf>,
    /// Where it is noted what is made in Kubernetes clusters, until it is removed; `None`: it is not.
    pub cluster_notes_folder: Option<PathBuf>,
    /// This process is in a pod that was made for the run; `None`: it is not.
    pub in_pod: Option<InPod>,
    /// What was made in a cluster for a run that fails is left there.
    pub keeps_failed_pods: bool,
    /// File of calibration results, kept between runs; `None`: the engine is not calibrated.
    pub calibration_file: Option<PathBuf>,
    /// A program that calls [`waggle_system::supervise()`] with its arguments when its first one is `__supervise`, and
    /// [`waggle_system::idle_poll()`] when it is `__idle-poll`, and [`crate::generator()`] when it is `__generator`.
    pub supervisor: PathBuf,
    /// The CPUs are kept from halting, from before the first measurement to the end.
    pub idle_poll: bool,
    pub cpus: CpuUse,
    /// The mount point of cgroups: [`waggle_system::CGROUPS`].
    pub cgroups: PathBuf,
    /// Address at which the server of `system.url` accepts connections; `None`: the runner waits for the server and finds the
    /// address.
    pub server_at: Option<SocketAddr>,
    /// How much of a store probes read under load.
    pub sample_limits: SampleLimits,
    /// Knows who else measures on this machine; `None`: nobody looks.
    pub measuring: Option<Arc<Measuring>>,
    /// True ends the load under way: its trial is kept with what was measured by then, and no other is started. A stop that is
    /// requested after that does not wait for outstanding answers, and the trial is still kept. `None`: the load cannot be ended.
    pub end_load: Option<watch::Receiver<bool>>,
}

/// The pod of a run's own runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InPod {
    pub namespace: String,
    /// The config map to which all objects of the run belong.
    pub anchor_name: String,
    pub anchor_uid: String,
}

/// A system that is compared with that of the study.
#[derive(Debug, Clone)]
pub struct ChangedSystem {
    pub system: System,
    pub text: String,
    /// The folder of its `system.yaml`.
    pub folder: PathBuf,
}

/// Which CPUs the run has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuUse {
    /// Half of them for the load and all of this process, the others for the system.
    Shared,
    /// Nothing is pinned but the threads of the engine, to these CPUs in turn; if empty, not even those.
    Free { engine: Vec<usize> },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every trial of the plan has a result, or those that are left would fail as the others did.
    Finished,
    /// The caller stopped the run; finished trials are kept.
    Interrupted,
}
