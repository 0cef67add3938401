//! Pods of a cluster: what those of agents, of the runner and of a system have in common, and the key `system.pods`.

pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod system;
