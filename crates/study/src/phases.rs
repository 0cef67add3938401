//! The checked schedule: the phases of a trial, their deadlines, and what ends them.

use std::time::Duration;

/// The phases of a trial and their deadlines.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub warm_up_until: WarmUpUntil,
    pub warm_up_at_most: Duration,
    /// The level with which the warm-up begins.
    pub first: Option<First>,
    /// How long is measured; with `requests` the longest that it may take.
    pub measure: Duration,
    /// The number of requests that ends the measured phase.
    pub requests: Option<u64>,
    /// Where the load falls after the measured phase and goes on.
    pub recovery: Option<Recovery>,
    /// What ends a trial early.
    pub stop_when: Vec<StopWhen>,
    pub drain_at_most: Duration,
    /// Where records that were not accepted may still come, the drain ends once nothing new has come for so long.
    pub drain_quiet: Duration,
    /// Every replica of every component must be ready by then.
    pub ready_at_most: Duration,
    /// Pause between two trials.
    pub cool_down: Duration,
}

impl Schedule {
    /// How many requests the load sends in all, if that is known before it starts.
    #[must_use]
    pub fn requests_in_all(&self) -> Option<u64> {
        self.requests.filter(|_| self.warm_up_at_most.is_zero())
    }

    /// How long the load goes on after it has fallen.
    #[must_use]
    pub fn recovery_at_most(&self) -> Duration {
        self.recovery
            .map_or(Duration::ZERO, |recovery| recovery.at_most)
    }
}

/// A level before the load's own one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct First {
    /// Requests per second where the load is open, else users; more than 0. A load that is lower stays as it is.
    pub level: f64,
    /// Whole intervals, less than the warm-up.
    pub time: Duration,
}

/// A load that falls at once when the measured phase is over, and when the system counts as recovered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// Where it falls to: requests per second where the load is open, else users; more than 0, at most what it was.
    pub level: f64,
    /// The highest p99 of response time that is good, in each interval.
    pub p99: Duration,
    /// How long it goes on; whole intervals.
    pub at_most: Duration,
}

/// A number that ends a trial in its warm-up or measured phase once it has been above its bound for some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopWhen {
    pub bound: StopBound,
    pub time: Duration,
}

/// A number of an interval and its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StopBound {
    /// The share of the answers that failed.
    ErrorRate(f64),
    ResponseTime {
        quantile: f64,
        above: Duration,
    },
}

/// What ends the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUpUntil {
    /// As soon as it is steady, at the latest when its time is up.
    Steady,
    /// When its time is up.
    Time,
    /// With the interval in which so many requests have been answered, at the latest when its time is up.
    Requests(u64),
}
