//! The part `schedule` of a study, key by key.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Measured, Rate, Share, Span};

/// The phases of a trial, and how often each cell is tried.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    /// Load before measuring; until steady, at most 20s, by default.
    pub warm_up: Option<WarmUp>,
    /// How long is measured: a time, or `{ requests: 10000 }`. With `load.stages` the rest of them by default, else required.
    pub measure: Option<Measured>,
    /// Load behind the measured phase at a level to which it falls at once, to see how soon the system recovers; none by
    /// default. For load.model open and users, with `warm_up.until: time`.
    pub recovery: Option<Recovery>,
    /// Ends a trial early: each entry is a number that is above its bound for some time, in the warm-up or the measured phase. For
    /// system.url an error rate of 50% for 5s by default, else nothing; `[]`: nothing.
    pub stop_when: Option<Vec<StopWhen>>,
    /// How long records are awaited after the load has stopped; 30s by default where delivery is followed.
    pub drain: Option<Drain>,
    /// How long the system has to become ready; 30s by default.
    pub ready: Option<Ready>,
    /// Pause between two trials; none by default.
    pub cool_down: Option<Span>,
    /// Trials of each cell; 5 by default.
    #[schemars(range(min = 1, max = 1_000))]
    pub repeat: Option<u32>,
    /// Order of the cells within each repetition; shuffled by default.
    pub order: Option<Order>,
    /// How often the system is started anew; for every trial by default.
    pub fresh: Option<Fresh>,
}

/// How often the system is started anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fresh {
    /// For every trial.
    Trial,
    /// For every cell: its trials follow one another on the same processes and their files. After a trial that failed or left
    /// records behind it is started anew all the same.
    Cell,
}

/// Load before measuring.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUp {
    /// What ends it; steady by default, and time with `load.stages`.
    pub until: Option<WarmUpUntil>,
    /// It ends with the interval in which so many requests have been answered, in place of `until`.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub requests: Option<u64>,
    /// The longest it may take; 0s: there is no warm-up.
    #[schemars(required)]
    pub at_most: Option<Span>,
    /// A lower level with which it begins, so that a cold system is not overloaded before it is measured; none by default. For
    /// load.model open and users.
    pub first: Option<First>,
}

/// The level with which a warm-up begins; then the load rises at once to its own. A load that is lower anyway stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct First {
    /// The rate, e.g. `100/s`. Open.
    pub rate: Option<Rate>,
    /// The number of users. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// How long: a whole multiple of measure.interval, and less than `at_most`.
    #[serde(rename = "for")]
    #[schemars(required)]
    pub time: Option<Span>,
}

/// A measured phase that ends by a number of requests.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasuredRequests {
    /// It ends after so many requests: exactly, if there is no warm-up; else with the interval in which so many have been answered.
    #[schemars(required, range(min = 1, max = 1_000_000_000_000_i64))]
    pub requests: Option<u64>,
    /// The longest it may take; 1h by default.
    pub at_most: Option<Span>,
}

/// What ends a trial early: one number with its bound.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopWhen {
    /// The share of an interval's answers that failed, e.g. `50%`.
    pub error_rate: Option<Share>,
    /// Median of an interval's response times.
    pub p50: Option<Span>,
    /// Their 90th percentile.
    pub p90: Option<Span>,
    /// Their 95th percentile.
    pub p95: Option<Span>,
    /// Their 99th percentile.
    pub p99: Option<Span>,
    /// Their 99.9th percentile.
    pub p99_9: Option<Span>,
    /// How long every interval that has answers must be above the bound.
    #[serde(rename = "for")]
    #[schemars(required)]
    pub time: Option<Span>,
}

/// What ends the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WarmUpUntil {
    /// As soon as the system is steady.
    Steady,
    /// When its time is up.
    Time,
}

/// Load behind the measured phase, at a level to which it falls at once. The system has recovered at the end of the last bad
/// interval: one in which a request failed, the p99 of response time was above `p99`, or no answer came.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recovery {
    /// The rate to which the load falls, e.g. `100/s`; at most `load.rate`. Open.
    pub rate: Option<Rate>,
    /// The number of users to which the load falls; at most `load.users`. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// The highest p99 of response time that an interval may have and be good.
    #[schemars(required)]
    pub p99: Option<Span>,
    /// How long the load goes on, and so how long recovery is looked for: a whole multiple of measure.interval.
    #[schemars(required)]
    pub at_most: Option<Span>,
}

/// Waiting for records after the load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drain {
    /// The longest it may take.
    #[schemars(required)]
    pub at_most: Option<Span>,
    /// Where all that was accepted is there and some was not accepted, it ends once nothing new has come for so long; 2s by default.
    pub quiet: Option<Span>,
}

/// Waiting for the system to be ready.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ready {
    /// The longest it may take.
    #[schemars(required)]
    pub at_most: Option<Span>,
}

/// Order of the cells within each repetition.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// At random, by the seed.
    Shuffled,
    /// As the file lists them.
    AsListed,
}
