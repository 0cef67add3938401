//! Writes the reports into the folder of a run. Each file is written completely or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use thiserror::Error;
use waggle_results::{ReadError, Run, private_file};

use super::{document::document, json::report_json, pages, parallel::run_both};
use crate::{
    layout::{document::Document, markdown},
    metric_columns,
    parts::factors::{effects, level_ratios},
};
use waggle_analysis::{Model, model};

/// What was written.
#[derive(Debug, Clone)]
pub struct Written {
    pub model: Model,
    pub html: PathBuf,
    pub markdown: PathBuf,
    pub csv: PathBuf,
    /// For other programs.
    pub json: PathBuf,
    /// If the cells form a complete grid of two or more factors.
    pub effects: Option<PathBuf>,
    /// If the levels of a factor are compared cell by cell.
    pub ratios: Option<PathBuf>,
}

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot write {}: {problem}", path.display())]
    Write { path: PathBuf, problem: io::Error },
}

/// Reads a run and writes `report.html`, `report.md`, `tables.csv`, `report.json` and, if it has them, `effects.csv` and `ratios.csv` into its
/// folder.
///
/// # Errors
/// If the run cannot be read, or a file cannot be written.
pub fn write_all(run_folder: &Path) -> Result<Written, ReportError> {
    let model = model(&Run::read(run_folder)?);
    let written = Written {
        html: run_folder.join("report.html"),
        markdown: run_folder.join("report.md"),
        csv: run_folder.join("tables.csv"),
        json: run_folder.join("report.json"),
        effects: model
            .effects
            .as_ref()
            .map(|_| run_folder.join("effects.csv")),
        ratios: (!model.level_ratios.is_empty()).then(|| run_folder.join("ratios.csv")),
        model,
    };
    // The page takes as long as all the others.
    let document = document(&written.model);
    let (page, others) = run_both(
        || put(&written.html, &pages::page(&document, &written.model)),
        || put_others(&written, &document),
    );
    page.and(others)?;
    Ok(written)
}

fn put_others(written: &Written, document: &Document) -> Result<(), ReportError> {
    put(&written.markdown, &markdown::text(document))?;
    put(&written.csv, &metric_columns::of_document(document))?;
    put(&written.json, &report_json(&written.model))?;
    if let (Some(path), Some(effects)) = (&written.effects, &written.model.effects) {
        put(path, &effects::csv::effects(effects))?;
    }
    if let Some(path) = &written.ratios {
        put(
            path,
            &level_ratios::csv::ratios(&written.model.level_ratios),
        )?;
    }
    Ok(())
}

/// Writes a partial file and renames it, so that an interrupted write leaves the earlier report. On a full disk no part is left.
fn put(path: &Path, text: &str) -> Result<(), ReportError> {
    let partial = partial(path);
    let written =
        private_file::write_file(&partial, text).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        fs::remove_file(&partial).ok();
    }
    written.map_err(|problem| ReportError::Write {
        path: path.to_owned(),
        problem,
    })
}

/// Each file has one of its own: several are written at a time, and two of them differ in their extensions alone.
fn partial(path: &Path) -> PathBuf {
    path.with_added_extension("partial")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{partial, put};

    #[test]
    fn a_file_is_written_while_another_of_its_stem_is() {
        let folder = tempfile::tempdir().unwrap();
        let (page, markdown) = (folder.path().join("r.html"), folder.path().join("r.md"));
        // As another thread leaves it in the middle of its write.
        fs::write(partial(&page), "half a page").unwrap();
        put(&markdown, "whole").unwrap();
        assert_eq!(fs::read_to_string(&markdown).unwrap(), "whole");
        assert_eq!(fs::read_to_string(partial(&page)).unwrap(), "half a page");
        assert_eq!(partial(Path::new("a/r.md")), Path::new("a/r.md.partial"));
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_no_part() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("r.html");
        fs::create_dir(&page).unwrap();
        let text = put(&page, "whole").unwrap_err().to_string();
        assert_eq!(text.matches("os error").count(), 1, "{text}");
        assert!(!partial(&page).exists());
    }
}
