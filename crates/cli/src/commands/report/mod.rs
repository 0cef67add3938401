//! `waggle report`: writes the report of a run again from its files.

mod closing;

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow};
use waggle_analysis::Model;
use waggle_report::{ReportError, wording::answer};

use crate::{
    arguments::Report,
    inputs::runs,
    output::{self, result_files::append},
    process::exit::Exit,
};

pub(crate) fn run(arguments: &Report) -> Result<Exit> {
    let (text, model, exit) = write_report(&arguments.run, arguments.strict)?;
    write_checks(
        &model,
        arguments.junit.as_deref(),
        arguments.summary_file.as_deref(),
    )?;
    output::print_text(&format!("{text}\n"))?;
    Ok(exit)
}

/// Writes what continuous integration shows of a run.
pub(crate) fn write_checks(
    model: &Model,
    junit: Option<&Path>,
    summary: Option<&Path>,
) -> Result<()> {
    if let Some(path) = junit {
        fs::write(path, waggle_report::junit(model))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match summary {
        Some(path) => append(
            path,
            &waggle_report::summary(model),
            &format!("{}\n", answer::sentences(model).join(" ")),
        ),
        None => Ok(()),
    }
}

/// Writes the report. Returns the closing text for the screen, what the run shows, and the exit code of the run; `is_strict`:
/// every doubt counts.
pub(crate) fn write_report(run: &Path, is_strict: bool) -> Result<(String, Model, Exit)> {
    let written = waggle_report::write_all(run).map_err(|error| explain(run, &error))?;
    let exit = written.model.conclusion(is_strict).into();
    let text = closing::closing_text(&written);
    Ok((text, written.model, exit))
}

fn explain(run: &Path, error: &ReportError) -> anyhow::Error {
    let shown = run.display();
    match error {
        ReportError::Read(_) if !run.exists() => {
            anyhow!("cannot report on {shown}: there is no such folder")
        }
        ReportError::Read(problem) => {
            anyhow!(
                "cannot report on {shown}: {problem}{}",
                runs::newest_hint(run)
            )
        }
        ReportError::Write { .. } => anyhow!(
            "cannot report on {shown}: {error}; its trials are kept, and `waggle report {shown}` writes their report"
        ),
    }
}
