//! Capacity search: the answer of each cell, and the levels that were tried.

pub(crate) mod chart;
pub(crate) mod json;
pub(crate) mod section;
pub(crate) mod table;
pub mod words;
