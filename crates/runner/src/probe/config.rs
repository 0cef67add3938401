//! The configuration of a probe, and why a poll failed.

use std::time::Duration;

use tokio::sync::watch;
use waggle_study::{Delivery, Probe};
use waggle_system::{http::client::HttpError, secrets::words::Secrets};

use super::{delays::Window, due_instants::DueInstants, sampling::SampleLimits};
use crate::clock::Clock;

/// The configuration of a probe.
#[derive(Debug, Clone)]
pub(crate) struct ProbeConfig<'a> {
    pub(crate) probe: &'a Probe,
    pub(crate) delivery: &'a Delivery,
    /// The mark of this trial's records.
    pub(crate) run: String,
    pub(crate) workers: usize,
    pub(crate) sequence_max: u64,
    pub(crate) interval: Duration,
    pub(crate) clock: Clock,
    /// No record was sent before this time, in nanoseconds since 1970.
    pub(crate) since_ns: u64,
    /// The store may contain records of others: it is older than the trial, or shared.
    pub(crate) has_others: bool,
    /// How much of a store is read under load.
    pub(crate) sample_limits: SampleLimits,
    /// For `${secret.NAME}` in requests.
    pub(crate) secrets: &'a Secrets,
    /// When records fell due; `None`: when they were sent, or by something else than a schedule.
    pub(crate) due_instants: Option<DueInstants>,
    /// The measured phase, as soon as it is known.
    pub(crate) window: watch::Receiver<Option<Window>>,
}

/// Why a poll failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{path}: {problem}")]
    Answer { path: String, problem: String },
    #[error("{0}")]
    Kafka(String),
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
