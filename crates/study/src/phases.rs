//! The checked schedule: the phases of a trial, their deadlines, and what ends them.

use std::time::Duration;

use waggle_spec::{RampUp, WarmUpUntil};

use crate::CoolDownUntil;

/// The phases of a trial and their deadlines.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub warm_up_until: WarmUpUntil,
    /// How long the warm-up takes; unless it ends by its duration, the longest that it may take.
    pub warm_up: Duration,
    /// The level with which the warm-up begins.
    pub ramp_up: Option<RampUp>,
    /// Length of the measured phase; with `requests` the longest that it may take.
    pub measure: Duration,
    /// The number of requests that ends the measured phase.
    pub requests: Option<u64>,
    /// Length of a histogram interval; whole intervals make up the measured phase.
    pub interval: Duration,
    /// Between two samples of CPU, memory and the system's metrics.
    pub sampling_interval: Duration,
    /// The load after the measured phase.
    pub recovery: Option<Recovery>,
    /// What ends a trial early.
    pub stop_when: Vec<StopWhen>,
    pub drain_timeout: Duration,
    /// If records that were not accepted may still arrive, the drain ends after nothing new has arrived for this time.
    pub drain_quiet_period: Duration,
    /// How long the system may take until every replica of every component is ready.
    pub ready_timeout: Duration,
    /// The longest wait before a trial until other programs leave the CPUs alone.
    pub quiet_timeout: Duration,
    /// The longest pause between two trials.
    pub cool_down: Duration,
    /// What ends the pause before; `None`: the CPUs are idle.
    pub cool_down_until: Option<CoolDownUntil>,
}

impl Schedule {
    /// How many requests the load sends in all, if that is known before it starts.
    #[must_use]
    pub fn requests_in_all(&self) -> Option<u64> {
        self.requests.filter(|_| self.warm_up.is_zero())
    }

    /// How long the pause between two trials is likely to last: how long it takes until a value is reached is
    /// not known.
    #[must_use]
    pub fn expected_cool_down(&self) -> Duration {
        match self.cool_down_until {
            Some(_) => Duration::ZERO,
            None => self.cool_down,
        }
    }

    /// How long the load continues after the load drop.
    #[must_use]
    pub fn recovery_duration(&self) -> Duration {
        self.recovery
            .map_or(Duration::ZERO, |recovery| recovery.duration)
    }

    /// From when to when since the start of the load the warm-up has the level of the recovery, if it has a control.
    #[must_use]
    pub fn control(&self) -> Option<(Duration, Duration)> {
        let duration = self.recovery?.control?;
        let from = self
            .ramp_up
            .map_or(Duration::ZERO, |ramp_up| ramp_up.duration);
        Some((from, from + duration))
    }
}

/// A load that drops at once when the measured phase is over, and when the system counts as recovered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The level to which it drops: requests per second if the load is open, else users; more than 0, at most its level before.
    pub level: f64,
    /// The highest p99 of response time that is good, in each interval.
    pub p99: Duration,
    /// How long it continues; whole intervals.
    pub duration: Duration,
    /// How long the warm-up has the same level after its ramp-up; whole intervals, less than the rest of the warm-up.
    pub control: Option<Duration>,
}

/// A metric that ends a trial in its warm-up or measured phase once it has been above its bound for some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopWhen {
    pub bound: StopBound,
    pub time: Duration,
}

/// A metric of an interval and its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StopBound {
    /// The share of the answers that failed.
    ErrorRate(f64),
    ResponseTime {
        quantile: f64,
        above: Duration,
    },
}
