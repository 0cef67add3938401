//! The load after the measured phase: where it falls to, and what counts as recovered.

use std::time::Duration;

use super::{
    Checker,
    level::Asked,
    schedule::{Beside, whole_intervals},
};
use crate::{Recovery, mistake::Finding, raw};

const PATH: [&str; 2] = ["schedule", "recovery"];
/// Histograms of response times reach that far.
const P99: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(3600));

/// What the study says of recovery; `schedule` is what it stands in.
pub(super) fn recovery(
    checker: &mut Checker<'_>,
    schedule: &raw::Schedule,
    given: &raw::Recovery,
    beside: &Beside<'_>,
) -> Option<Recovery> {
    refuse_unknown_instant(checker, schedule);
    let level = beside.load.and_then(|load| {
        let asked = Asked {
            path: &PATH,
            rate: given.rate,
            users: given.users,
            does: "lets the load fall",
        };
        let (level, highest) = asked.level(checker, load)?;
        asked.refuse_more(checker, load, (level, highest));
        Some(level)
    });
    let p99 = given
        .p99
        .and_then(|raw::Span(time)| checker.check_bounds(time, &key("p99"), P99));
    let at_most = given.at_most.and_then(|raw::Span(time)| {
        whole_intervals(checker, time, &key("at_most"), beside.interval)
    });
    Some(Recovery {
        level: level?,
        p99: p99?,
        at_most: at_most?,
    })
}

fn key(name: &'static str) -> [&'static str; 3] {
    [PATH[0], PATH[1], name]
}

/// The load is told beforehand when to fall.
fn refuse_unknown_instant(checker: &mut Checker<'_>, schedule: &raw::Schedule) {
    let until = ["schedule", "warm_up", "until"];
    let is_timed = schedule
        .warm_up
        .as_ref()
        .is_some_and(|warm_up| warm_up.until == Some(raw::WarmUpUntil::Time));
    if !is_timed && !checker.is_wild(&until) && !checker.is_wild(&until[..2]) {
        let what = "schedule.recovery needs a warm-up whose length is known, and this one ends when the system is steady";
        let place = match schedule.warm_up {
            Some(_) => checker.position_of(&until),
            None => checker.key(&PATH),
        };
        checker.report(Finding::new(place, what).with_expected("schedule.warm_up.until: time"));
    }
    if checker.root().child("find").is_some() {
        let what = "schedule.recovery belongs to studies without find, which changes the load from trial to trial";
        let place = checker.key(&PATH);
        checker.report(Finding::new(place, what).with_expected("one of the two"));
    }
}
