//! How much a component may use.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Level;

/// How much CPU and memory each replica of a component may use.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// CPUs, e.g. 0.5 or 2, from 0.01 to 1024; or `none`.
    pub cpus: Option<Level>,
    /// Memory, e.g. 512MiB, at least 16MiB; or `none`. Swap is not used.
    pub memory: Option<Level>,
}
