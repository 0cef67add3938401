//! The best and the worst trial of each cell.

pub(crate) mod json;
pub(crate) mod section;
pub(crate) mod table;
mod words;
