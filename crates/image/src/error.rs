//! Why an image cannot be made or sent.

use std::{io, path::PathBuf, time::Duration};

/// Why an image cannot be made or sent.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("cannot {attempt} {}: {problem}", path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        problem: io::Error,
    },
    #[error("{} is {what}, which does not go into an image", path.display())]
    Kind { path: PathBuf, what: &'static str },
    #[error("the link {} leads to {}, outside of what goes into the image", path.display(), target.display())]
    Outside { path: PathBuf, target: PathBuf },
    #[error("{} has a name that is not UTF-8", path.display())]
    Name { path: PathBuf },
    #[error("\"{path}\" is no place in an image")]
    Place { path: String },
    #[error("the image would have two different things at /{path}")]
    Twice { path: String },
    #[error("an image has {limit} at most; {} would exceed that", path.display())]
    TooLarge { limit: &'static str, path: PathBuf },
    #[error("{} changed while it was read", path.display())]
    Changed { path: PathBuf },
    #[error("/{program} is a program for {is}, and the image is for {expected}")]
    Architecture {
        program: String,
        is: String,
        expected: String,
    },
    #[error(
        "/{program} needs the shared library {library}, which is neither in the image nor on this machine"
    )]
    Library { program: String, library: String },
    #[error(
        "/{program} needs {version} of {library}, and /{provider} of the image is older: build the program on the release that the image is made of"
    )]
    SymbolVersion {
        program: String,
        library: String,
        version: String,
        provider: String,
    },
    #[error("{program} cannot be run: {problem}")]
    Program {
        program: &'static str,
        problem: io::Error,
    },
    #[error("{program} did not end within {} s", limit.as_secs())]
    Slow {
        program: &'static str,
        limit: Duration,
    },
    #[error("{program} failed: {said}")]
    Failed { program: &'static str, said: String },
    #[error("{file}: no digest of it is known; {hint}")]
    Unpinned { file: String, hint: String },
    #[error("{file} has the SHA-256 digest {is}, and {expected} is expected")]
    Digest {
        file: String,
        is: String,
        expected: String,
    },
    #[error("{}: {why}", program.display())]
    NotTaken { program: PathBuf, why: String },
    #[error("\"{text}\" is no name of an image with a tag: {why}")]
    Reference { text: String, why: String },
    #[error("{}: {why}", file.display())]
    Credentials { file: PathBuf, why: String },
    #[error("{registry}: cannot {attempt}: {why}")]
    Registry {
        registry: String,
        attempt: String,
        why: String,
    },
    #[error("interrupted; nothing of the image was kept")]
    Interrupted,
}

impl ImageError {
    /// For a call about a file.
    pub(crate) fn file(
        attempt: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |problem| Self::File {
            attempt,
            path,
            problem,
        }
    }
}
