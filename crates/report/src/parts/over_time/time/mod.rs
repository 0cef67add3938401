//! Time series of each trial.

pub(crate) mod chart;
pub(crate) mod section;
pub(crate) mod table;
