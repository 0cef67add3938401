//! The measured phase: a time, or a number of requests.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_units::format_duration;

use super::phase::{MAX_INTERVALS, ScheduleContext, whole_intervals};
use crate::{
    at::{At, Key, Place},
    check::Checker,
    mistake::Finding,
    raw::{DurationText, scalar_or_mapping},
};

/// `30s` or `{requests: 10000, timeout: 5m}`.
#[derive(Debug)]
pub(crate) enum Measured {
    Time(DurationText),
    Requests(Box<MeasuredRequests>),
}

scalar_or_mapping!(
    Measured,
    Time(DurationText),
    Requests(Box<MeasuredRequests>),
    "a duration or requests"
);

/// A measured phase that ends by a number of requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasuredRequests {
    /// It ends after this number of requests: exactly, if there is no warm-up; else with the interval in which they have been
    /// answered.
    #[schemars(required, range(min = 1, max = 1_000_000_000_000_i64))]
    pub requests: Key<u64>,
    /// The longest it may take; 1h by default.
    pub timeout: Key<DurationText>,
}

const TIMEOUT: Duration = Duration::from_secs(3600);

/// The number of requests that ends the measured phase.
pub(super) fn requests_of(given: &Key<Measured>) -> Option<u64> {
    match given.value()? {
        Measured::Requests(keys) => keys.requests.value().copied(),
        Measured::Time(_) => None,
    }
}

/// How long the measured phase may take, after a warm-up of this length. `schedule` is the place of the part.
pub(super) fn measure(
    checker: &mut Checker<'_>,
    given: &Key<Measured>,
    schedule: &Place,
    context: &ScheduleContext<'_>,
    warm_up: Duration,
) -> Option<Duration> {
    let interval = context.interval;
    let stages = context.stages.as_ref();
    let rest = stages.map(|stages| stages.value.saturating_sub(warm_up));
    let time = match (given, stages, rest) {
        (Key::Invalid, ..) => return None,
        (Key::Given(At { place, value }), ..) => match value {
            Measured::Time(DurationText(time)) => whole_intervals(checker, *time, place, interval)?,
            Measured::Requests(_) if context.has_clients() => {
                refuse_requests(checker, place);
                return None;
            }
            Measured::Requests(keys) => timeout(checker, &keys.timeout, interval?, rest)?,
        },
        // It ends with its clients.
        (Key::Missing, ..) if context.has_clients() => longest(interval?, None),
        (Key::Missing, Some(stages), Some(rest)) => {
            whole_intervals(checker, rest, &stages.place, interval)?
        }
        (Key::Missing, ..) => {
            let mistake = schedule.key_mistake("lacks the key \"measure\"");
            let expected =
                "measure: a duration such as 250ms, 10s, 2m or 1h, or { requests: 10000 }";
            checker.report(mistake.with_expected(expected));
            return None;
        }
    };
    if let Some(stages) = stages {
        refuse_after_stages(checker, warm_up + time, stages);
    }
    Some(time)
}

/// Reports a number of requests for clients, each of which has its own.
fn refuse_requests(checker: &mut Checker<'_>, place: &Place) {
    let mistake = place.mistake("is a number of requests, and each client has its own");
    let expected = "the longest time that the load may take, e.g. 10m; load.requests is the number";
    checker.report(mistake.with_expected(expected));
}

/// The limit of a phase that ends by its requests, in whole intervals; without one, the `rest` of the stages.
fn timeout(
    checker: &mut Checker<'_>,
    given: &Key<DurationText>,
    interval: Duration,
    rest: Option<Duration>,
) -> Option<Duration> {
    match given {
        Key::Missing => Some(longest(interval, rest)),
        Key::Invalid => None,
        Key::Given(At { place, value }) => whole_intervals(checker, value.0, place, Some(interval)),
    }
}

/// The longest time of a phase that ends by itself, if the study does not give one.
fn longest(interval: Duration, rest: Option<Duration>) -> Duration {
    let longest = interval.saturating_mul(MAX_INTERVALS);
    let time = rest.unwrap_or(TIMEOUT).min(longest);
    let intervals = time.as_nanos() / interval.as_nanos().max(1);
    interval * u32::try_from(intervals.max(1)).unwrap_or(u32::MAX)
}

/// Reports phases that are longer than the stages.
fn refuse_after_stages(checker: &mut Checker<'_>, phases: Duration, stages: &At<Duration>) {
    if phases > stages.value {
        let what = format!(
            "take {}, and the schedule {}",
            format_duration(stages.value),
            format_duration(phases)
        );
        let expected = "warm-up and measured phase within the stages";
        checker.report(stages.place.key_mistake(what).with_expected(expected));
    }
}

/// Reports recovery and faults in a study whose measured phase ends by its requests: both need an instant that is known before
/// the load starts.
pub(super) fn refuse_unknown_length(checker: &mut Checker<'_>, recovery: Option<&Place>) {
    let why = "needs a measured phase of fixed duration, and this one ends by its requests";
    let faults = checker.root().entry("faults");
    let faults = faults.map(|entry| Finding::new(entry.position, format!("faults {why}")));
    let recovery = recovery.map(|place| place.key_mistake(why));
    for mistake in [recovery, faults].into_iter().flatten() {
        checker.report(mistake.with_expected("schedule.measure: a duration"));
    }
}
