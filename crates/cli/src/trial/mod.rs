//! One trial so far, from the intervals of the load generator: their sums, longer intervals, and a verdict as if the trial ended
//! now. Pure: it shows and writes nothing.

pub(crate) mod aggregate;
pub(crate) mod forms;
#[cfg(test)]
pub(crate) mod generated;
pub(crate) mod judge;
pub(crate) mod phase;
pub(crate) mod shape;
pub(crate) mod sides;
pub(crate) mod so_far;
pub(crate) mod statuses;
