//! `waggle report`: writes the report of a run again from its files.

use std::path::Path;

use anyhow::{Context, Result};
use waggle_analysis::{Conclusion, Model};

use crate::{arguments::Report, exit::Exit, output, table};

pub(crate) fn run(arguments: &Report) -> Result<Exit> {
    let (text, _, exit) = write_report(&arguments.run, arguments.strict)?;
    output::print_result(&format!("{text}\n"))?;
    Ok(exit)
}

/// Writes the report. Returns the closing text for the screen, what the run shows, and the exit code of the run; `is_strict`: every doubt counts.
pub(crate) fn write_report(run: &Path, is_strict: bool) -> Result<(String, Model, Exit)> {
    let written = waggle_report::write_all(run)
        .with_context(|| format!("cannot report on {}", run.display()))?;
    let exit = match written.model.conclusion(is_strict) {
        Conclusion::Answered => Exit::Fine,
        Conclusion::Failed => Exit::Threshold,
        Conclusion::Open => Exit::NotValid,
    };
    let text = table::closing_text(&written);
    Ok((text, written.model, exit))
}
