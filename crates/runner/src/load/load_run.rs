//! How load is made: the trait that the trial uses, so that tests can replace the engine.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use waggle_agents::{Fleet, FleetError};
use waggle_load::{GeneratorsError, Interval, Job, Outcome, ReplaceError, StartError, What};
use waggle_system::components::driver::Failure;

/// Why a load did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Job(#[from] StartError),
    #[error(transparent)]
    Generators(#[from] GeneratorsError),
    #[error(transparent)]
    Agents(#[from] FleetError),
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error("cannot start generator {number} of {of}: {}: {problem}", program.display())]
    Process {
        number: usize,
        of: usize,
        program: PathBuf,
        problem: io::Error,
    },
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    #[error("the load engine panicked: {message}")]
    Panicked { message: String },
    #[error("the load's thread has vanished")]
    Lost,
    #[error("the load did not end")]
    NotEnded,
}

/// A load that did not start, as a failure.
pub(crate) fn start_failure(why: LoadError) -> Failure {
    Failure::new(format!("the load cannot be started: {why}"))
}

/// Replaces what a load run sends by other texts of the same shape. It outlives the run, and does nothing then.
pub(crate) type Replacer = Box<dyn Fn(&What) -> Result<(), LoadError>>;

/// Starts load runs.
pub(crate) trait Load {
    type Run: LoadRun;

    /// The agents on other hosts that make its loads; `None`: they are made here.
    fn fleet(&self) -> Option<Arc<Fleet>> {
        None
    }

    /// Makes room for the connections of jobs that will run in this process at the same time.
    fn reserve_files(&self, jobs: &[&Job]) -> Result<(), LoadError>;

    /// Starts a job on this many generators, the first agents if there are any; 1: in this process, or on the first agent.
    async fn start(&mut self, job: Job, generators: u32) -> Result<Self::Run, LoadError>;

    /// Starts a job on one agent, counted from 1; without agents in this process.
    async fn start_on(&mut self, job: Job, agent: usize) -> Result<Self::Run, LoadError>;
}

/// A load run under way. Dropping it stops it.
pub(crate) trait LoadRun {
    /// The next interval, in order; `None` when the run has ended and every interval was returned.
    async fn next_interval(&mut self) -> Result<Option<Interval>, LoadError>;

    /// Nanoseconds since 1970 at its start.
    fn started_unix_ns(&self) -> u64;

    /// The monotonic clock at its start. Loads of one trial read the same clock.
    fn started_monotonic(&self) -> Duration;

    /// Sends no new requests from here on, and waits for outstanding answers.
    fn stop(&self);

    fn replacer(&self) -> Replacer;

    /// The end of the run.
    async fn join(self) -> Result<Outcome, LoadError>;
}
