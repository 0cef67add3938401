//! Runs that are started from here: what is asked for (`order`), and the one that runs with the one that waits (`queue`).

pub(crate) mod order;
pub(crate) mod queue;
