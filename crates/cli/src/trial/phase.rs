//! The phase of an interval, as far as metrics are concerned.

use schemars::JsonSchema;
use serde::Serialize;

/// The phase of an interval or a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Phase {
    /// Left out of the metrics.
    WarmUp,
    /// Measured.
    Measured,
    /// Requests are no longer sent; the last answers arrive.
    Finish,
}
