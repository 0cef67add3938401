//! What a trial, and the trials of a cell, have of a metric of the catalogue; how far that is known.
//!
//! In reading order: `reading`, `number`, `source`, `load`, `components`, `answer_sizes`, `client_outcomes`, `repair_times`,
//! `side_loads`, `trial_value`, `bounds`, `windows`, `aspect`, `scale`, `aggregate`, `biases`, `known`.

pub(crate) mod aggregate;
pub(crate) mod answer_sizes;
pub(crate) mod aspect;
pub(crate) mod biases;
pub(crate) mod bounds;
pub(crate) mod client_outcomes;
pub(crate) mod components;
pub(crate) mod known;
pub(crate) mod load;
pub(crate) mod number;
pub(crate) mod reading;
pub(crate) mod repair_times;
pub(crate) mod scale;
pub(crate) mod side_loads;
pub(crate) mod source;
pub(crate) mod trial_value;
pub(crate) mod windows;
