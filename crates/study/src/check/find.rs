//! The search: what is searched for, between which levels, under which conditions; and the load it is put into.

use super::{
    Checker,
    load::{MAX_CONNECTIONS, MAX_RATE_PER_S, whole_level},
};
use crate::{Find, Sought, Threshold, mistake::Finding, raw};

const PRECISION: f64 = 0.05;
/// Finer than this trials cannot tell levels apart; coarser than doubling is no search.
const PRECISION_BOUNDS: (f64, f64) = (0.001, 1.0);
const CONFIRM: u32 = 3;
const TRIALS_AT_MOST: u32 = 30;
/// Where nothing is said, the first level, as `waggle load --find` has it.
const FROM_RATE_PER_S: f64 = 1_000.0;
const FROM_COUNT: f64 = 10.0;
/// Where nothing is said, rates from this share of the first level up to so many times the first level are tried.
const RATE_AT_LEAST: f64 = 0.01;
const AT_MOST: f64 = 1_000.0;

/// The search; `conditions` are those of `find.where`, checked.
pub(crate) fn find(
    checker: &mut Checker<'_>,
    raw: &raw::Find,
    conditions: Vec<Threshold>,
) -> Option<Find> {
    let what = searched_level(checker, raw);
    let precision = precision(checker, raw);
    let (confirm, trials_at_most) = (
        raw.confirm.unwrap_or(CONFIRM),
        raw.trials_at_most.unwrap_or(TRIALS_AT_MOST),
    );
    if trials_at_most < confirm {
        let path = ["find", "trials_at_most"];
        let what = format!("find.trials_at_most is {trials_at_most}");
        let expected = format!("at least find.confirm, {confirm}");
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    let what = what?;
    let [from, at_least, at_most] = levels(checker, raw, what)?;
    Some(Find {
        what,
        conditions,
        from,
        at_least,
        at_most,
        precision: precision?,
        confirm,
        trials_at_most,
    })
}

/// Puts the highest level into the load of a cell, so that all that is checked of a load holds for every level.
pub(crate) fn put_highest(checker: &mut Checker<'_>, raw: &raw::Find, load: &mut raw::Load) {
    let Some(model) = load.model else { return };
    let (fits, key, is_given) = match model {
        raw::Model::Open => (Sought::Rate, "rate", load.rate.is_some()),
        raw::Model::Users => (Sought::Users, "users", load.users.is_some()),
        raw::Model::Closed => (
            Sought::Connections,
            "connections",
            load.connections.is_some(),
        ),
    };
    let what = sought_in(raw);
    if let Some(what) = what.filter(|what| *what != fits) {
        let text = format!(
            "find.{} needs load.model {}; this load is {}",
            what.name(),
            super::load::name(model_of(what)),
            super::load::name(model)
        );
        let expected = format!("find.{key}, or another model");
        let place = checker.key(&["find", what.name()]);
        checker.report(Finding::new(place, text).with_expected(expected));
    } else if is_given {
        let text = format!("load.{key} is what find searches for");
        let place = checker.key(&["load", key]);
        checker.report(Finding::new(place, text).with_expected("find.from alone"));
    }
    if load.stages.take().is_some() {
        let text = "load.stages belongs to studies without find, which changes the load from trial to trial";
        let place = checker.key(&["load", "stages"]);
        checker.report(Finding::new(place, text).with_expected("one of the two"));
    }
    // Where the search is wrong, that is said of the search; the load must not be blamed for lacking what it looks for.
    let [_, at_least, highest] = bounds(raw, fits);
    match fits {
        Sought::Rate => load.rate = Some(raw::Rate(highest.clamp(1e-9, MAX_RATE_PER_S))),
        Sought::Users => load.users = Some(whole_level(highest)),
        Sought::Connections => load.connections = Some(whole_level(highest)),
    }
    if let Some(workers) = load.workers
        && what.is_some_and(|what| what == fits && what != Sought::Rate)
        && f64::from(workers) > at_least
    {
        let text = format!("load.workers is {workers}, and find tries {at_least} {key}");
        let expected = format!("at most as many workers as {key}: find.at_least: {workers}");
        let place = checker.position_of(&["load", "workers"]);
        checker.report(Finding::new(place, text).with_expected(expected));
    }
}

fn model_of(what: Sought) -> raw::Model {
    match what {
        Sought::Rate => raw::Model::Open,
        Sought::Users => raw::Model::Users,
        Sought::Connections => raw::Model::Closed,
    }
}

/// The one thing that is searched for; `None` where none is named, or more than one.
fn sought_in(raw: &raw::Find) -> Option<Sought> {
    let mut named = keys(raw).into_iter().filter(|(_, given)| *given);
    match (named.next(), named.next()) {
        (Some((what, _)), None) => Some(what),
        _ => None,
    }
}

fn keys(raw: &raw::Find) -> [(Sought, bool); 3] {
    [
        (Sought::Rate, raw.rate.is_some()),
        (Sought::Users, raw.users.is_some()),
        (Sought::Connections, raw.connections.is_some()),
    ]
}

fn searched_level(checker: &mut Checker<'_>, raw: &raw::Find) -> Option<Sought> {
    let expected = "one of rate: highest, users: highest, connections: highest";
    let found = sought_in(raw);
    let mut named = keys(raw).into_iter().filter(|(_, given)| *given);
    let is_wild = keys(raw)
        .iter()
        .any(|(what, _)| checker.is_wild(&["find", what.name()]));
    match (named.next(), named.next()) {
        (None, _) if !is_wild => {
            let what = "find does not say what is searched for";
            checker.report(Finding::new(checker.key(&["find"]), what).with_expected(expected));
        }
        (Some(_), Some((second, _))) => {
            let what = format!("find searches for a second thing: {}", second.name());
            let place = checker.key(&["find", second.name()]);
            checker.report(Finding::new(place, what).with_expected(expected));
        }
        _ => {}
    }
    found
}

fn precision(checker: &mut Checker<'_>, raw: &raw::Find) -> Option<f64> {
    let path = ["find", "precision"];
    let given = raw.precision.map(|raw::Share(share)| share);
    let precision = checker.value_or_default(given, &path, PRECISION)?;
    let (least, most) = PRECISION_BOUNDS;
    if (least..=most).contains(&precision) {
        return Some(precision);
    }
    let what = format!("find.precision is {precision}");
    checker.report(
        Finding::new(checker.position_of(&path), what).with_expected("a share from 0.1% to 100%"),
    );
    None
}

/// `from`, `at_least`, `at_most`, the defaults put in: each within those that are given.
fn bounds(raw: &raw::Find, what: Sought) -> [f64; 3] {
    let level = |given: Option<raw::LoadLevel>| given.map(|raw::LoadLevel(level)| level);
    let (first, most) = match what {
        Sought::Rate => (FROM_RATE_PER_S, MAX_RATE_PER_S),
        Sought::Users | Sought::Connections => (FROM_COUNT, f64::from(MAX_CONNECTIONS)),
    };
    let (at_least, at_most) = (level(raw.at_least), level(raw.at_most));
    let from = level(raw.from).unwrap_or_else(|| {
        let above = first.max(at_least.unwrap_or(first));
        above.min(at_most.unwrap_or(above))
    });
    let least = match what {
        Sought::Rate => from * RATE_AT_LEAST,
        Sought::Users | Sought::Connections => 1.0,
    };
    [
        from,
        at_least.unwrap_or(least),
        at_most.unwrap_or_else(|| (from * AT_MOST).min(most)),
    ]
}

fn levels(checker: &mut Checker<'_>, raw: &raw::Find, what: Sought) -> Option<[f64; 3]> {
    for key in ["from", "at_least", "at_most"] {
        if checker.is_wild(&["find", key]) {
            return None;
        }
    }
    let levels = bounds(raw, what);
    let most = match what {
        Sought::Rate => MAX_RATE_PER_S,
        Sought::Users | Sought::Connections => f64::from(MAX_CONNECTIONS),
    };
    let named = [
        ("from", raw.from.is_some()),
        ("at_least", raw.at_least.is_some()),
        ("at_most", raw.at_most.is_some()),
    ];
    let mut right = true;
    for ((key, given), level) in named.into_iter().zip(levels) {
        let (fits, expected) = match what {
            Sought::Rate => (
                level > 0.0 && level <= most,
                format!("a rate above 0 and at most {most}/s"),
            ),
            Sought::Users | Sought::Connections => (
                level >= 1.0 && level <= most && level.fract() == 0.0,
                format!("a whole number of {} from 1 to {most}", what.name()),
            ),
        };
        right &= fits;
        // One that was left out follows from the first one.
        if !fits && given {
            let text = format!("find.{key} is {level}");
            let place = checker.position_of(&["find", key]);
            checker.report(Finding::new(place, text).with_expected(expected));
        }
    }
    let [from, at_least, at_most] = levels;
    for (key, level, fits, bound) in [
        ("at_least", at_least, at_least <= from, "most"),
        ("at_most", at_most, from <= at_most, "least"),
    ] {
        if right && !fits {
            let text = format!("find.{key} is {level}");
            let expected = format!("at {bound} find.from, {from}");
            checker.report(
                Finding::new(checker.position_of(&["find", key]), text).with_expected(expected),
            );
        }
    }
    Some(levels)
}
