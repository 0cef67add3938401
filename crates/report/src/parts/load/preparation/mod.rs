//! What was done to the system before its load.

pub(crate) mod section;
mod table;
mod words;
