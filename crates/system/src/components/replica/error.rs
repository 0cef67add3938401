//! Why the process beside a replica could not go on.

use std::{io, path::PathBuf};

/// Why the process beside a replica could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot read {}: {why}", file.display())]
    Image { file: PathBuf, why: String },
    #[error("cannot {attempt} {}: {problem}", path.display())]
    Socket {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error("no driver came for {0} s, and the replica was ended")]
    Abandoned(u64),
}
