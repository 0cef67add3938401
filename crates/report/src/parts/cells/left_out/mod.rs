//! Cells that were left out before the first trial, and why.

pub(crate) mod json;
pub(crate) mod section;
pub(crate) mod table;
pub mod words;
