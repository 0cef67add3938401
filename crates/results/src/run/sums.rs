//! The sums of what a study asked, as they are on disk.

use serde::{Deserialize, Serialize};

/// The sums of what was fixed when the run began, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtStartInfo {
    pub question: String,
    pub asks: String,
    /// Of thresholds and of the conditions of a search.
    pub thresholds: String,
    /// Of the text of `study.yaml`.
    pub study: String,
}
