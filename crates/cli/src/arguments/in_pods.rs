//! Arguments of what is run in pods: that of a runner, and those of replicas. Nobody types them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What `waggle __runner` is told.
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

/// What `waggle __replica` is told.
#[derive(Debug, Args)]
pub(crate) struct Replica {
    pub(crate) action: ReplicaAction,
    /// Of the pod, empty at the start
    pub(crate) folder: PathBuf,
    /// Whose folder is copied
    #[arg(required_if_eq_any([("action", "pack"), ("action", "unpack")]))]
    pub(crate) replica: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplicaAction {
    /// Start a replica as its driver says
    Serve,
    /// Connect the standard streams to that process
    Join,
    /// Write what is in the folder of a replica to the standard output
    Pack,
    /// Write what comes from the standard input into the folder of a replica
    Unpack,
}
