//! The cells at shares of their capacities.

pub(crate) mod chart;
pub(crate) mod json;
pub(crate) mod section;
pub(crate) mod table;
pub mod words;
