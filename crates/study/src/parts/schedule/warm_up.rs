//! The warm-up: what ends it, how long it takes at most, and the lower level with which it begins.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::WarmUpUntil;
use waggle_units::format_duration;

use super::{
    level::LevelKeys,
    phase::{PHASE_OR_NONE, ScheduleContext, whole_intervals},
};
use crate::{
    at::{At, Key, Place},
    check::Checker,
    raw::{DurationText, Rate, scalar_or_mapping},
};

/// `20s`, `{until: steady, timeout: 20s}` or `{requests: 1000, timeout: 20s}`.
#[derive(Debug)]
pub(crate) enum WarmUp {
    Time(DurationText),
    Until(Box<WarmUpKeys>),
}

scalar_or_mapping!(
    WarmUp,
    Time(DurationText),
    Until(Box<WarmUpKeys>),
    "a duration or what ends it"
);

/// A warm-up by what ends it: exactly one of duration, until and requests; `timeout` alone is `until: steady`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUpKeys {
    /// It has this length.
    pub duration: Key<DurationText>,
    /// It ends as soon as the system is steady.
    pub until: Key<WarmUpEnd>,
    /// It ends with the interval in which this number of requests has been answered.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub requests: Key<u64>,
    /// The longest it may take, with `until` or `requests`.
    pub timeout: Key<DurationText>,
    /// A lower level with which it begins, so that a cold system is not overloaded before it is measured; none by default. For
    /// load.model open and users.
    pub ramp_up: Key<RampUp>,
}

/// What ends a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WarmUpEnd {
    /// The system is steady.
    Steady,
}

/// The level with which a warm-up begins; then the load jumps to its own. A load that is already lower does not change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RampUp {
    /// The rate, e.g. `100/s`. Open.
    pub rate: Key<Rate>,
    /// The number of users. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Key<u32>,
    /// How long: a whole multiple of schedule.interval, and less than the warm-up.
    #[schemars(required)]
    pub duration: Key<DurationText>,
}

/// Fewest intervals for a test of steadiness.
pub const MIN_STEADY_INTERVALS: u32 = 4;
/// Fewest intervals that show that a system is steady; a warm-up that may end when steady must be that long.
pub const MIN_WARM_UP_INTERVALS: u32 = 8;
const TIMEOUT: Duration = Duration::from_secs(20);

/// What ends a warm-up, and how long it takes at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct WarmUpPhase {
    pub until: WarmUpUntil,
    pub time: Duration,
}

impl WarmUpKeys {
    /// Whether a key that ends the warm-up is invalid.
    pub(super) fn has_invalid_end(&self) -> bool {
        self.duration.is_invalid() || self.until.is_invalid() || self.requests.is_invalid()
    }
}

/// `requests`: whether a number of them ends the measured phase, so that none is lost in a warm-up that nobody asked for.
pub(super) fn warm_up(
    checker: &mut Checker<'_>,
    given: &Key<WarmUp>,
    requests: Option<u64>,
    context: &ScheduleContext<'_>,
) -> Option<WarmUpPhase> {
    let At { place, value } = match given {
        Key::Missing => return Some(default_warm_up(requests, context)),
        Key::Invalid => return None,
        Key::Given(warm_up) => warm_up,
    };
    let (until, time_place, DurationText(time)) = match value {
        WarmUp::Time(time) => (WarmUpUntil::Duration, place, *time),
        WarmUp::Until(keys) => {
            let until = warm_up_end(checker, place, keys, context)?;
            let time = time_key(checker, place, keys, until)?;
            (until, &time.place, time.value)
        }
    };
    let time = time_place.check_bounds(time, PHASE_OR_NONE, &mut checker.findings)?;
    if !time.is_zero() && context.has_clients() {
        let why = "belongs to a load that does not end by itself; this one is clients";
        let mistake = place.mistake_in(time_place.value, why);
        let expected = "no warm_up; a load of prepare can send requests before";
        checker.report(mistake.with_expected(expected));
        return None;
    }
    let phase = WarmUpPhase { until, time };
    refuse_short(checker, time_place, phase, context.interval);
    Some(phase)
}

fn default_warm_up(requests: Option<u64>, context: &ScheduleContext<'_>) -> WarmUpPhase {
    let has_none = context.stages.is_some() || requests.is_some() || context.has_clients();
    let (until, time) = match has_none {
        true => (WarmUpUntil::Duration, Duration::ZERO),
        false => (WarmUpUntil::Steady, TIMEOUT),
    };
    WarmUpPhase { until, time }
}

