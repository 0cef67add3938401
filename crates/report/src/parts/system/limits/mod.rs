//! Limits of components, and how often they met them.

pub(crate) mod table;
pub mod words;
