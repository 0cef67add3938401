//! A system brought up and down: its artifacts, its processes with their limits and certificates, what its setup made, whether it
//! works, and what it says about itself.

pub(crate) mod artifacts;
pub(crate) mod bring_up;
mod certificates;
pub(crate) mod created;
pub(crate) mod driver;
pub(crate) mod endpoints;
pub(crate) mod left_behind;
pub(crate) mod limits;
pub(crate) mod metric_source;
mod private_file;
pub(crate) mod supervise;
pub(crate) mod verify;
