//! What a failed request does to its session.

use serde::{Deserialize, Serialize};

/// What becomes of a session whose request failed. If its connection is lost, the session ends in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// It ends there.
    #[default]
    EndSession,
    /// It continues as if the request had succeeded.
    Continue,
}
