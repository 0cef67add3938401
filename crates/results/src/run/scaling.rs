//! Levels that are compared along scaling curves, as `run.json` has them.

use serde::{Deserialize, Serialize};

/// Two levels of a factor; the second is compared with the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairInfo {
    pub factor: String,
    pub levels: [String; 2],
}
