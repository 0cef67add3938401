//! Runs that go on on this machine.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

/// A run that goes on on this machine, whoever began it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningRun {
    pub pid: u32,
    /// The command.
    pub what: String,
    /// `None`: it keeps no run.
    pub run: Option<PathBuf>,
}

/// The socket at which a run offers its steps.
const SOCKET: &str = "events.sock";

/// Whether a waggle writes to a run in the folder. Only a run with a socket is locked for a look: one that just begins must get its lock.
pub(crate) fn is_running(run: &Path, has_socket: bool, running: &[RunningRun]) -> bool {
    let is_known = |known: &RunningRun| known.run.as_deref() == Some(run);
    running.iter().any(is_known) || (has_socket && waggle_results::is_being_written(run))
}

/// Whether a run offers its steps, or was killed while it did.
pub(super) fn has_socket(run: &Path) -> bool {
    let about = fs::symlink_metadata(run.join(SOCKET));
    about.is_ok_and(|about| about.file_type().is_socket())
}
