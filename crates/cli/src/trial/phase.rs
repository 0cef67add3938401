//! Where in a trial an interval lies, as far as its numbers are concerned.

use schemars::JsonSchema;
use serde::Serialize;

/// Where in the run a row lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Phase {
    /// Left out of the numbers.
    WarmUp,
    /// Measured.
    Measured,
    /// Nothing is sent any more; the last answers come.
    Finish,
}
