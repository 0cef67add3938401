//! `waggle report`: the three pages anew from a run's files.

use std::path::Path;

use anyhow::{Context, Result};
use waggle_report::words;

use crate::{arguments::Report, exit::Exit, table};

#[expect(clippy::print_stdout, reason = "the table is this command's output")]
pub(crate) fn run(arguments: &Report) -> Result<Exit> {
    let (text, exit) = written(&arguments.run)?;
    println!("{text}");
    Ok(exit)
}

/// Writes the pages; the closing text for the screen, and the exit code that the run's verdicts and thresholds ask for.
pub(crate) fn written(run: &Path) -> Result<(String, Exit)> {
    let written = waggle_report::write_all(run)
        .with_context(|| format!("cannot report on {}", run.display()))?;
    Ok((table::closing(&written), exit_of(&written.model)))
}

fn exit_of(model: &waggle_report::Model) -> Exit {
    let believed =
        |cell: &waggle_report::CellModel| cell.verdict.is_none_or(words::may_be_believed);
    if !model.cells.iter().all(believed) {
        Exit::NotValid
    } else if model.thresholds.iter().any(|threshold| !threshold.holds) {
        Exit::Threshold
    } else {
        Exit::Fine
    }
}
