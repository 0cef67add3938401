//! A cell over its trials: estimates, sums, verdict, what the study asks about, and its conditions.
//!
//! In reading order: `decision`, `outcome`, `asked_metrics`, `cell_number`, `cell_model`, `threshold`, `distribution`, `pooled`,
//! `scenario`, `streamed_answers`, `clients`, `probe_delays`, `time_to_recover`, `system_over_trials`, `component_cores`, `causes`,
//! `contention`, `cpu_capacity`.

pub(crate) mod asked_metrics;
pub(crate) mod causes;
pub(crate) mod cell_model;
pub(crate) mod cell_number;
pub(crate) mod clients;
pub(crate) mod component_cores;
pub(crate) mod contention;
pub(crate) mod cpu_capacity;
pub(crate) mod decision;
pub(crate) mod distribution;
pub(crate) mod outcome;
pub(crate) mod pooled;
pub(crate) mod probe_delays;
pub(crate) mod scenario;
pub(crate) mod streamed_answers;
pub(crate) mod system_over_trials;
pub(crate) mod threshold;
pub(crate) mod time_to_recover;
