//! How the cool-down after a trial waited for a value of the machine.

use serde::{Deserialize, Serialize};

/// A cool-down that waited for a value of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoolDownInfo {
    pub waited_s: f64,
    /// The last value, after its scale; `None`: it could not be read.
    pub value: Option<f64>,
    /// Why the last value could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the bound held; else the time was over.
    pub is_reached: bool,
}
