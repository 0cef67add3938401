//! A single request as the results of any tool have it, and what else a reader of such results says of a file.

use anyhow::Result;
use waggle_results::FailureKind;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Request<'a> {
    /// When it was sent, in µs since 1970.
    pub(crate) start_us: u64,
    pub(crate) duration_us: u64,
    /// `None`: it succeeded.
    pub(crate) failure: Option<FailureKind>,
    /// What was sent: the name of a step.
    pub(crate) label: &'a str,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

impl Request<'_> {
    pub(crate) fn end_us(&self) -> u64 {
        self.start_us + self.duration_us
    }
}

/// Gets the requests of a file, one after the other; they are in no order.
pub(crate) type Visit<'v> = dyn FnMut(&Request<'_>) -> Result<()> + 'v;

/// What a reader says of a whole file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileFacts {
    /// Whether times are those of a clock; else the date of the file stands for the start.
    pub(crate) has_start_time: bool,
    pub(crate) has_bytes_sent: bool,
    pub(crate) has_bytes_received: bool,
    /// Resolution of times.
    pub(crate) resolution_us: f64,
    /// What was left out, and other things that a reader of the report must know.
    pub(crate) remarks: Vec<String>,
}

impl Default for FileFacts {
    fn default() -> Self {
        Self {
            has_start_time: true,
            has_bytes_sent: false,
            has_bytes_received: false,
            resolution_us: 0.0,
            remarks: Vec::new(),
        }
    }
}

/// The label of requests without one.
const NO_LABEL: &str = "(no label)";

/// The label of a request that may have none.
pub(crate) fn label_of(text: &str) -> &str {
    match text {
        "" => NO_LABEL,
        text => text,
    }
}

/// The failure of a request with this status; `None`: it is that of a success.
pub(crate) fn status_failure(status: u16) -> Option<FailureKind> {
    match status {
        0 => Some(FailureKind::Other),
        1..=399 => None,
        _ => Some(FailureKind::Status(status)),
    }
}
