//! How a trial waited for its machine: before its start, and after its end.

use serde::{Deserialize, Serialize};

/// A wait until other programs used little CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuietWaitInfo {
    pub waited_s: f64,
    /// Cores that other programs used at last, and the CPUs that waggle may use.
    pub other_cores: f64,
    pub cpus: u32,
    /// Whether the machine was quiet then; else the time was over.
    pub is_quiet: bool,
}

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
