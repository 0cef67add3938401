//! Slices in, numbers out: intervals, steadiness, checks of the instrument, verdicts. No I/O, no serde, no async.

mod backlog;
mod chance;
mod sample;
mod steady;
mod student;
mod verdict;

pub use backlog::{Growth, MIN_BACKLOG_LOOKS, backlog_grows};
pub use steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, SteadyBins, steady};
pub use verdict::{Reason, Verdict};

/// A number that may be reported: a point with its interval and its count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub point: f64,
    /// Lower and upper end of the 95 % interval; `None` where a single value gives no uncertainty.
    pub interval: Option<(f64, f64)>,
    /// How many trials the estimate rests on.
    pub count: usize,
}
