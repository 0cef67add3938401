//! Whether the results can be relied on: verdicts and thresholds, drift of the host, every trial.

pub(crate) mod drift;
pub(crate) mod trial_pages;
pub(crate) mod trials;
pub(crate) mod verdicts;
