//! What `waggle __replica` is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Replica {
    pub(crate) action: ReplicaAction,
    /// Of the pod, empty at the start
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplicaAction {
    /// Start a replica as its driver says
    Serve,
    /// Connect the standard streams to that process
    Join,
}
