//! The load after the measured phase: the level to which it drops, and what counts as recovered.

use std::time::Duration;

use waggle_spec::{LoadModel, RampUp, WarmUpUntil};
use waggle_units::format_duration;

use super::{
    Checker,
    level::GivenLevel,
    path_text,
    schedule::{ScheduleContext, whole_intervals},
};
use crate::{Recovery, mistake::Finding, raw};

const PATH: [&str; 2] = ["schedule", "recovery"];
/// The range of the histograms of response times.
const P99: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(3600));

/// What ends the warm-up and how long it takes, and its ramp-up; `None` if that is invalid.
type WarmUp = (Option<(WarmUpUntil, Duration)>, Option<Option<RampUp>>);

/// Checks `schedule.recovery`; `schedule` is the part that contains it.
pub(super) fn recovery(
    checker: &mut Checker<'_>,
    schedule: &raw::Schedule,
    given: &raw::Recovery,
    context: &ScheduleContext<'_>,
    warm_up: WarmUp,
) -> Option<Recovery> {
    refuse_unknown_instant(checker, schedule);
    let level = context.load.and_then(|load| level(checker, given, load));
    let p99 = given
        .p99
        .and_then(|raw::DurationText(time)| checker.check_bounds(time, &key("p99"), P99));
    let duration = given.duration.and_then(|raw::DurationText(time)| {
        whole_intervals(checker, time, &key("duration"), context.interval)
    });
    let control = match given.control {
        Some(raw::DurationText(time)) => control(checker, time, context, warm_up).map(Some),
        None => checker.value_or_default(None, &key("control"), None),
    };
    Some(Recovery {
        level: level?,
        p99: p99?,
        duration: duration?,
        control: control?,
    })
}

/// The level to which the load drops.
fn level(checker: &mut Checker<'_>, given: &raw::Recovery, load: &LoadModel) -> Option<f64> {
    let given = GivenLevel {
        path: &PATH,
        rate: given.rate,
        users: given.users,
        does: "lets the load drop",
    };
    let (level, highest) = given.level(checker, load)?;
    given.refuse_above_load(checker, load, (level, highest));
    Some(level)
}

/// How long the level of the recovery is held in the warm-up, if it leaves an interval of that to the load's own level.
fn control(
    checker: &mut Checker<'_>,
    time: Duration,
    context: &ScheduleContext<'_>,
    warm_up: WarmUp,
) -> Option<Duration> {
    let path = key("control");
    let control = whole_intervals(checker, time, &path, context.interval)?;
    if let (Some((WarmUpUntil::Duration, warm_up)), Some(ramp_up)) = warm_up {
        let ramp_up = ramp_up.map_or(Duration::ZERO, |ramp_up| ramp_up.duration);
        let shortest = ramp_up + control + context.interval?;
        // A ramp-up that is too long by itself was reported.
        if (ramp_up + context.interval?..shortest).contains(&warm_up) {
            let what = format!(
                "{} is {}, too long for a warm-up of {}",
                path_text(&path),
                format_duration(control),
                format_duration(warm_up)
            );
            let expected = format!(
                "schedule.warm_up of at least {}: ramp-up, control, and an interval at the load's own level",
                format_duration(shortest)
            );
            checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
            return None;
        }
    }
    Some(control)
}

fn key(name: &'static str) -> [&'static str; 3] {
    [PATH[0], PATH[1], name]
}

/// The instant of the load drop must be known before the load starts.
fn refuse_unknown_instant(checker: &mut Checker<'_>, schedule: &raw::Schedule) {
    let warm_up = ["schedule", "warm_up"];
    let is_timed = match &schedule.warm_up {
        Some(raw::WarmUp::Time(_)) => true,
        Some(raw::WarmUp::Until(given)) => {
            given.duration.is_some() || ends_invalid(checker, &["duration", "until", "requests"])
        }
        None => checker.is_invalid(&warm_up),
    };
    if !is_timed {
        let what = "schedule.recovery needs a warm-up of fixed duration";
        let position = match schedule.warm_up {
            Some(_) => checker.position_of(&warm_up),
            None => checker.key(&PATH),
        };
        let expected = "schedule.warm_up: a duration, or { duration, ramp_up }";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    if checker.root().child("search").is_some() {
        let what = "schedule.recovery belongs to studies without search, which changes the load from trial to trial";
        let position = checker.key(&PATH);
        checker.report(Finding::new(position, what).with_expected("one of the two"));
    }
}

/// Whether a key that ends the warm-up is invalid; that was reported.
fn ends_invalid(checker: &Checker<'_>, keys: &[&str]) -> bool {
    let mut keys = keys.iter();
    keys.any(|key| checker.is_invalid(&["schedule", "warm_up", key]))
}
