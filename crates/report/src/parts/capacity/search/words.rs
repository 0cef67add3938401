//! The answer of a search, in a sentence that claims no more than the search showed.

use waggle_analysis::Shortfall;
use waggle_spec::LevelKind;
use waggle_stats::{Answer, End, FittedLevel};

use crate::words::{conditions, findings, format};

/// An answer as a sentence, with the first reason why the search went no higher; the table has all. `place` names the cell, or is empty.
#[must_use]
pub fn sentence(what: LevelKind, answer: &Answer, why: Option<&str>, place: &str) -> String {
    let level = |place: f64| level(what, place);
    let trials = trials(answer.trials);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let Some(held) = answer.holds else {
        return at_place(place, &without_level(answer, &why, &trials, &level));
    };
    let all = all_of(held.trials);
    let held = level(held.level);
    let fails = fails_text(answer, &why, &level);
    let seen = format!(
        "{}{}",
        mixed_levels_text(answer, &level),
        fitted_text(what, answer)
    );
    let stopped = answer.stopped_at.map_or_else(String::new, level);
    let bound = format!(
        "the highest {} is at least {held}{}: every condition holds there (in {all})",
        noun(what),
        with_pool(answer)
    );
    let said = match answer.end {
        End::Found => format!("every condition holds at {held} (in {all}){fails}{seen}; {trials}"),
        End::MetUpToMost => {
            format!("{bound}; it is search.max, the maximum of the search{seen}; {trials}")
        }
        End::PoolLimited => format!(
            "{bound}; {}{why}{seen}; {trials}",
            pool_text(answer, &stopped)
        ),
        End::InstrumentLimited => format!(
            "{bound}{}; at {stopped} the load generator was the limit{why}, as in {} of {trials}{seen}",
            fails_text(answer, "", &level),
            answer.limited_trials
        ),
        End::Silent => format!("{bound}; trials at {stopped} are no evidence{why}{seen}; {trials}"),
        End::TrialsSpent => format!(
            "{bound}{fails}{seen}; the search reached search.max_trials, its maximum of {trials}, so the answer is less precise or less \
             certain than requested"
        ),
        End::Unfinished | End::NeverMet => format!(
            "every condition holds at {held} (in {all}){fails}{seen} so far; {trials}, and the search is not finished"
        ),
    };
    at_place(place, &said)
}

/// The lowest level that failed, and in how many of its trials.
fn fails_text(answer: &Answer, why: &str, level: &dyn Fn(f64) -> String) -> String {
    let Some(fails) = answer.fails else {
        return String::new();
    };
    let seen = answer.at_level(fails);
    let share = seen.map_or_else(String::new, |seen| {
        format!(" in {} of {}", seen.not_met, trials(seen.judged_trials()))
    });
    format!(", but not at {}, which failed{share}{why}", level(fails))
}

/// What all trials together say, where the bracket of two levels says what happened.
fn fitted_text(what: LevelKind, answer: &Answer) -> String {
    let Some(fitted) = answer.fitted_level() else {
        return String::new();
    };
    let (middle, low, high) = fitted_levels(what, fitted);
    format!(
        "; fitted to all {} trials that show it, the level that half of them hold is {middle} (95 % interval {low} – {high})",
        fitted.trials
    )
}

/// A fitted level and the ends of its interval, to three digits.
pub(crate) fn fitted_levels(what: LevelKind, fitted: FittedLevel) -> (String, String, String) {
    let round = |value: f64| rounded_level(what, value);
    (round(fitted.level), round(fitted.low), round(fitted.high))
}

fn rounded_level(what: LevelKind, value: f64) -> String {
    let step = 10_f64.powf(value.log10().floor() - 2.0);
    let step = match what {
        LevelKind::Rate => step,
        LevelKind::Users | LevelKind::Connections => step.max(1.0),
    };
    level(what, (value / step).round() * step)
}

/// ` with 10 connections`, where they were the limit.
fn with_pool(answer: &Answer) -> String {
    let pool = answer.pool.filter(|_| answer.end == End::PoolLimited);
    pool.map_or_else(String::new, |pool| {
        format!(" with {}", format::plural(pool.connections, "connection"))
    })
}

/// Which pool was the limit, and which key holds it.
fn pool_text(answer: &Answer, stopped: &str) -> String {
    let held = match answer.pool.and_then(|pool| pool.unusable) {
        Some(more) => format!("no trial with {more} succeeded"),
        None => "search.max_connections allows no more".to_owned(),
    };
    format!(
        "at {stopped} they were busy and the system was not slower, so they were the limit, and {held}"
    )
}

