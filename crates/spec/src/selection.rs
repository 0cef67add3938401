//! What the command line took of a study.

use serde::{Deserialize, Serialize};

/// A part of a study, or a short form of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// One repetition with the shortest phases.
    pub quick: bool,
    /// Three repetitions, to see how trials scatter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pilot: bool,
    /// The levels that cells were chosen by, each `FACTOR=LEVEL`.
    pub filters: Vec<String>,
    /// The number of cells of the whole study.
    pub cells: usize,
}
