//! The part `schedule` of a study, key by key.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{Restart, TrialOrder};

use super::{CoolDown, DurationText, Measured, Rate, Repeat, Share, WarmUp, Width};

/// The phases of a trial, and how often each cell is tried.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    /// Load before measuring: a time, or what ends it; until steady, at most 20s, by default.
    pub warm_up: Option<WarmUp>,
    /// The measured phase: a time, or `{ requests: 10000 }`. With `load.stages` the rest of them by default, else required.
    pub measure: Option<Measured>,
    /// Length of one histogram interval; by default 1s, and 250ms or 100ms if `measure` is shorter than 12s. `measure` is a whole
    /// number of them.
    pub interval: Option<DurationText>,
    /// Time between two samples of CPU, memory and the system's metrics; 1s by default.
    pub sampling_interval: Option<DurationText>,
    /// Load after the measured phase at a lower level, to see how soon the system recovers; none by default. For load.model open
    /// and users, with a warm-up of fixed duration.
    pub recovery: Option<Recovery>,
    /// Ends a trial early: each entry is a metric that is above its bound for some time, in the warm-up or the measured phase.
    /// For system.url an error rate of 50% for 5s by default, else nothing; `[]`: nothing.
    pub stop_when: Option<Vec<StopWhen>>,
    /// How long records are awaited after the load has stopped; 30s by default if delivery is followed.
    pub drain: Option<Drain>,
    /// How long the system may take until it is ready, or a server that is given by its URL until it accepts connections; 30s by default,
    /// of a server 5s.
    pub ready_timeout: Option<DurationText>,
    /// The longest wait before each trial until other programs use less than 15% of the CPUs: 10s by default, 0s: none. All waits of a
    /// run take at most a tenth of its planned time, and after two in vain there is none.
    pub quiet_timeout: Option<DurationText>,
    /// Pause between two trials: the longest that it is waited until the CPUs of the machine are idle, or `{ until, poll_interval,
    /// timeout }`; none by default.
    pub cool_down: Option<CoolDown>,
    /// Trials of each cell: a number, or `{ min, max, max_ci_width }`; 3 to 8 by default.
    pub repeat: Option<Repeat>,
    /// Order of the cells within each repetition; shuffled by default.
    pub order: Option<TrialOrder>,
    /// Runs the first cell again every so many trials, to show whether the host drifts; these trials are in no other result. None by
    /// default.
    pub sentinel: Option<Sentinel>,
    /// How often the system is started from scratch; for every trial by default.
    pub restart: Option<Restart>,
}

/// How many trials each cell has: `min`, and more until the interval over them is narrow enough, or `max` is reached.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepeatUntil {
    /// The fewest trials of each cell; 3 by default, or `max` if that is less.
    #[schemars(range(min = 1, max = 1_000))]
    pub min: Option<u32>,
    /// The most trials of each cell; 8 by default, or `min` if that is more. A trial that the machine has disturbed is replaced in
    /// addition, at most twice a cell.
    #[schemars(range(min = 1, max = 1_000))]
    pub max: Option<u32>,
    /// No repetition is added that would end later than this after the start of the study; three times the duration with `min`
    /// repetitions by default.
    pub max_duration: Option<DurationText>,
    /// The widest 95 % confidence interval over trials of a metric that the study asks about: its full width as a share of the
    /// metric, from 0.1% to 1000%; 20% by default. A cell with a wider one gets further trials.
    pub max_ci_width: Option<Width>,
}

/// When the first cell is run again, to show whether the host drifts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sentinel {
    /// After so many trials of the study.
    #[schemars(required, range(min = 2, max = 1_000))]
    pub every: Option<u32>,
}

/// A warm-up by what ends it: exactly one of duration, until and requests; `timeout` alone is `until: steady`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUpUntil {
    /// It has this length.
    pub duration: Option<DurationText>,
    /// It ends as soon as the system is steady.
    pub until: Option<WarmUpEnd>,
    /// It ends with the interval in which this number of requests has been answered.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub requests: Option<u64>,
    /// The longest it may take, with `until` or `requests`.
    pub timeout: Option<DurationText>,
    /// A lower level with which it begins, so that a cold system is not overloaded before it is measured; none by default. For
    /// load.model open and users.
    pub ramp_up: Option<RampUp>,
}

/// What ends a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WarmUpEnd {
    /// The system is steady.
    Steady,
}

/// The level with which a warm-up begins; then the load jumps to its own. A load that is already lower does not change.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RampUp {
    /// The rate, e.g. `100/s`. Open.
    pub rate: Option<Rate>,
    /// The number of users. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// How long: a whole multiple of schedule.interval, and less than the warm-up.
    #[schemars(required)]
    pub duration: Option<DurationText>,
}

/// A measured phase that ends by a number of requests.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasuredRequests {
    /// It ends after this number of requests: exactly, if there is no warm-up; else with the interval in which they have been
    /// answered.
    #[schemars(required, range(min = 1, max = 1_000_000_000_000_i64))]
    pub requests: Option<u64>,
    /// The longest it may take; 1h by default.
    pub timeout: Option<DurationText>,
}

/// What ends a trial early: one metric with its bound.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopWhen {
    /// The share of an interval's answers that failed, e.g. `50%`.
    pub error_rate: Option<Share>,
    /// Median of an interval's response times.
    pub p50: Option<DurationText>,
    /// Their 90th percentile.
    pub p90: Option<DurationText>,
    /// Their 95th percentile.
    pub p95: Option<DurationText>,
    /// Their 99th percentile.
    pub p99: Option<DurationText>,
    /// Their 99.9th percentile.
    pub p99_9: Option<DurationText>,
    /// How long every interval that has answers must be above the bound.
    #[serde(rename = "for")]
    #[schemars(required)]
    pub time: Option<DurationText>,
}

/// Load after the measured phase, at a level to which it drops at once. The system has recovered at the end of the last bad
/// interval: one in which a request failed, the p99 of response time was above `p99`, or no answer came. With `control` it has
/// recovered once no more intervals are bad than of the control.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recovery {
    /// The rate to which the load drops, e.g. `100/s`; at most `load.rate`. Open.
    pub rate: Option<Rate>,
    /// The number of users to which the load drops; at most `load.users`. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// The highest p99 of response time that an interval may have and be good.
    #[schemars(required)]
    pub p99: Option<DurationText>,
    /// How long the load continues, and so how long recovery is observed: a whole multiple of schedule.interval.
    #[schemars(required)]
    pub duration: Option<DurationText>,
    /// The same level before the overload, as the reference: how long the warm-up has it, after its ramp-up and before it rises to
    /// the load's own level. A whole multiple of schedule.interval, and less than what the ramp-up leaves of the warm-up; none by
    /// default.
    pub control: Option<DurationText>,
}

/// Waiting for records after the load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drain {
    /// The longest it may take.
    #[schemars(required)]
    pub timeout: Option<DurationText>,
    /// If all accepted records have arrived and some were not accepted, it ends after nothing new has arrived for this time; 2s
    /// by default.
    pub quiet_period: Option<DurationText>,
}

/// Until a metric of the system does not change any more.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleUntil {
    /// One of the system's metrics.
    #[schemars(required)]
    pub metric: Option<String>,
    /// How long its value must be the same; 2s by default.
    pub quiet_period: Option<DurationText>,
    /// The longest it may take; 1min by default.
    pub timeout: Option<DurationText>,
}
