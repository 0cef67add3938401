//! Arguments of what is run in the pod of a runner. Nobody types them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Runner {
    pub(crate) action: RunnerAction,
    /// Of the pod, for the study and its run
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerAction {
    /// Wait for a study, run it, and wait until its folder is fetched
    Serve,
    /// Take a study from the standard input
    Receive,
    /// Write the stream of the run
    Attach,
    /// Write the folder of the run
    Send,
    /// The folder was fetched
    Finish,
}
