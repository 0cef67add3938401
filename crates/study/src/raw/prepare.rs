//! The part `prepare` of a study, key by key.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{DurationText, Name, Rate};
use crate::{
    at::{At, Key},
    parts::{request::feeds::Feed, scenario::Step, settle::Settle},
};

/// What is done to the system after its functional check and before the warm-up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prepare {
    /// Loads that are run one after the other, each once.
    #[schemars(required, length(min = 1, max = 20))]
    pub loads: Key<Vec<At<PrepareLoad>>>,
    /// A pause after the last of them: a time such as `2s`, or `{ metric, quiet_period, timeout }`; none by default.
    pub settle: Key<Settle>,
    /// A factor with levels of more and more sessions: from one level to the next only what is missing is added. For
    /// `schedule.restart: every_cell`.
    pub grow: Key<Name>,
    /// Whether the prepared system is kept on this machine, so that later trials and runs start with it; false by default.
    pub snapshot: Key<bool>,
}

/// A load that prepares: a number of sessions, in each of which the steps are done once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrepareLoad {
    /// Its name in metrics (`prepare.NAME.…`) and in the report.
    #[schemars(required)]
    pub name: Key<Name>,
    /// The system's endpoint that receives it; by default the only one.
    pub endpoint: Key<String>,
    /// How many sessions there are. Session n takes row n of each feed whose order is cycle or once. With 0 the load and its check are
    /// left out.
    #[schemars(required, range(min = 0, max = 1_000_000_000))]
    pub sessions: Key<u64>,
    /// Connections, each with one session at a time; 10 by default.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Key<u32>,
    /// Sessions that start, e.g. `100/s`; by default each connection starts its next session as soon as the one before is over.
    pub rate: Key<Rate>,
    /// Rows of values for the sessions.
    pub feeds: Key<Vec<At<Feed>>>,
    /// What a session does, in this order.
    #[schemars(required, length(min = 1))]
    pub steps: Key<Vec<At<Step>>>,
    /// How often a failed request is sent again by its session before that is given up; 10 by default. It is, if no answer came or
    /// its status is 408, 425, 429, 500, 502, 503 or 504, after the time that the answer names (Retry-After), or after 100ms,
    /// 200ms, 400ms and so on, at most a minute.
    #[schemars(range(min = 0, max = 1_000))]
    pub retries: Key<u32>,
    /// The longest it may take; 1h by default.
    pub timeout: Key<DurationText>,
    /// Captured variables whose values are kept, so that they can be the columns of a feed (`captured_by`).
    pub keep: Key<Vec<At<String>>>,
    /// Conditions on this load's metrics, e.g. `response_time.p99 < 1s`.
    pub thresholds: Key<Vec<At<String>>>,
    /// Steps that are done at its end, each repeated until it succeeds: the check that everything is there.
    #[schemars(length(min = 1))]
    pub verify: Key<Vec<At<Step>>>,
    /// The longest that the check may take; 30s by default.
    pub verify_timeout: Key<DurationText>,
}
