//! What a study says about cells that are not expected to be `valid`.

use serde::{Deserialize, Serialize};

/// The verdict of a cell that is expected not to be `valid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    /// The level changed while it was measured.
    Unsteady,
    /// The system does not keep up with the load.
    Overloaded,
    /// The load generator or a probe is the limit.
    InstrumentLimited,
    /// Accepted records are missing.
    Incomplete,
    /// The counts do not add up.
    Inconsistent,
    /// Trials do not complete.
    Failed,
}
