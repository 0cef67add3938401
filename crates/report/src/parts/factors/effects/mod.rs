//! Main effects and interactions.

pub(crate) mod chart;
pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod section;
mod table;
pub mod words;
