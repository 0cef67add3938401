//! The answer of a search, in a sentence that claims no more than the search showed.

use waggle_analysis::Shortfall;
use waggle_results::LevelKind;
use waggle_stats::{Answer, End};

use super::{conditions, findings, format};

/// An answer as a sentence, with the first reason why the search went no higher; the table has all. `at` names the cell, or is empty.
#[must_use]
pub fn sentence(what: LevelKind, answer: &Answer, why: Option<&str>, at: &str) -> String {
    let level = |at: f64| level(what, at);
    let trials = trials(answer.trials);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let stopped = answer.stopped_at.map_or_else(String::new, level);
    let Some(held) = answer.holds else {
        return at_place(at, &without_level(answer, &why, &trials, &level));
    };
    let holds = format!(
        "every condition holds at {} (in {})",
        level(held.level),
        all_of(held.trials)
    );
    let fails = answer
        .fails
        .map(|fails| format!(", but not at {}{why}", level(fails)))
        .unwrap_or_default();
    let wavering = mixed_levels_text(answer, &level);
    let said = match answer.end {
        End::Found => format!(
            "the highest {} is between {} and {}: {holds}{fails}{wavering}; {trials}",
            noun(what),
            level(held.level),
            answer.fails.map_or_else(String::new, level),
        ),
        End::MetUpToMost => format!(
            "{holds}, the maximum of the search, so the limit is higher{wavering}; {trials}"
        ),
        End::InstrumentLimited => format!(
            "{holds}; at {stopped} the load generator was the limit{why}, so the capacity of the system may be higher{wavering}; {trials}"
        ),
        End::Silent => format!(
            "{holds}; trials at {stopped} are no evidence{why}, so the capacity of the system may be higher{wavering}; {trials}"
        ),
        End::TrialsSpent => format!(
            "{holds}{fails}{wavering}; the search reached its maximum of {trials}, so the answer is less precise or less certain than \
             requested"
        ),
        End::Unfinished | End::NeverMet => {
            format!("{holds}{fails}{wavering} so far; {trials}, and the search is not finished")
        }
    };
    at_place(at, &said)
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
        End::InstrumentLimited => format!(
            "the search has no answer: the load generator was the limit even at {lowest}{why}; {trials}"
        ),
        End::Silent => {
            format!("the search has no answer: trials at {lowest} are no evidence{why}; {trials}")
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
    answer
        .mixed_levels()
        .map(|seen| {
            let judged = seen.met + seen.not_met;
            format!(
                "; {} held in {} of {judged} trials",
                level(seen.level),
                seen.met
            )
        })
        .collect()
}

fn at_place(at: &str, said: &str) -> String {
    let whole = if at.is_empty() {
        said.to_owned()
    } else {
        format!("at {at}, {said}")
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

/// Why a search ended, for a table.
pub fn end(end: End) -> &'static str {
    match end {
        End::Found => "found",
        End::MetUpToMost => "holds at the maximum",
        End::NeverMet => "fails at the minimum",
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
            text: of,
            unit,
            cell,
        } => match (&cell.reason, cell.observed) {
            (Some(reason), _) => format!("{of}: {}", conditions::shortcoming(reason, *unit)),
            (None, Some(observed)) => {
                format!("{of}: it was {}", format::in_unit(observed, *unit))
            }
            (None, None) => of.clone(),
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
