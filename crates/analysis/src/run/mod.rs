//! A run as a whole: its model, searches, answer, warnings and conclusion; and a run that goes on.
//!
//! In reading order: `run_model`, `asked_before`, `search`, `operating_points`, `answer`, `account`, `drift`, `faults`, `stalls`,
//! `placement`, `system_counts`, `cell_group`, `left_out`, `warning`, `conclusion`, `power`, `so_far`.

pub(crate) mod account;
pub(crate) mod answer;
pub(crate) mod asked_before;
pub(crate) mod cell_group;
pub(crate) mod conclusion;
pub(crate) mod drift;
pub(crate) mod ended_load;
pub(crate) mod faults;
pub(crate) mod kubelet_readings;
pub(crate) mod left_out;
pub(crate) mod operating_points;
pub(crate) mod placement;
pub(crate) mod power;
pub(crate) mod run_model;
pub(crate) mod search;
pub(crate) mod so_far;
pub(crate) mod stalls;
pub(crate) mod system_counts;
pub(crate) mod warning;
