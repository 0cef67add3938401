//! The cells: all of them with their metrics, the best and the worst trials, percentiles, and those that were left out.

pub(crate) mod best_and_worst;
pub(crate) mod left_out;
pub(crate) mod overview;
pub(crate) mod percentiles;
