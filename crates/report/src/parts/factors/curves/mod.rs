//! Scaling curves: each outcome over a factor whose levels are numbers.

pub(crate) mod chart;
pub(crate) mod section;
mod table;
