//! What a cell has of a metric.

use waggle_stats::{Estimate, Range};

/// A number of a cell: an estimate over trials, or one that has no interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Estimate(Estimate),
    Exact(f64),
    /// It is known to be in this range.
    Within(Range),
}

impl Number {
    /// The number itself.
    #[must_use]
    pub fn point(self) -> f64 {
        match self {
            Self::Estimate(estimate) => estimate.point,
            Self::Exact(value) => value,
            Self::Within(range) => range.high,
        }
    }

    /// The range in which the number itself is known.
    #[must_use]
    pub fn ends_of_point(self) -> (f64, f64) {
        match self {
            Self::Estimate(estimate) => (estimate.least.unwrap_or(estimate.point), estimate.point),
            Self::Exact(value) => (value, value),
            Self::Within(range) => (range.low, range.high),
        }
    }

    /// The lower end of the range in which it is known, if the number alone would say too much.
    #[must_use]
    pub fn shown_least(self) -> Option<f64> {
        match self {
            Self::Estimate(estimate) => estimate.shown_least(),
            Self::Exact(_) => None,
            Self::Within(range) => range.is_wide().then_some(range.low),
        }
    }

    /// All values that it can have: the ends of its interval, or of its range.
    #[must_use]
    pub fn ends(self) -> (f64, f64) {
        match self {
            Self::Estimate(estimate) => estimate.ends(),
            Self::Exact(value) => (value, value),
            Self::Within(range) => (range.low, range.high),
        }
    }
}
