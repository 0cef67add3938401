//! `waggle report`: writes the report of a run again from its files.

use std::path::Path;

use anyhow::{Context, Result};
use waggle_stats::Answer;

use crate::{arguments::Report, exit::Exit, output, table};

pub(crate) fn run(arguments: &Report) -> Result<Exit> {
    let (text, exit) = write_report(&arguments.run)?;
    output::print_result(&format!("{text}\n"))?;
    Ok(exit)
}

/// Writes the report. Returns the closing text for the screen, and the exit code of the run's verdicts and thresholds.
pub(crate) fn write_report(run: &Path) -> Result<(String, Exit)> {
    let written = waggle_report::write_all(run)
        .with_context(|| format!("cannot report on {}", run.display()))?;
    Ok((table::closing_text(&written), exit_of(&written.model)))
}

fn exit_of(model: &waggle_analysis::Model) -> Exit {
    if let Some(find) = &model.search {
        return search_exit(model, find);
    }
    // Cells that have not run do not count.
    let mut ran = model.cells.iter().filter(|cell| cell.verdict.is_some());
    if !ran.all(waggle_analysis::CellModel::is_believed) {
        Exit::NotValid
    } else if model.thresholds.iter().any(|threshold| !threshold.holds) {
        Exit::Threshold
    } else {
        Exit::Fine
    }
}

/// The exit code of a search: no level holds, or its trials are not reliable.
fn search_exit(model: &waggle_analysis::Model, find: &waggle_analysis::SearchModel) -> Exit {
    let answers = || find.cells.iter().map(|search| &search.answer);
    if answers().any(Answer::says_nothing) {
        Exit::NotValid
    } else if answers().any(|answer| answer.holds.is_none())
        || model.thresholds.iter().any(|threshold| !threshold.holds)
    {
        Exit::Threshold
    } else {
        Exit::Fine
    }
}
