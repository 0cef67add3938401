//! How a trial waited for a quiet machine before its start.

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
