//! Reference results beside those of the study.

pub(crate) mod chart;
pub(crate) mod section;
mod table;
