//! The part `search` of a study: what it maximizes, between which levels, under which conditions; and its effect on the load of a
//! cell.

use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{LevelKind, LoadKind, Threshold};

use super::load::{Load, MAX_CONNECTIONS, MAX_RATE_PER_S};
use crate::{
    at::{At, Key, Place},
    check::{Checker, is_of_preparation, is_of_several_trials},
    mistake::{Finding, Position},
    raw::{LoadLevel, Share},
};

/// The search for the highest rate, number of users or number of connections at which conditions hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// What is searched for.
    #[schemars(required)]
    pub maximize: Key<Maximize>,
    /// The conditions, as in `thresholds`; all must hold in a trial.
    #[schemars(required, length(min = 1))]
    pub conditions: Key<Vec<At<String>>>,
    /// The first level, e.g. `1000/s` or `50`; then doubled or halved. 1000/s for a rate, else 10, by default.
    pub start: Key<LoadLevel>,
    /// The lowest level to try; a hundredth of `start` for a rate, else 1, by default.
    pub min: Key<LoadLevel>,
    /// The highest level to try; a thousand times `start` by default, within what a load can be.
    pub max: Key<LoadLevel>,
    /// How close the two ends of the answer come, as a share of the lower; 5% by default.
    pub precision: Key<Share>,
    /// Trials that must hold at the level that is the answer; 3 by default.
    #[schemars(range(min = 1, max = 100))]
    pub confirmations: Key<u32>,
    /// The most trials of a cell, over all levels; 30 by default.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_trials: Key<u32>,
    /// If a rate is searched for and the load's connections are the limit, and not the system, trials are repeated with more of
    /// them, up to this many. 10000 by default, or `load.connections` if that is more; `load.connections` itself keeps the pool
    /// as it is.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_connections: Key<u32>,
    /// Operating points: further trials of each cell, at shares of the capacity that its search found. For `maximize: rate` and
    /// `maximize: users`.
    pub operating_points: Key<OperatingPoints>,
}

/// Further trials of each cell, at shares of the capacity that its search found.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperatingPoints {
    /// Shares of the highest level that holds, e.g. `[50%, 80%]`.
    #[schemars(required, length(min = 1, max = 10))]
    pub shares: Key<Vec<At<Share>>>,
    /// Trials at each of them; 3 by default.
    #[schemars(range(min = 1, max = 1_000))]
    pub repeat: Key<u32>,
}

/// What is searched for: the highest level at which the conditions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Maximize {
    /// A rate of requests; for load.model open.
    Rate,
    /// A number of users; for load.model users.
    Users,
    /// A number of connections; for load.model closed.
    Connections,
}

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
/// Trials at each operating point.
const REPEAT: u32 = 3;

impl At<Search> {
    /// The position of the most trials, or of the search.
    pub(crate) fn max_trials_position(&self) -> Position {
        let max_trials = self.value.max_trials.content();
        max_trials.map_or(self.place.key, |key| key.place.value)
    }
}

impl Search {
    fn level_kind(&self) -> Option<LevelKind> {
        self.maximize.value().map(|maximize| match maximize {
            Maximize::Rate => LevelKind::Rate,
            Maximize::Users => LevelKind::Users,
            Maximize::Connections => LevelKind::Connections,
        })
    }
}

