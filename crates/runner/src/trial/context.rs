//! A trial with its context, and the environment in which it runs.

use std::{cell::RefCell, path::Path};

use waggle_results::{QuietWaitInfo, TrialKey, TrialWriter};
use waggle_study::{Cell, System};
use waggle_system::{
    host::{
        cpu_time::CpuClocks,
        cpus::Shares,
        measuring::Measuring,
        namespace::{Namespace, NetworkError},
    },
    secrets::{oauth2::TokenSource, words::Secrets},
    shutdown::Shutdown,
};

use crate::{
    event_sender::Events,
    load::records::RecordFiles,
    probe::SampleLimits,
    trial::{
        duet::Part,
        snapshot::{Prepared, SnapshotUse},
    },
};

/// The driver, the load and the network; a test can replace each of them.
#[derive(Debug)]
pub(crate) struct TrialEnvironment<D, L, W> {
    pub(crate) driver: D,
    pub(crate) load: L,
    pub(crate) http: W,
    /// The folder below the run folder in which a trial's system writes.
    pub(crate) system_folder: &'static str,
    /// A system that was kept up after a trial.
    pub(crate) running_system: Option<RunningSystem>,
    /// The network of the system that is up, which this thread is in; `None`: the machine's.
    pub(crate) namespace: Option<Namespace>,
    /// What the system that is up was prepared with.
    pub(crate) prepared: Prepared,
}

impl<D, L, W> TrialEnvironment<D, L, W> {
    /// Moves this thread into the network of a cell's next system, if it has one of its own.
    pub(crate) fn enter_network(&mut self, cell: &Cell) -> Result<(), NetworkError> {
        let network = cell.network.as_ref();
        self.namespace = network.map(Namespace::enter).transpose()?;
        Ok(())
    }

    /// Keeps the system, or what is left of one that was stopped: nothing, nor its network.
    pub(crate) fn keep_up(&mut self, system: Option<RunningSystem>) {
        if system.is_none() {
            self.namespace = None;
        }
        self.running_system = system;
    }
}

/// The environments of a run.
#[derive(Debug)]
pub(crate) struct Environments<D, L, W> {
    pub(crate) baseline: TrialEnvironment<D, L, W>,
    /// `None`: a changed version, if there is one, needs none of its own.
    pub(crate) changed: Option<TrialEnvironment<D, L, W>>,
}

/// A system that is up for its cell's next trial.
#[derive(Debug)]
pub(crate) struct RunningSystem {
    pub(crate) cell: u32,
    pub(crate) secrets: Secrets,
}

impl TrialContext<'_> {
    /// Whether the system begins with the files of a snapshot.
    pub(crate) fn is_restored(&self) -> bool {
        self.snapshot
            .is_some_and(|snapshot| snapshot.restored.is_some())
    }
}

/// The inputs of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialContext<'a> {
    /// With the configuration of the cell.
    pub(crate) system: &'a System,
    pub(crate) secrets: &'a Secrets,
    /// Where its token comes from; `None`: it has none.
    pub(crate) tokens: Option<&'a TokenSource>,
    pub(crate) cell: &'a Cell,
    pub(crate) key: TrialKey,
    pub(crate) position: u32,
    /// The load level, if the study searches for one; the cell's load has it.
    pub(crate) level: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) records: &'a RecordFiles,
    pub(crate) shares: &'a Shares,
    /// CPU clocks of the CPUs that waggle may use; `None`: they are not read.
    pub(crate) clocks: Option<&'a CpuClocks>,
    /// The capacity of the engine with this shape of load, if it is known.
    pub(crate) possible_per_s: Option<f64>,
    /// `None`: nobody looks for others that measure.
    pub(crate) measuring: Option<&'a Measuring>,
    pub(crate) sample_limits: SampleLimits,
    /// For the files of the system; removed after the trial.
    pub(crate) folder: &'a Path,
    /// The folder in which the components write their logs.
    pub(crate) logs: &'a Path,
    /// The folder in which the trial keeps them; may be the same.
    pub(crate) kept_logs: &'a Path,
    /// Another trial follows, so the host must become idle.
    pub(crate) has_next: bool,
    /// The system is up since an earlier trial of the cell.
    pub(crate) is_up: bool,
    /// It may stay up for the next one.
    pub(crate) may_stay_up: bool,
    /// Where the prepared system is kept; `None`: it is not.
    pub(crate) snapshot: Option<SnapshotUse<'a>>,
    /// `None`: no other trial runs at the same time.
    pub(crate) duet: Option<Part<'a>>,
    /// How it waited for a quiet machine before; `None`: it did not.
    pub(crate) quiet_wait: Option<QuietWaitInfo>,
}

/// One trial while it runs.
pub(crate) struct Trial<'a> {
    pub(crate) context: TrialContext<'a>,
    pub(crate) events: &'a Events,
    pub(crate) shutdown: &'a Shutdown,
    pub(crate) writer: &'a RefCell<TrialWriter>,
}
