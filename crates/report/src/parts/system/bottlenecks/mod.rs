//! The busiest component of each cell.

pub(crate) mod section;
mod table;
