//! The levels of a factor from the best to the worst.

pub(crate) mod section;
pub(crate) mod table;
pub(crate) mod words;