/// The search; `conditions` were read from `search.conditions`.
pub(crate) fn search(
    checker: &mut Checker<'_>,
    given: &At<Search>,
    mut conditions: Vec<At<Threshold>>,
) -> Option<waggle_spec::Search> {
    let keys = &given.value;
    conditions.retain(|condition| fits_search(checker, condition));
    let precision = precision(checker, &keys.precision);
    let confirmations = keys.confirmations.or_default(CONFIRMATIONS);
    let max_trials = keys.max_trials.or_default(MAX_TRIALS);
    if let (Some(confirmations), Some(max_trials)) = (confirmations, max_trials)
        && max_trials < confirmations
    {
        let what = format!("search.max_trials is {max_trials}");
        let expected = format!("at least search.confirmations, {confirmations}");
        let position = given.max_trials_position();
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    let operating_points = operating_points(checker, keys);
    let maximize = keys.level_kind()?;
    let max_connections = max_connections(checker, &keys.max_connections, maximize);
    let [start, min, max] = levels(checker, keys, maximize)?;
    Some(waggle_spec::Search {
        maximize,
        conditions: (conditions.into_iter())
            .map(|condition| condition.value)
            .collect(),
        start,
        min,
        max,
        precision: precision?,
        confirmations: confirmations?,
        max_trials: max_trials?,
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
    given: &Key<u32>,
    maximize: LevelKind,
) -> Option<u32> {
    match (maximize, given.content()) {
        (LevelKind::Rate, None) => Some(SEARCH_MAX_CONNECTIONS),
        (LevelKind::Rate, Some(key)) => Some(key.value),
        (LevelKind::Users | LevelKind::Connections, None) => None,
        (LevelKind::Users | LevelKind::Connections, Some(key)) => {
            let why = format!(
                "with maximize: {}, whose levels are the connections themselves",
                maximize.name()
            );
            let mistake = key.place.key_mistake(why);
            checker.report(mistake.with_expected("search.max alone"));
            None
        }
    }
}

/// Puts the highest level into the load of a cell, so that all that is checked of a load holds for every level.
pub(crate) fn apply_search_max(
    checker: &mut Checker<'_>,
    given: &Key<Search>,
    load: Option<&mut At<Load>>,
) {
    let Some(At { place, value: load }) = load else {
        return;
    };
    let Some(model) = load.model.value().copied() else {
        return;
    };
    let fits = match model {
        LoadKind::Open => LevelKind::Rate,
        LoadKind::Users => LevelKind::Users,
        LoadKind::Closed => LevelKind::Connections,
        // Reported with what else clients cannot have.
        LoadKind::Clients => return,
    };
    let keys = match given {
        Key::Missing => return,
        // The level that it would set is not known.
        Key::Invalid => return load.forget_level(fits),
        Key::Given(search) => &search.value,
    };
    let is_refused = refuse_other_model(checker, keys, fits, model);
    let level_place = load.level_place(fits);
    if let Some(level) = level_place.filter(|_| !is_refused) {
        let mistake = level.key_mistake("is what search maximizes");
        checker.report(mistake.with_expected("search.start alone"));
    }
    if let Some(stages) = load.stages.take() {
        let why = "belongs to studies without search, which changes the load from trial to trial";
        let mistake = stages.place.key_mistake(why);
        checker.report(mistake.with_expected("one of the two"));
    }
    // If the search has a mistake, only that is reported, and not that the load lacks the level.
    let [_, min, highest] = bounds(keys, fits);
    load.set_level(place, fits, highest);
    refuse_few_connections(checker, keys, &load.connections);
    if keys.level_kind() == Some(fits) && fits != LevelKind::Rate {
        refuse_parts_above_min(checker, load, fits.name(), min);
    }
}

/// Reports a pool that may not grow to the connections that the load has.
fn refuse_few_connections(checker: &mut Checker<'_>, keys: &Search, connections: &Key<u32>) {
    if let (Some(most), Some(connections)) = (keys.max_connections.content(), connections.value())
        && most.value < *connections
    {
        let why = format!("is {}, and load.connections is {connections}", most.value);
        let mistake = most.place.mistake(why);
        checker.report(mistake.with_expected(format!("at least {connections}")));
    }
}

/// Reports more workers or generators than the lowest level that is tried.
fn refuse_parts_above_min(checker: &mut Checker<'_>, load: &Load, key: &str, min: f64) {
    for (parts, given) in [("workers", &load.workers), ("generators", &load.generators)] {
        let given = given.content();
        if let Some(At { place, value }) = given.filter(|given| f64::from(given.value) > min) {
            let mistake = place.mistake(format!("is {value}, and search tries {min} {key}"));
            let expected = format!("at most as many {parts} as {key}: search.min: {value}");
            checker.report(mistake.with_expected(expected));
        }
    }
}

/// Reports a search for what the load's model does not have; `fits` is what it has. Returns whether it did.
fn refuse_other_model(
    checker: &mut Checker<'_>,
    keys: &Search,
    fits: LevelKind,
    model: LoadKind,
) -> bool {
    let (Some(kind), Some(maximize)) = (keys.level_kind(), keys.maximize.content()) else {
        return false;
    };
    if kind == fits {
        return false;
    }
    let why = format!(
        "is {}, which needs load.model {}; this load is {}",
        kind.name(),
        model_of(kind).name(),
        model.name()
    );
    let expected = format!("{}, or another model", fits.name());
    checker.report(maximize.place.mistake(why).with_expected(expected));
    true
}

fn model_of(kind: LevelKind) -> LoadKind {
    match kind {
        LevelKind::Rate => LoadKind::Open,
        LevelKind::Users => LoadKind::Users,
        LevelKind::Connections => LoadKind::Closed,
    }
}

fn precision(checker: &mut Checker<'_>, given: &Key<Share>) -> Option<f64> {
    let Share(precision) = given.or_default(Share(PRECISION))?;
    let (least, most) = PRECISION_BOUNDS;
    if (least..=most).contains(&precision) {
        return Some(precision);
    }
    let mistake = given.content()?.place.mistake(format!("is {precision}"));
    checker.report(mistake.with_expected("a share from 0.1% to 100%"));
    None
}

/// The highest level that a load can have.
fn highest_level(kind: LevelKind) -> f64 {
    match kind {
        LevelKind::Rate => MAX_RATE_PER_S,
        LevelKind::Users | LevelKind::Connections => f64::from(MAX_CONNECTIONS),
    }
}

/// `start`, `min`, `max`, with defaults that respect those that are given.
fn bounds(keys: &Search, kind: LevelKind) -> [f64; 3] {
    let level = |key: &Key<LoadLevel>| key.value().map(|LoadLevel(level)| *level);
    let first = match kind {
        LevelKind::Rate => START_RATE_PER_S,
        LevelKind::Users | LevelKind::Connections => START_COUNT,
    };
    let (min, max) = (level(&keys.min), level(&keys.max));
    let start = level(&keys.start).unwrap_or_else(|| {
        let above = first.max(min.unwrap_or(first));
        above.min(max.unwrap_or(above))
    });
    let least = match kind {
        LevelKind::Rate => start * MIN_OF_START,
        LevelKind::Users | LevelKind::Connections => 1.0,
    };
    [
        start,
        min.unwrap_or(least),
        max.unwrap_or_else(|| (start * MAX_OF_START).min(highest_level(kind))),
    ]
}

fn levels(checker: &mut Checker<'_>, keys: &Search, kind: LevelKind) -> Option<[f64; 3]> {
    let level_keys = [&keys.start, &keys.min, &keys.max];
    if level_keys.iter().any(|key| key.is_invalid()) {
        return None;
    }
    let levels = bounds(keys, kind);
    let most = highest_level(kind);
    let (fits, expected): (fn(f64) -> bool, _) = match kind {
        LevelKind::Rate => (
            |level| level > 0.0,
            format!("a rate above 0 and at most {most}/s"),
        ),
        LevelKind::Users | LevelKind::Connections => (
            |level| level >= 1.0 && level.fract() == 0.0,
            format!("a whole number of {} from 1 to {most}", kind.name()),
        ),
    };
    let fits = |level: f64| fits(level) && level <= most;
    for (key, level) in level_keys.into_iter().zip(levels) {
        // The default of a bound follows from `start`.
        if let Some(key) = key.content().filter(|_| !fits(level)) {
            let mistake = key.place.mistake(format!("is {level}"));
            checker.report(mistake.with_expected(expected.clone()));
        }
    }
    let [start, min, max] = levels;
    let is_fit = levels.into_iter().all(fits);
    for (key, level, is_beyond, bound) in [
        (&keys.min, min, min > start, "most"),
        (&keys.max, max, start > max, "least"),
    ] {
        if let Some(key) = key.content().filter(|_| is_fit && is_beyond) {
            let mistake = key.place.mistake(format!("is {level}"));
            let expected = format!("at {bound} search.start, {start}");
            checker.report(mistake.with_expected(expected));
        }
    }
    Some(levels)
}

/// The shares of the capacity, and the trials at each; `None`: the search has none, or a mistake was reported.
fn operating_points(
    checker: &mut Checker<'_>,
    keys: &Search,
) -> Option<waggle_spec::OperatingPoints> {
    let At { place, value } = keys.operating_points.content()?;
    refuse_connections(checker, keys, place);
    let mut shares: Vec<f64> = Vec::new();
    for entry in value.shares.value().into_iter().flatten() {
        let Share(share) = entry.value;
        let mistake = entry.place.mistake(format!("is {share}"));
        if !(0.0 < share && share <= 1.0) {
            let expected = "a share of the capacity above 0 % and at most 100 %, such as 50%";
            checker.report(mistake.with_expected(expected));
        } else if shares.contains(&share) {
            checker.report(mistake.with_expected("each share once"));
        }
        shares.push(share);
    }
    Some(waggle_spec::OperatingPoints {
        shares,
        repeat: value.repeat.or_default(REPEAT)?,
    })
}

/// A closed load keeps its system busy with any number of connections: a share of them is no share of the load.
fn refuse_connections(checker: &mut Checker<'_>, keys: &Search, place: &Place) {
    if keys.maximize.value() == Some(&Maximize::Connections) {
        let why = "belongs to a search for a rate or for users: with half of its connections a closed load does not ask for half as much";
        let expected =
            "maximize: rate with load.model open, or maximize: users with load.model users";
        checker.report(place.key_mistake(why).with_expected(expected));
    }
}
