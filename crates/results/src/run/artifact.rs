//! Which artifacts, such as real servers, the cells of a run used.

use serde::{Deserialize, Serialize};

/// An artifact of the system's file in one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactInfo {
    pub name: String,
    /// The version that was fetched; `None`: it was installed, in whatever version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The cells in which a component runs a program of it.
    pub cells: Vec<u32>,
}