/// Reports a warm-up that has too few intervals for what ends it.
fn refuse_short(
    checker: &mut Checker<'_>,
    place: &Place,
    WarmUpPhase { until, time }: WarmUpPhase,
    interval: Option<Duration>,
) {
    let (intervals, why) = match until {
        WarmUpUntil::Steady => (
            MIN_WARM_UP_INTERVALS,
            "until: steady cannot be judged sooner",
        ),
        WarmUpUntil::Duration if time.is_zero() => (0, ""),
        WarmUpUntil::Duration | WarmUpUntil::Requests(_) => (1, "a warm-up lasts at least one"),
    };
    let shortest = interval.map(|interval| interval * intervals);
    if let Some(shortest) = shortest.filter(|shortest| time < *shortest) {
        let time = format_duration(time);
        let what = format!("is {time}, shorter than {intervals} × schedule.interval");
        let expected = format!("at least {}: {why}", format_duration(shortest));
        checker.report(place.mistake(what).with_expected(expected));
    }
}

/// What ends a warm-up that the study describes: one thing.
fn warm_up_end(
    checker: &mut Checker<'_>,
    place: &Place,
    keys: &WarmUpKeys,
    context: &ScheduleContext<'_>,
) -> Option<WarmUpUntil> {
    if keys.has_invalid_end() {
        return None;
    }
    let ends = [
        ("duration", keys.duration.place()),
        ("until", keys.until.place()),
        ("requests", keys.requests.place()),
    ];
    let mut ends = ends.into_iter().filter_map(|(key, end)| Some((key, end?)));
    if let (Some((first, _)), Some((second, end))) = (ends.next(), ends.next()) {
        let mistake = place.mistake_in(end.key, format!("has both {first} and {second}"));
        checker.report(mistake.with_expected("one of the two"));
        return None;
    }
    if let Some(requests) = keys.requests.value() {
        return Some(WarmUpUntil::Requests(*requests));
    }
    if keys.duration.is_some() {
        return Some(WarmUpUntil::Duration);
    }
    if context.stages.is_some() {
        let position = keys.until.place().map_or(place.key, |until| until.value);
        let why = "ends when the system is steady, and a load with stages never is";
        let mistake = place.mistake_in(position, why);
        checker.report(mistake.with_expected("warm_up: a duration"));
    }
    Some(WarmUpUntil::Steady)
}

/// The key that says how long a warm-up takes at most.
fn time_key<'k>(
    checker: &mut Checker<'_>,
    place: &Place,
    keys: &'k WarmUpKeys,
    until: WarmUpUntil,
) -> Option<&'k At<DurationText>> {
    let timeout = &keys.timeout;
    if until == WarmUpUntil::Duration {
        if let Some(timeout) = timeout.place() {
            let mistake = place.mistake_in(timeout.key, "has both duration and timeout");
            checker.report(mistake.with_expected("one of the two"));
        }
        return keys.duration.content();
    }
    if matches!(timeout, Key::Missing) {
        let expected = "timeout: a duration such as 250ms, 10s, 2m or 1h, at most 168h";
        let mistake = place.key_mistake("lacks the key \"timeout\"");
        checker.report(mistake.with_expected(expected));
    }
    timeout.content()
}

/// The key of the ramp-up.
pub(super) fn ramp_up_key(warm_up: &Key<WarmUp>) -> &Key<RampUp> {
    match warm_up.value() {
        Some(WarmUp::Until(keys)) => &keys.ramp_up,
        Some(WarmUp::Time(_)) | None => &Key::Missing,
    }
}

/// Checks the ramp-up of a warm-up.
pub(super) fn ramp_up(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<RampUp>,
    context: &ScheduleContext<'_>,
    warm_up: Option<WarmUpPhase>,
) -> Option<waggle_spec::RampUp> {
    let level_keys = LevelKeys {
        place,
        rate: &keys.rate,
        users: &keys.users,
        does: "lets the load rise",
    };
    let level = context
        .load
        .and_then(|load| level_keys.level(checker, load));
    let At { place, value } = keys.duration.content()?;
    let duration = whole_intervals(checker, value.0, place, context.interval)?;
    if let Some(WarmUpPhase { until, time }) = warm_up.filter(|warm_up| duration >= warm_up.time) {
        let key = match until {
            WarmUpUntil::Duration => "duration",
            WarmUpUntil::Steady | WarmUpUntil::Requests(_) => "timeout",
        };
        let expected = format!(
            "less than schedule.warm_up.{key}, {}: the rest of it is at the load's own level",
            format_duration(time)
        );
        let mistake = place.mistake(format!("is {}", format_duration(duration)));
        checker.report(mistake.with_expected(expected));
    }
    let level = level?.level;
    Some(waggle_spec::RampUp { level, duration })
}
