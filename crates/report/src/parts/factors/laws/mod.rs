//! Scaling laws that curves follow.

pub(crate) mod json;
pub(crate) mod table;
pub mod words;
