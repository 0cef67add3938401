//! How load is made: the trait that the trial uses, so that tests can replace the engine.

use std::io;

use waggle_load::{Interval, Job, Outcome, StartError};

/// Why a load did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Job(#[from] StartError),
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    #[error("the load engine panicked: {message}")]
    Panicked { message: String },
    #[error("the load's thread has vanished")]
    Lost,
    #[error("the load did not end")]
    NotEnded,
}

/// Starts load runs.
pub(crate) trait Load {
    type Run: LoadRun;

    fn start(&mut self, job: Job) -> Result<Self::Run, LoadError>;
}

/// A load run under way. Dropping it stops it.
pub(crate) trait LoadRun {
    /// The next interval, in order; `None` when the run has ended and every interval was returned.
    async fn next_interval(&mut self) -> Option<Interval>;

    /// Nanoseconds since 1970 at its start.
    fn started_unix_ns(&self) -> u64;

    /// Sends no new requests from here on, and waits for outstanding answers.
    fn stop(&self);

    /// The end of the run.
    async fn join(self) -> Result<Outcome, LoadError>;
}
