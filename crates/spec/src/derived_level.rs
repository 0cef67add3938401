//! Levels that follow from other levels.

use serde::{Deserialize, Serialize};

/// A level that every cell computes from its other levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedLevel {
    pub name: String,
    /// As written.
    pub formula: String,
    /// The factors that it depends on, also through other derived levels; each once.
    pub factors: Vec<String>,
}
