//! Why a run could not be written or read.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::{TextError, TrialKey, files::names::RUN_FILE};

/// Why a run could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("{} is not a run: it has no {RUN_FILE}", path.display())]
    NotARun { path: PathBuf },
    #[error("cannot read {}: {problem}", path.display())]
    Io { path: PathBuf, problem: io::Error },
    #[error("{} has more than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{}: {problem}", path.display())]
    Text { path: PathBuf, problem: TextError },
    #[error("{}: {problem}", path.display())]
    Folder { path: PathBuf, problem: String },
}

/// Why something could not be put on disk.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("cannot {attempt} {}: {problem}", path.display())]
    Io {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error("{} holds something already; a run needs a folder of its own", path.display())]
    Occupied { path: PathBuf },
    #[error("another waggle is writing {}", path.display())]
    Locked { path: PathBuf },
    #[error("{key} is not in the plan of this run")]
    NotPlanned { key: TrialKey },
    #[error("{key} has its result already, in {}", path.display())]
    AlreadyFinished { key: TrialKey, path: PathBuf },
    /// Our bug: what was to be written could not be read again, such as a number that is not finite.
    #[error("refusing to write to {} what could not be read again: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("an interval was written to {} before the load was said to have started", path.display())]
    NotStarted { path: PathBuf },
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl WriteError {
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |problem| Self::Io {
            attempt,
            path,
            problem,
        }
    }
}
