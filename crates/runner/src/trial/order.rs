//! What a trial is told, and what it acts with.

use std::path::Path;

use waggle_results::TrialKey;
use waggle_study::{Cell, System};

use crate::{cpu_time::CpuClocks, cpus::Shares, records::RecordFiles, secrets::Secrets};

/// The three things that act on the world, each of which a test can replace.
#[derive(Debug)]
pub(crate) struct Means<D, L, W> {
    pub(crate) driver: D,
    pub(crate) load: L,
    pub(crate) web: W,
    /// A system that was kept up after a trial.
    pub(crate) standing: Option<Standing>,
}

/// A system that is up for its cell's next trial.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) cell: u32,
    pub(crate) secrets: Secrets,
}

/// What a trial is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    /// As it is configured for the cell.
    pub(crate) system: &'a System,
    pub(crate) secrets: &'a Secrets,
    pub(crate) cell: &'a Cell,
    pub(crate) key: TrialKey,
    pub(crate) position: u32,
    /// Of the load, where one is searched for; the cell's load has it.
    pub(crate) level: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) records: &'a RecordFiles,
    /// For a server that runs already with https.
    pub(crate) tls: Option<&'a waggle_load::Tls>,
    pub(crate) shares: &'a Shares,
    /// Of the CPUs that waggle may use; `None`: nobody looks at them.
    pub(crate) clocks: Option<&'a CpuClocks>,
    /// What the engine can send with this shape of load, if that is known.
    pub(crate) possible_per_s: Option<f64>,
    /// For what the system keeps; removed after the trial.
    pub(crate) folder: &'a Path,
    /// Where the components write their logs.
    pub(crate) logs: &'a Path,
    /// Where the trial keeps them; may be the same.
    pub(crate) kept_logs: &'a Path,
    /// Another trial follows, so that the host must come to rest.
    pub(crate) has_next: bool,
    /// The system is up, since an earlier trial of the cell.
    pub(crate) is_up: bool,
    /// It may stay up for the next one.
    pub(crate) may_stay_up: bool,
}
