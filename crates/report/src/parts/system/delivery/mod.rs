//! Delivery accounting: what became of each record, and how late it arrived.

pub(crate) mod followed;
pub(crate) mod json;
pub(crate) mod section;
mod table;
pub mod words;
