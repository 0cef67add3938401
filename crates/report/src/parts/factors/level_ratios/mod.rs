//! Each level of a factor as a ratio to its first, cell by cell.

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod section;
mod table;
