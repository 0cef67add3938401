//! The cool-down of a schedule by what ends it, key by key.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{DurationText, Name, Share};

/// A cool-down that ends when a value of the machine is below or above a bound.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoolDownUntil {
    /// The value and its bound.
    #[schemars(required)]
    pub until: Option<CoolDownEnd>,
    /// Time between two readings; 5s by default.
    pub poll_interval: Option<DurationText>,
    /// The longest it may take; then the next trial begins nevertheless, and the trial has a remark. 5m by default.
    pub timeout: Option<DurationText>,
}

/// What ends a cool-down: exactly one of file, command, metric, `load_average` and `idle_cpu`. The first three need below or above.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoolDownEnd {
    /// A file that begins with a number, e.g. `/sys/class/thermal/thermal_zone*/temp`. Its path is absolute; `*` and `?` match
    /// within a name, and the bound must hold for every file that matches.
    pub file: Option<String>,
    /// A program with its arguments, whose output begins with a number. It may take 10s.
    #[schemars(length(min = 1))]
    pub command: Option<Vec<String>>,
    /// One of the system's metrics, of a component that waggle does not start (system.external): the others are down by then.
    pub metric: Option<Name>,
    /// The load average over one minute is at most this number.
    #[schemars(range(min = 0))]
    pub load_average: Option<f64>,
    /// At least this share of the CPU time of all CPUs is idle between two readings, e.g. `90%`.
    pub idle_cpu: Option<Share>,
    /// The number in a file, of a command or metric is multiplied by this; 1 by default.
    pub scale: Option<f64>,
    /// The value must be below this.
    pub below: Option<f64>,
    /// The value must be above this.
    pub above: Option<f64>,
}
