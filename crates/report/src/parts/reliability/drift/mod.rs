//! Drift of the host over the run.

pub(crate) mod section;
pub mod words;
