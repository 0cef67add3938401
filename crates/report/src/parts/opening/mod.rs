//! The question, its answer, the tiles, and the warnings about the whole run.

pub(crate) mod asked_before;
pub(crate) mod json;
pub(crate) mod notes;
pub mod power;
pub(crate) mod section;
pub mod warnings;
pub mod words;
