//! Two runs against each other, and the runs of a study over time.

use std::{path::PathBuf, sync::Arc};

use super::{
    guard::field,
    reply::{Problem, Reply},
    state::{HistoryScope, State, reading},
};
use crate::runs::row::Row;
use axum::extract::{RawQuery, State as Shared};

/// Runs of a history, the newest ones: all of them are read for it.
const HISTORY_RUNS: usize = 200;

pub(super) async fn compare(
    Shared(state): Shared<Arc<State>>,
    RawQuery(query): RawQuery,
) -> Result<Reply, Problem> {
    let query = query.unwrap_or_default();
    reading(&state, move |state| comparison(state, &query)).await
}

fn comparison(state: &State, query: &str) -> Result<Reply, Problem> {
    let [first, second] = ["first", "second"].map(|key| field(query.as_bytes(), key));
    let (Some(first), Some(second)) = (first, second) else {
        return Err(Problem::mistake(
            "expected two runs: pick one as the first and one as the second in the list",
        ));
    };
    if first == second {
        return Err(Problem::mistake(format!(
            "{first} is on both sides: expected two different runs"
        )));
    }
    let folders = [state.run_folder(&first)?, state.run_folder(&second)?];
    let sides = folders.each_ref().map(|path| &**path);
    let page = (state.backend.compare)(sides, state.site("/"));
    page.map(Reply::document).map_err(Problem::unreadable)
}

pub(super) async fn history(
    Shared(state): Shared<Arc<State>>,
    RawQuery(query): RawQuery,
) -> Result<Reply, Problem> {
    let query = query.unwrap_or_default();
    reading(&state, move |state| history_page(state, &query)).await
}

fn history_page(state: &State, query: &str) -> Result<Reply, Problem> {
    let study = field(query.as_bytes(), "study");
    let study = study.ok_or_else(|| Problem::mistake("expected the name of a study"))?;
    let scope = match field(query.as_bytes(), "hosts").as_deref() {
        None => HistoryScope::EachHost,
        Some("all") => HistoryScope::AllHosts,
        Some(other) => {
            let why = format!("hosts: expected all, and not {other:?}");
            return Err(Problem::mistake(why));
        }
    };
    let (rows, _) = state.rows()?;
    let runs = runs_of_study(state, &rows, &study);
    if runs.is_empty() {
        let folder = state.folder.display();
        return Err(Problem::not_found(format!(
            "{folder} has no run of {study}"
        )));
    }
    let page = (state.backend.history)(&runs, scope, state.site("/"));
    page.map(Reply::document).map_err(Problem::unreadable)
}

/// The newest ones, the oldest of them first. One that has just begun has no results.
fn runs_of_study(state: &State, rows: &[Row], study: &str) -> Vec<PathBuf> {
    let of_study = rows.iter().filter_map(|row| Some((row.run()?, row)));
    let of_study = of_study.filter(|(run, _)| run.study == study && run.trials > 0);
    let mut runs: Vec<_> = of_study
        .map(|(run, row)| (&run.started_utc, &row.name))
        .collect();
    runs.sort();
    let left_out = runs.len().saturating_sub(HISTORY_RUNS);
    let newest = runs.into_iter().skip(left_out);
    newest.map(|(_, name)| state.folder.join(name)).collect()
}
