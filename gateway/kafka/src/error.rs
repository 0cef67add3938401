//! What is wrong with flags, files and answers that do not give access.

use std::path::PathBuf;

use waggle_fetch::LocationError;

/// Flags or files that do not give access. No error has a secret.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error(
        "{flag} {value} needs a program that is built with the feature kafka-tls; this one is built without it"
    )]
    NotBuilt {
        flag: &'static str,
        value: &'static str,
    },
    #[error("{flag}: expected {expected}")]
    Flag {
        flag: &'static str,
        expected: &'static str,
    },
    #[error("{flag}: reading {file}: {source}")]
    File {
        flag: &'static str,
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{flag}: {file}: expected {expected}")]
    Content {
        flag: &'static str,
        file: PathBuf,
        expected: &'static str,
    },
    #[error("--kafka-token-file: {file}: the token expired {seconds} s ago")]
    TokenExpired { file: PathBuf, seconds: u64 },
    #[error("--kafka-token-url: {0}")]
    TokenUrl(#[from] LocationError),
    #[error("--kafka-token-url: {url}: {problem}")]
    TokenEndpoint { url: String, problem: String },
    #[error("--kafka-token-url: starting the thread that asks for tokens: {0}")]
    TokenThread(std::io::Error),
}
