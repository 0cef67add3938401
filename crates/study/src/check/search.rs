//! The search: what it maximizes, between which levels, under which conditions; and its effect on the load of a cell.

use waggle_spec::{LevelKind, LoadKind, Search, Threshold};

use super::{
    Checker,
    load::{MAX_CONNECTIONS, MAX_RATE_PER_S, whole_level},
    operating_points::operating_points,
    threshold::{is_of_preparation, is_of_several_trials},
};
use crate::{at::At, mistake::Finding, raw};

const PRECISION: f64 = 0.05;
/// Trials cannot distinguish levels that are closer than the lower bound; above the upper bound a search does nothing but double.
const PRECISION_BOUNDS: (f64, f64) = (0.001, 1.0);
const CONFIRMATIONS: u32 = 3;
const MAX_TRIALS: u32 = 30;
/// As many connections as a search opens by itself: below the local ports that there are to one address.
pub const SEARCH_MAX_CONNECTIONS: u32 = 10_000;
/// The default of the first level, as `waggle load --search` has it.
const START_RATE_PER_S: f64 = 1_000.0;
const START_COUNT: f64 = 10.0;
/// Default bounds of a rate, as multiples of the first level.
const MIN_OF_START: f64 = 0.01;
const MAX_OF_START: f64 = 1_000.0;