fn without_level(
    answer: &Answer,
    why: &str,
    trials: &str,
    level: &dyn Fn(f64) -> String,
) -> String {
    let lowest = answer
        .levels
        .first()
        .map_or_else(String::new, |lowest| level(lowest.level));
    match answer.end {
        End::NeverMet => format!(
            "no level holds: the conditions fail even at {lowest}, the minimum of the search{why}; {trials}"
        ),
        End::PoolLimited => format!(
            "nothing can be said{}: {}{why}; {trials}",
            with_pool(answer),
            pool_text(answer, &lowest)
        ),
        End::InstrumentLimited => format!(
            "nothing can be said: the load generator was the limit in {} of {trials}, down to {lowest}{why}",
            answer.limited_trials
        ),
        End::Silent => {
            format!("nothing can be said: trials at {lowest} are no evidence{why}; {trials}")
        }
        End::Unfinished if answer.trials == 0 => {
            "the search has no answer: no trial has run".to_owned()
        }
        End::Unfinished => format!(
            "no level holds so far, down to {lowest}{why}; {trials}, and the search is not finished"
        ),
        End::TrialsSpent | End::Found | End::MetUpToMost => format!(
            "no level holds, down to {lowest}{why}; the search reached its maximum of {trials}"
        ),
    }
}

/// Levels at which some trials held and some did not.
fn mixed_levels_text(answer: &Answer, level: &dyn Fn(f64) -> String) -> String {
    let texts = answer.mixed_levels().map(|seen| {
        let (level, judged) = (level(seen.level), seen.judged_trials());
        format!("; {level} held in {} of {judged} trials", seen.met)
    });
    texts.collect()
}

fn at_place(place: &str, said: &str) -> String {
    let whole = if place.is_empty() {
        said.to_owned()
    } else {
        format!("at {place}, {said}")
    };
    let mut letters = whole.chars();
    let first = letters.next().map(char::to_uppercase);
    first
        .into_iter()
        .flatten()
        .chain(letters)
        .collect::<String>()
        + "."
}

/// A level of what is searched for, with its unit: `3,250/s`, `40 users`.
#[must_use]
pub fn level(kind: LevelKind, level: f64) -> String {
    let number = format::amount(level);
    match kind {
        LevelKind::Rate => format!("{number}/s"),
        LevelKind::Users if number == "1" => "1 user".to_owned(),
        LevelKind::Connections if number == "1" => "1 connection".to_owned(),
        LevelKind::Users | LevelKind::Connections => format!("{number} {kind}"),
    }
}

/// `rate`, `number of users`.
#[must_use]
pub fn noun(kind: LevelKind) -> &'static str {
    match kind {
        LevelKind::Rate => "rate",
        LevelKind::Users => "number of users",
        LevelKind::Connections => "number of connections",
    }
}

/// The highest level that holds; `≥` if the search did not find where it ends.
#[must_use]
pub fn held_level(what: LevelKind, answer: &Answer) -> Option<String> {
    let held = level(what, answer.holds?.level);
    Some(match answer.is_lower_bound() {
        true => format!("≥ {held}"),
        false => held,
    })
}

/// The key of the study that held the level; `None`: the system did, or no key does.
#[must_use]
pub fn limiting_key(answer: &Answer) -> Option<&'static str> {
    match answer.end {
        End::MetUpToMost => Some("search.max"),
        End::PoolLimited => match answer.pool.and_then(|pool| pool.unusable) {
            Some(_) => Some("load.connections"),
            None => Some("search.max_connections"),
        },
        End::TrialsSpent => Some("search.max_trials"),
        End::Found | End::NeverMet | End::InstrumentLimited | End::Silent | End::Unfinished => None,
    }
}

/// Why a search ended, for a table.
pub fn end(end: End) -> &'static str {
    match end {
        End::Found => "found",
        End::MetUpToMost => "holds at the maximum",
        End::NeverMet => "fails at the minimum",
        End::PoolLimited => "connections of the load",
        End::InstrumentLimited => "load generator limit",
        End::Silent => "no evidence at higher levels",
        End::TrialsSpent => "maximum number of trials",
        End::Unfinished => "not finished",
    }
}

/// Why a trial does not show that its level holds.
#[must_use]
pub fn shortfall(shortfall: &Shortfall) -> String {
    match shortfall {
        Shortfall::Reason(reason) => findings::named_reason(reason),
        Shortfall::Condition {
            text: condition,
            unit,
            cell,
        } => match (&cell.reason, cell.observed) {
            (Some(reason), _) => format!("{condition}: {}", conditions::shortcoming(reason, *unit)),
            (None, Some(observed)) => {
                format!("{condition}: it was {}", format::in_unit(observed, *unit))
            }
            (None, None) => condition.clone(),
        },
    }
}

fn trials(count: u32) -> String {
    match count {
        1 => "1 trial".to_owned(),
        other => format!("{} trials", format::count(other)),
    }
}

fn all_of(count: u32) -> String {
    match count {
        1 => "one trial".to_owned(),
        other => format!("{other} of {other} trials"),
    }
}
