//! Aggregates intervals of the load generator to longer ones, such as rows of a second.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_load::Interval;

/// A histogram with the bounds of the load generator: 1 µs to 1 h, three significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are constants in order")
}

/// Aggregates intervals until they have the given length.
#[derive(Debug)]
pub(crate) struct Aggregator {
    length: Duration,
    under_way: Option<Interval>,
}

impl Aggregator {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length,
            under_way: None,
        }
    }

    /// Adds an interval; returns the aggregate if it has the given length now.
    pub(crate) fn add(&mut self, interval: &Interval) -> Option<Interval> {
        let gathered = match &mut self.under_way {
            Some(gathered) => {
                gathered.follow(interval);
                gathered
            }
            none => none.insert(interval.clone()),
        };
        // If the length is not a multiple of the interval, the nearest multiple counts.
        let is_full = gathered.length + interval.length / 2 >= self.length;
        if is_full { self.under_way.take() } else { None }
    }

    /// The incomplete aggregate, if there is one.
    pub(crate) fn rest(&mut self) -> Option<Interval> {
        self.under_way.take()
    }
}

/// The value at a quantile; `None` without samples.
pub(crate) fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times of one load are far below 2^52"
)]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}
