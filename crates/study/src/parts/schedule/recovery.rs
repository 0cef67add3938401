//! The load after the measured phase: the level to which it drops, and what counts as recovered.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{LoadModel, RampUp, WarmUpUntil};
use waggle_units::format_duration;

use super::{
    level::LevelKeys,
    phase::{RESPONSE_TIME, ScheduleContext, whole_intervals},
    warm_up::{WarmUp, WarmUpPhase},
};
use crate::{
    at::{At, Key, Place},
    check::Checker,
    raw::{DurationText, Rate},
};

/// Load after the measured phase, at a level to which it drops at once. The system has recovered at the end of the last bad
/// interval: one in which a request failed, the p99 of response time was above `p99`, or no answer came. With `control` it has
/// recovered once no more intervals are bad than of the control.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recovery {
    /// The rate to which the load drops, e.g. `100/s`; at most `load.rate`. Open.
    pub rate: Key<Rate>,
    /// The number of users to which the load drops; at most `load.users`. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Key<u32>,
    /// The highest p99 of response time that an interval may have and be good.
    #[schemars(required)]
    pub p99: Key<DurationText>,
    /// How long the load continues, and so how long recovery is observed: a whole multiple of schedule.interval.
    #[schemars(required)]
    pub duration: Key<DurationText>,
    /// The same level before the overload, as the reference: how long the warm-up has it, after its ramp-up and before it rises to
    /// the load's own level. A whole multiple of schedule.interval, and less than what the ramp-up leaves of the warm-up; none by
    /// default.
    pub control: Key<DurationText>,
}

/// The warm-up before it, of which the control is a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub keys: &'a Key<WarmUp>,
    /// `None`: it is invalid.
    pub phase: Option<WarmUpPhase>,
    /// `None`: it is invalid.
    pub ramp_up: Option<Option<RampUp>>,
}

pub(super) fn recovery(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Recovery>,
    context: &ScheduleContext<'_>,
    before: Before<'_>,
) -> Option<crate::Recovery> {
    refuse_unknown_instant(checker, place, before.keys);
    let level = context
        .load
        .and_then(|load| level(checker, place, keys, load));
    let p99 = keys.p99.content();
    let p99 = p99.and_then(|p99| p99.check_bounds(RESPONSE_TIME, &mut checker.findings));
    let duration = keys.duration.content().and_then(|duration| {
        let DurationText(time) = duration.value;
        whole_intervals(checker, time, &duration.place, context.interval)
    });
    let control = (keys.control).check(|given| control(checker, given, context, before));
    Some(crate::Recovery {
        level: level?,
        p99: p99?,
        duration: duration?,
        control: control?,
    })
}

/// The level to which the load drops.
fn level(
    checker: &mut Checker<'_>,
    place: &Place,
    keys: &Recovery,
    load: &LoadModel,
) -> Option<f64> {
    let level_keys = LevelKeys {
        place,
        rate: &keys.rate,
        users: &keys.users,
        does: "lets the load drop",
    };
    let level = level_keys.level(checker, load)?;
    level.refuse_above_load(checker);
    Some(level.level)
}

/// How long the level of the recovery is held in the warm-up, if it leaves an interval of that to the load's own level.
fn control(
    checker: &mut Checker<'_>,
    At { place, value }: &At<DurationText>,
    context: &ScheduleContext<'_>,
    before: Before<'_>,
) -> Option<Duration> {
    let control = whole_intervals(checker, value.0, place, context.interval)?;
    if let (Some(warm_up), Some(ramp_up)) = (before.phase, before.ramp_up)
        && warm_up.until == WarmUpUntil::Duration
    {
        let ramp_up = ramp_up.map_or(Duration::ZERO, |ramp_up| ramp_up.duration);
        let shortest = ramp_up + control + context.interval?;
        // A ramp-up that is too long by itself was reported.
        if (ramp_up + context.interval?..shortest).contains(&warm_up.time) {
            let what = format!(
                "is {}, too long for a warm-up of {}",
                format_duration(control),
                format_duration(warm_up.time)
            );
            let expected = format!(
                "schedule.warm_up of at least {}: ramp-up, control, and an interval at the load's own level",
                format_duration(shortest)
            );
            checker.report(place.mistake(what).with_expected(expected));
            return None;
        }
    }
    Some(control)
}

/// The instant of the load drop must be known before the load starts.
fn refuse_unknown_instant(checker: &mut Checker<'_>, place: &Place, warm_up: &Key<WarmUp>) {
    let is_timed = match warm_up {
        Key::Missing => false,
        Key::Invalid => true,
        Key::Given(warm_up) => match &warm_up.value {
            WarmUp::Time(_) => true,
            WarmUp::Until(keys) => keys.duration.is_some() || keys.has_invalid_end(),
        },
    };
    if !is_timed {
        let position = warm_up.place().map_or(place.key, |warm_up| warm_up.value);
        let mistake = place.mistake_in(position, "needs a warm-up of fixed duration");
        let expected = "schedule.warm_up: a duration, or { duration, ramp_up }";
        checker.report(mistake.with_expected(expected));
    }
    if checker.root().child("search").is_some() {
        let why = "belongs to studies without search, which changes the load from trial to trial";
        checker.report(place.key_mistake(why).with_expected("one of the two"));
    }
}
