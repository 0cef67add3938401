//! Slices in, numbers out: intervals, steadiness, checks of the instrument, verdicts. No I/O, no serde, no async.

mod backlog;
mod chance;
mod estimate;
mod sample;
mod steady;
mod student;
mod verdict;

pub use backlog::{Growth, MIN_BACKLOG_LOOKS, backlog_grows};
pub use estimate::{BOOTSTRAP_FROM, Estimate, estimate, ratio};
pub use steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, SteadyBins, steady};
pub use verdict::{Reason, Verdict};
