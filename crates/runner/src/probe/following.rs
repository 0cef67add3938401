//! What decides how a place is followed, and why a look at it showed nothing.

use std::time::Duration;

use tokio::sync::watch;
use waggle_study::{Delivery, Probe};

use super::delays::Window;
use crate::{clock::Clock, secrets::Secrets, web::WebError};

/// What decides how a place is followed.
#[derive(Debug, Clone)]
pub(crate) struct Following<'a> {
    pub(crate) probe: &'a Probe,
    pub(crate) delivery: &'a Delivery,
    /// The mark of this trial's records.
    pub(crate) run: String,
    pub(crate) workers: usize,
    pub(crate) sequence_max: u64,
    pub(crate) interval: Duration,
    pub(crate) clock: Clock,
    /// No record was sent before, in nanoseconds since 1970.
    pub(crate) since_ns: u64,
    /// Records that are not of this trial may stand there: the place is older than the trial, or not ours alone.
    pub(crate) has_others: bool,
    /// For `${secret.NAME}` in questions.
    pub(crate) secrets: &'a Secrets,
    /// The measured phase, as soon as it is known.
    pub(crate) window: watch::Receiver<Option<Window>>,
}

/// Why a look showed nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error(transparent)]
    Web(#[from] WebError),
    #[error("{path}: {problem}")]
    Answer { path: String, problem: String },
    #[error("{0}")]
    Kafka(String),
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
