//! What `waggle __replica` is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
