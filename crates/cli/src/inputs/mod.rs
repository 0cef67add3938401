//! What a command line names: a study with its system, versions and cells, and the folders of runs.

pub(crate) mod against;
pub(crate) mod artifacts;
pub(crate) mod filter;
pub(crate) mod left_out;
#[cfg(any(feature = "cluster", feature = "mcp"))]
pub(crate) mod named_files;
pub(crate) mod runs;
pub(crate) mod study;
pub(crate) mod systems;
pub(crate) mod trust;
