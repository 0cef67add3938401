//! How load is made: the trait the trial knows, so that a fake can stand in for the engine.

use waggle_load::{Interval, Job, Outcome};

/// Starts load runs.
pub(crate) trait Load {
    type Run: LoadRun;

    /// `Err`: why it could not be started.
    fn start(&mut self, job: Job) -> Result<Self::Run, String>;
}

/// A load run under way. Dropping it stops it.
pub(crate) trait LoadRun {
    /// The next interval, in order; `None` when the run has ended and every interval was handed out.
    async fn next_interval(&mut self) -> Option<Interval>;

    /// No new requests from here on; answers under way are awaited.
    fn stop(&self);

    /// The end of the run.
    async fn join(self) -> Result<Outcome, String>;
}
