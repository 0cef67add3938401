//! What a search found, in a sentence made from its answer and no further than that goes.

use waggle_analysis::Shortfall;
use waggle_results::LevelKind;
use waggle_stats::{Answer, End};

use super::{conditions, findings, text};

/// An answer as a sentence, with the first reason why the search went no higher; the table has them all. `at` names the place, or nothing.
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
        .map(|fails| format!(" and not at {}{why}", level(fails)))
        .unwrap_or_default();
    let wavering = mixed_levels_text(answer, &level);
    let said = match answer.end {
        End::Found => format!(
            "the highest {} lies between {} and {}: {holds}{fails}{wavering}; {trials}",
            noun(what),
            level(held.level),
            answer.fails.map_or_else(String::new, level),
        ),
        End::MetUpToMost => format!(
            "{holds}, the highest that was to be tried, so that the limit lies above it{wavering}; {trials}"
        ),
        End::InstrumentLimited => format!(
            "{holds}; at {stopped} the load generator was the limit{why}, so that the system may hold more{wavering}; {trials}"
        ),
        End::Silent => format!(
            "{holds}; trials at {stopped} say nothing{why}, which is no evidence that the system cannot{wavering}; {trials}"
        ),
        End::TrialsSpent => format!(
            "{holds}{fails}{wavering}; the search ended because its {trials} were all made, so that the answer is wider or \
             less sure than was asked"
        ),
        End::Unfinished | End::NeverMet => {
            format!("{holds}{fails}{wavering}, so far; {trials}, and the search is not finished")
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
            "no level holds: the conditions are not met even at {lowest}, the lowest that was to be tried{why}; {trials}"
        ),
        End::InstrumentLimited => format!(
            "there is no answer: the load generator was the limit even at {lowest}{why}; {trials}"
        ),
        End::Silent => format!(
            "there is no answer: trials at {lowest} say nothing{why}, which is no evidence that the system cannot; {trials}"
        ),
        End::Unfinished if answer.trials == 0 => {
            "there is no answer: no trial of it has run".to_owned()
        }
        End::Unfinished => format!(
            "no level holds so far, down to {lowest}{why}; {trials}, and the search is not finished"
        ),
        End::TrialsSpent | End::Found | End::MetUpToMost => format!(
            "no level was found that holds, down to {lowest}{why}; the search ended because its {trials} were all made"
        ),
    }
}

/// Levels at which some trials held and some did not.
fn mixed_levels_text(answer: &Answer, level: &dyn Fn(f64) -> String) -> String {
    answer
        .mixed_levels()
        .map(|seen| {
            let spoke = seen.met + seen.not_met;
            format!("; {} held in {} of {spoke}", level(seen.level), seen.met)
        })
        .collect()
}

fn at_place(at: &str, said: &str) -> String {
    let whole = if at.is_empty() {
        said.to_owned()
    } else {
        format!("at {at} {said}")
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
    let number = text::amount(level);
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

/// Why a search ended, in a few words for a table.
pub fn end(end: End) -> &'static str {
    match end {
        End::Found => "found",
        End::MetUpToMost => "held at the most that was to be tried",
        End::NeverMet => "not met even at the least",
        End::InstrumentLimited => "the load generator was the limit",
        End::Silent => "trials higher up say nothing",
        End::TrialsSpent => "all trials made",
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
            (Some(reason), _) => format!("{of}: {}", conditions::not_counted(reason)),
            (None, Some(observed)) => {
                format!("{of}: it was {}", text::in_unit(observed, *unit))
            }
            (None, None) => of.clone(),
        },
    }
}

fn trials(count: u32) -> String {
    match count {
        1 => "1 trial".to_owned(),
        other => format!("{} trials", text::count(other)),
    }
}

fn all_of(count: u32) -> String {
    match count {
        1 => "one trial".to_owned(),
        other => format!("all of {other} trials"),
    }
}
