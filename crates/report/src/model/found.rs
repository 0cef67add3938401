//! What a search found, in a sentence made from its answer and no further than that goes.

use waggle_stats::{Answer, End};

use super::{CellSearch, FindModel};
use crate::text;

impl FindModel {
    /// The answer of one cell as a sentence; `at` names the cell, or nothing.
    #[must_use]
    pub fn sentence(&self, search: &CellSearch, at: &str) -> String {
        sentence(&self.info.what, &search.answer, at)
    }
}

/// An answer as a sentence. `what` is `rate`, `users` or `connections`; `at` names the place, or nothing.
#[must_use]
pub fn sentence(what: &str, answer: &Answer, at: &str) -> String {
    let level = |level: f64| super::level(what, level);
    let place = if at.is_empty() {
        String::new()
    } else {
        format!(" at {at}")
    };
    let trials = trials(answer.trials);
    let Some(held) = answer.holds else {
        return without_level(answer, &place, &level);
    };
    let holds = format!(
        "every condition holds{place} at {} (in {})",
        level(held.level),
        all_of(held.trials)
    );
    let fails = answer
        .fails
        .map(|fails| format!(" and not at {}{}", level(fails), because(answer)))
        .unwrap_or_default();
    let stopped = answer.stopped_at.map_or_else(String::new, level);
    match answer.end {
        End::Found => format!(
            "The highest {} lies between {} and {}: {holds}{fails}; {trials}.",
            noun(what),
            level(held.level),
            answer.fails.map_or_else(String::new, level),
        ),
        End::MetUpToMost => format!(
            "{}, the highest that was to be tried: the limit lies above it; {trials}.",
            capital(&holds)
        ),
        End::InstrumentLimited => format!(
            "{}; at {stopped} the load generator was the limit{}, so that the system may hold more; {trials}.",
            capital(&holds),
            because(answer)
        ),
        End::Silent => format!(
            "{}; trials at {stopped} say nothing{}, which is no evidence that the system cannot; {trials}.",
            capital(&holds),
            because(answer)
        ),
        End::TrialsSpent => format!(
            "{}{fails}; the search ended because its {trials} were all made, so that the answer is wider or less sure than was asked.",
            capital(&holds)
        ),
        End::Unfinished | End::NeverMet => {
            format!(
                "{}{fails}, so far; {trials}, and the search is not finished.",
                capital(&holds)
            )
        }
    }
}

fn without_level(answer: &Answer, place: &str, level: &dyn Fn(f64) -> String) -> String {
    let trials = trials(answer.trials);
    let lowest = answer
        .levels
        .first()
        .map_or_else(String::new, |lowest| level(lowest.level));
    let why = because(answer);
    match answer.end {
        End::NeverMet => format!(
            "No level holds{place}: the conditions are not met even at {lowest}, the lowest that was to be tried{why}; {trials}."
        ),
        End::InstrumentLimited => format!(
            "There is no answer{place}: the load generator was the limit even at {lowest}{why}; {trials}."
        ),
        End::Silent => format!(
            "There is no answer{place}: trials at {lowest} say nothing{why}, which is no evidence that the system cannot; {trials}."
        ),
        End::Unfinished if answer.trials == 0 => {
            format!("There is no answer{place}: no trial of it has run.")
        }
        End::Unfinished => format!(
            "No level holds{place} so far, down to {lowest}{why}; {trials}, and the search is not finished."
        ),
        End::TrialsSpent | End::Found | End::MetUpToMost => format!(
            "No level was found that holds{place}, down to {lowest}{why}; the search ended because its {trials} were all made."
        ),
    }
}

/// `rate`, `number of users`.
pub(crate) fn noun(what: &str) -> String {
    match what {
        "rate" => "rate".to_owned(),
        other => format!("number of {other}"),
    }
}

/// Why a search ended, in a few words for a table.
pub(crate) fn end(end: End) -> &'static str {
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

/// The first reason is enough for a sentence; the table has them all.
fn because(answer: &Answer) -> String {
    answer
        .why
        .first()
        .map(|why| format!(" ({why})"))
        .unwrap_or_default()
}

fn trials(count: u32) -> String {
    match count {
        1 => "1 trial".to_owned(),
        other => format!("{} trials", text::count(other.into())),
    }
}

fn all_of(count: u32) -> String {
    match count {
        1 => "one trial".to_owned(),
        other => format!("all of {other} trials"),
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
