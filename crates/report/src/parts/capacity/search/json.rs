//! The answer of the search of each cell.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::Model;
use waggle_stats::Answer;

use super::words::limiting_key;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CellSearch {
    cell: u32,
    /// `rate`, `users` or `connections`.
    maximize: String,
    /// The highest level that held in all of its trials; `null`: none did.
    holds: Option<Tried>,
    /// The lowest level above it that failed; `null`: none did.
    fails: Option<Tried>,
    /// Whether the system may hold more than `holds`: the search did not find where its own limit is.
    is_lower_bound: bool,
    /// The key of the study that held the search at this level, such as `search.max_connections`; `null`: none did.
    limited_by: Option<&'static str>,
    /// The level that half of the trials hold, fitted to all of them; `null`: none held, or none failed.
    fitted: Option<Fitted>,
    /// Connections of the load at the end; `null`: they are the level itself, or not known.
    connections: Option<u32>,
    trials: u32,
    /// Those in which the load generator was the limit.
    instrument_limited_trials: u32,
    /// `found`, or why the search ended otherwise.
    search_ended: &'static str,
}

/// A level, and the trials of it that show whether the system holds it.
#[derive(Debug, Serialize, JsonSchema)]
struct Tried {
    level: f64,
    held: u32,
    failed: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Fitted {
    level: f64,
    /// Of the 95 % interval.
    low: f64,
    high: f64,
    trials: u32,
}

pub(crate) fn searches(model: &Model) -> Vec<CellSearch> {
    let Some(search) = &model.search else {
        return Vec::new();
    };
    let maximize = search.info.maximize.to_string();
    let cells = search.cells.iter();
    cells
        .map(|cell| cell_search(cell.cell, &maximize, &cell.answer))
        .collect()
}

fn cell_search(cell: u32, maximize: &str, answer: &Answer) -> CellSearch {
    CellSearch {
        cell,
        maximize: maximize.to_owned(),
        holds: answer
            .holds
            .and_then(|held| tried_level(answer, held.level)),
        fails: answer.fails.and_then(|level| tried_level(answer, level)),
        is_lower_bound: answer.is_lower_bound(),
        limited_by: limiting_key(answer),
        fitted: answer.fitted_level().map(|fitted| Fitted {
            level: fitted.level,
            low: fitted.low,
            high: fitted.high,
            trials: fitted.trials,
        }),
        connections: answer.pool.map(|pool| pool.connections),
        trials: answer.trials,
        instrument_limited_trials: answer.limited_trials,
        search_ended: answer.end.name(),
    }
}

fn tried_level(answer: &Answer, level: f64) -> Option<Tried> {
    let seen = answer.at_level(level)?;
    Some(Tried {
        level,
        held: seen.met,
        failed: seen.not_met,
    })
}
