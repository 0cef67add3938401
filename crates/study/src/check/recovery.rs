//! The load after the measured phase: where it falls to, and what counts as recovered.

use std::time::Duration;

use super::{
    Checker,
    schedule::{Beside, whole_intervals},
};
use crate::{LoadModel, Recovery, mistake::Finding, raw};

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
    let level = beside
        .load
        .and_then(|load| self::level(checker, given, load));
    let p99 = given
        .p99
        .and_then(|raw::Span(time)| checker.within(time, &key("p99"), P99));
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
            Some(_) => checker.at(&until),
            None => checker.key(&PATH),
        };
        checker.report(Finding::new(place, what).expected("schedule.warm_up.until: time"));
    }
    if checker.root().child("find").is_some() {
        let what = "schedule.recovery belongs to studies without find, which changes the load from trial to trial";
        let place = checker.key(&PATH);
        checker.report(Finding::new(place, what).expected("one of the two"));
    }
}

/// Where the load falls to: a number of what its model counts, no higher than it was.
fn level(checker: &mut Checker<'_>, given: &raw::Recovery, load: &LoadModel) -> Option<f64> {
    let rate = given.rate.map(|raw::Rate(per_s)| per_s);
    let users = given.users.map(f64::from);
    let (name, level, highest, foreign, example) = match load {
        LoadModel::Closed { .. } => {
            let what =
                "schedule.recovery lets the load fall, and a closed load has nothing that falls";
            let place = checker.key(&PATH);
            checker.report(Finding::new(place, what).expected("load.model open or users"));
            return None;
        }
        LoadModel::Open { rate_per_s, .. } => {
            let foreign = users.map(|_| "users");
            ("rate", rate, *rate_per_s, foreign, "rate: 100/s")
        }
        LoadModel::Users { users: all, .. } => {
            let foreign = rate.map(|_| "rate");
            ("users", users, f64::from(*all), foreign, "users: 50")
        }
    };
    if let Some(foreign) = foreign {
        let what = format!("schedule.recovery.{foreign} is of another load.model than this one");
        let place = checker.key(&key(foreign));
        checker.report(Finding::new(place, what).expected(name));
    }
    let Some(level) = level else {
        if !checker.is_wild(&key(name)) && foreign.is_none() {
            let what = "schedule.recovery does not say where the load falls to";
            checker.report(Finding::new(checker.key(&PATH), what).expected(example));
        }
        return None;
    };
    if !(level > 0.0 && level <= highest) {
        let unit = if name == "rate" { " per second" } else { "" };
        let what = format!("schedule.recovery.{name} is {level}{unit}");
        let expected = format!("more than 0 and at most load.{name}, {highest}{unit}");
        checker.report(Finding::new(checker.at(&key(name)), what).expected(expected));
    }
    Some(level)
}
