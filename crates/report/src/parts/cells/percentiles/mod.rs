//! Distributions: percentiles of each cell.

pub(crate) mod json;
pub(crate) mod section;
mod table;
pub(crate) mod words;
