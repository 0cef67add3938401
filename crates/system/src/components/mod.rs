//! A system brought up and down: its artifacts, its processes with their limits and certificates, what its setup made, whether it
//! works, and what it says about itself.

pub mod artifacts;
pub mod bring_up;
mod certificates;
pub mod created;
pub mod driver;
pub mod elsewhere;
pub mod endpoints;
pub mod left_behind;
pub mod limits;
pub mod metric_source;
pub mod replica;
pub mod supervise;
pub mod verify;
