//! The load after the measured phase: the level to which it drops, and what counts as recovered.

use std::time::Duration;

use super::{
    Checker,
    level::GivenLevel,
    schedule::{ScheduleContext, whole_intervals},
};
use crate::{Recovery, mistake::Finding, raw};

const PATH: [&str; 2] = ["schedule", "recovery"];
/// The range of the histograms of response times.
const P99: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(3600));

/// Checks `schedule.recovery`; `schedule` is the part that contains it.
pub(super) fn recovery(
    checker: &mut Checker<'_>,
    schedule: &raw::Schedule,
    given: &raw::Recovery,
    context: &ScheduleContext<'_>,
) -> Option<Recovery> {
    refuse_unknown_instant(checker, schedule);
    let level = context.load.and_then(|load| {
        let given_level = GivenLevel {
            path: &PATH,
            rate: given.rate,
            users: given.users,
            does: "lets the load drop",
        };
        let (level, highest) = given_level.level(checker, load)?;
        given_level.refuse_above_load(checker, load, (level, highest));
        Some(level)
    });
    let p99 = given
        .p99
        .and_then(|raw::DurationText(time)| checker.check_bounds(time, &key("p99"), P99));
    let duration = given.duration.and_then(|raw::DurationText(time)| {
        whole_intervals(checker, time, &key("duration"), context.interval)
    });
    Some(Recovery {
        level: level?,
        p99: p99?,
        duration: duration?,
    })
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
