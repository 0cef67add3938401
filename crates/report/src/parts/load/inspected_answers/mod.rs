//! Answers that were measured while they streamed.

pub(crate) mod section;
mod table;