/// The search; `conditions` were read from `search.conditions`.
pub(crate) fn search(
    checker: &mut Checker<'_>,
    raw: &raw::Search,
    mut conditions: Vec<At<Threshold>>,
) -> Option<Search> {
    conditions.retain(|condition| fits_search(checker, condition));
    let precision = precision(checker, raw);
    let (confirmations, max_trials) = (
        raw.confirmations.unwrap_or(CONFIRMATIONS),
        raw.max_trials.unwrap_or(MAX_TRIALS),
    );
    if max_trials < confirmations {
        let path = ["search", "max_trials"];
        let what = format!("search.max_trials is {max_trials}");
        let expected = format!("at least search.confirmations, {confirmations}");
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    let operating_points = operating_points(checker, raw);
    let maximize = raw.maximize.map(checked_level)?;
    let max_connections = max_connections(checker, raw, maximize);
    let [start, min, max] = levels(checker, raw, maximize)?;
    Some(Search {
        maximize,
        conditions: (conditions.into_iter())
            .map(|condition| condition.value)
            .collect(),
        start,
        min,
        max,
        precision: precision?,
        confirmations,
        max_trials,
        max_connections,
        operating_points,
    })
}

/// Whether a condition can be judged in each trial, and depends on the level; else that is reported.
fn fits_search(checker: &mut Checker<'_>, condition: &At<Threshold>) -> bool {
    let metric = &condition.value.metric;
    let (why, expected) = if is_of_several_trials(metric) {
        (
            "is a metric over trials, and a search judges each alone",
            "a metric of one trial",
        )
    } else if is_of_preparation(metric) {
        (
            "does not depend on the level that is searched for",
            "a metric of the measured load; this one can be in thresholds",
        )
    } else {
        return true;
    };
    let what = format!("{} {why}", metric.join("."));
    checker.report(Finding::new(condition.place.value, what).with_expected(expected));
    false
}

/// How far the pool of a load may grow; only a rate has a pool beside it.
fn max_connections(
    checker: &mut Checker<'_>,
    raw: &raw::Search,
    maximize: LevelKind,
) -> Option<u32> {
    match (maximize, raw.max_connections) {
        (LevelKind::Rate, given) => Some(given.unwrap_or(SEARCH_MAX_CONNECTIONS)),
        (LevelKind::Users | LevelKind::Connections, None) => None,
        (LevelKind::Users | LevelKind::Connections, Some(_)) => {
            let text = format!(
                "search.max_connections with maximize: {}, whose levels are the connections themselves",
                maximize.name()
            );
            let position = checker.key(&["search", "max_connections"]);
            checker.report(Finding::new(position, text).with_expected("search.max alone"));
            None
        }
    }
}

/// Puts the highest level into the load of a cell, so that all that is checked of a load holds for every level.
pub(crate) fn apply_search_max(checker: &mut Checker<'_>, raw: &raw::Search, load: &mut raw::Load) {
    let Some(model) = load.model else { return };
    let (fits, key, is_given) = match model {
        LoadKind::Open => (LevelKind::Rate, "rate", load.rate.is_some()),
        LoadKind::Users => (LevelKind::Users, "users", load.users.is_some()),
        LoadKind::Closed => (
            LevelKind::Connections,
            "connections",
            load.connections.is_some(),
        ),
        // Reported with what else clients cannot have.
        LoadKind::Clients => return,
    };
    let what = raw.maximize.map(checked_level);
    if let Some(what) = what.filter(|what| *what != fits) {
        let text = format!(
            "search.maximize is {}, which needs load.model {}; this load is {}",
            what.name(),
            model_of(what).name(),
            model.name()
        );
        let expected = format!("{key}, or another model");
        let position = checker.position_of(&["search", "maximize"]);
        checker.report(Finding::new(position, text).with_expected(expected));
    } else if is_given {
        let text = format!("load.{key} is what search maximizes");
        let position = checker.key(&["load", key]);
        checker.report(Finding::new(position, text).with_expected("search.start alone"));
    }
    if load.stages.take().is_some() {
        let text = "load.stages belongs to studies without search, which changes the load from trial to trial";
        let position = checker.key(&["load", "stages"]);
        checker.report(Finding::new(position, text).with_expected("one of the two"));
    }
    // If the search has a mistake, only that is reported, and not that the load lacks the level.
    let [_, min, highest] = bounds(raw, fits);
    match fits {
        LevelKind::Rate => load.rate = Some(raw::Rate(highest.clamp(1e-9, MAX_RATE_PER_S))),
        LevelKind::Users => load.users = Some(whole_level(highest)),
        LevelKind::Connections => load.connections = Some(whole_level(highest)),
    }
    if let (Some(most), Some(connections)) = (raw.max_connections, load.connections)
        && most < connections
    {
        let text =
            format!("search.max_connections is {most}, and load.connections is {connections}");
        let position = checker.position_of(&["search", "max_connections"]);
        checker
            .report(Finding::new(position, text).with_expected(format!("at least {connections}")));
    }
    let is_count = what.is_some_and(|what| what == fits && what != LevelKind::Rate);
    for (parts, value) in [("workers", load.workers), ("generators", load.generators)] {
        if let Some(value) = value.filter(|value| is_count && f64::from(*value) > min) {
            let text = format!("load.{parts} is {value}, and search tries {min} {key}");
            let expected = format!("at most as many {parts} as {key}: search.min: {value}");
            let position = checker.position_of(&["load", parts]);
            checker.report(Finding::new(position, text).with_expected(expected));
        }
    }
}

fn model_of(what: LevelKind) -> LoadKind {
    match what {
        LevelKind::Rate => LoadKind::Open,
        LevelKind::Users => LoadKind::Users,
        LevelKind::Connections => LoadKind::Closed,
    }
}

fn checked_level(maximize: raw::Maximize) -> LevelKind {
    match maximize {
        raw::Maximize::Rate => LevelKind::Rate,
        raw::Maximize::Users => LevelKind::Users,
        raw::Maximize::Connections => LevelKind::Connections,
    }
}

fn precision(checker: &mut Checker<'_>, raw: &raw::Search) -> Option<f64> {
    let path = ["search", "precision"];
    let given = raw.precision.map(|raw::Share(share)| share);
    let precision = checker.value_or_default(given, &path, PRECISION)?;
    let (least, most) = PRECISION_BOUNDS;
    if (least..=most).contains(&precision) {
        return Some(precision);
    }
    let what = format!("search.precision is {precision}");
    checker.report(
        Finding::new(checker.position_of(&path), what).with_expected("a share from 0.1% to 100%"),
    );
    None
}

/// `start`, `min`, `max`, with defaults that respect those that are given.
fn bounds(raw: &raw::Search, what: LevelKind) -> [f64; 3] {
    let level = |given: Option<raw::LoadLevel>| given.map(|raw::LoadLevel(level)| level);
    let (first, most) = match what {
        LevelKind::Rate => (START_RATE_PER_S, MAX_RATE_PER_S),
        LevelKind::Users | LevelKind::Connections => (START_COUNT, f64::from(MAX_CONNECTIONS)),
    };
    let (min, max) = (level(raw.min), level(raw.max));
    let start = level(raw.start).unwrap_or_else(|| {
        let above = first.max(min.unwrap_or(first));
        above.min(max.unwrap_or(above))
    });
    let least = match what {
        LevelKind::Rate => start * MIN_OF_START,
        LevelKind::Users | LevelKind::Connections => 1.0,
    };
    [
        start,
        min.unwrap_or(least),
        max.unwrap_or_else(|| (start * MAX_OF_START).min(most)),
    ]
}

fn levels(checker: &mut Checker<'_>, raw: &raw::Search, what: LevelKind) -> Option<[f64; 3]> {
    for key in ["start", "min", "max"] {
        if checker.is_invalid(&["search", key]) {
            return None;
        }
    }
    let levels = bounds(raw, what);
    let most = match what {
        LevelKind::Rate => MAX_RATE_PER_S,
        LevelKind::Users | LevelKind::Connections => f64::from(MAX_CONNECTIONS),
    };
    let named = [
        ("start", raw.start.is_some()),
        ("min", raw.min.is_some()),
        ("max", raw.max.is_some()),
    ];
    let mut right = true;
    for ((key, given), level) in named.into_iter().zip(levels) {
        let (fits, expected) = match what {
            LevelKind::Rate => (
                level > 0.0 && level <= most,
                format!("a rate above 0 and at most {most}/s"),
            ),
            LevelKind::Users | LevelKind::Connections => (
                level >= 1.0 && level <= most && level.fract() == 0.0,
                format!("a whole number of {} from 1 to {most}", what.name()),
            ),
        };
        right &= fits;
        // The default of a bound follows from `start`.
        if !fits && given {
            let text = format!("search.{key} is {level}");
            let position = checker.position_of(&["search", key]);
            checker.report(Finding::new(position, text).with_expected(expected));
        }
    }
    let [start, min, max] = levels;
    for (key, level, fits, bound) in [
        ("min", min, min <= start, "most"),
        ("max", max, start <= max, "least"),
    ] {
        if right && !fits {
            let text = format!("search.{key} is {level}");
            let expected = format!("at {bound} search.start, {start}");
            checker.report(
                Finding::new(checker.position_of(&["search", key]), text).with_expected(expected),
            );
        }
    }
    Some(levels)
}
