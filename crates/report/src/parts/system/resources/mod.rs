//! Resource use of the system and of the load generator, and the metrics of the system.

mod count_comparison;
pub(crate) mod section;
mod table;
mod words;
