//! A/B comparison of two levels of a factor. `compare` compares two runs.

pub(crate) mod chart;
pub(crate) mod section;
mod table;
pub mod words;
