//! The files that a comparison or a history is written to: their flags, their checks, and the writing.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::output;

/// GitHub shows the summary of a step up to this size.
const SUMMARY_MAX_BYTES: usize = 1024 * 1024;

/// Files that a comparison or a history is written to.
#[derive(Debug, Args)]
pub(crate) struct OutputFiles {
    /// Write the comparison or history as a page; of these files, one can be `-`: the standard output of `waggle compare` and `waggle
    /// history`
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write it as Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write it as JSON (`waggle schema compare`, `waggle schema history`)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write it as JUnit XML: a test case for each metric that decides, in each cell, and on each host in a history
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Append it as Markdown to a file, such as $GITHUB_STEP_SUMMARY
    #[arg(long, value_name = "FILE")]
    pub(crate) summary_file: Option<PathBuf>,
}

/// Whether the standard output can be one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandardOutput {
    Free,
    /// It has the result of a run.
    Taken,
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The text of each file, made if the file is asked for.
pub(crate) struct Texts<'a> {
    pub(crate) html: &'a dyn Fn() -> String,
    pub(crate) markdown: &'a dyn Fn() -> String,
    pub(crate) json: &'a dyn Fn() -> String,
    pub(crate) junit: &'a dyn Fn() -> String,
    /// For a summary to which the Markdown is too long.
    pub(crate) short: &'a dyn Fn() -> String,
}

impl OutputFiles {
    /// Refuses files that cannot be written, before anything is read or run.
    ///
    /// # Errors
    /// Two of them are the same file, one is a folder, the folder of one does not exist, or one is `-` and the standard output is
    /// not free for it.
    pub(crate) fn check(&self, stdout: StandardOutput) -> Result<()> {
        let wanted = [
            ("--html", &self.html),
            ("--markdown", &self.markdown),
            ("--json", &self.json),
            ("--junit", &self.junit),
            ("--summary-file", &self.summary_file),
        ];
        for (flag, path) in wanted {
            let is_free = stdout == StandardOutput::Free && flag != "--summary-file";
            if path.as_deref().is_some_and(is_stdout) && !is_free {
                bail!("{flag} -: the result goes to the standard output; expected a file");
            }
        }
        let mut seen: Vec<(&str, &Path)> = Vec::new();
        for (flag, path) in wanted {
            let Some(path) = path.as_deref() else {
                continue;
            };
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == path) {
                bail!("{other} and {flag} name the same file, {}", path.display());
            }
            if path.is_dir() {
                bail!("{flag}: {} is a folder", path.display());
            }
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                bail!("{flag}: there is no folder {}", folder.display());
            }
            seen.push((flag, path));
        }
        Ok(())
    }

    /// Whether one of them goes to the standard output, in place of the text for a terminal.
    pub(crate) fn has_stdout(&self) -> bool {
        let files = [&self.html, &self.markdown, &self.json, &self.junit];
        files.into_iter().flatten().any(|path| is_stdout(path))
    }

    /// Writes each file that is asked for.
    pub(crate) fn write(&self, texts: &Texts<'_>) -> Result<()> {
        let files = [
            (&self.html, texts.html),
            (&self.markdown, texts.markdown),
            (&self.json, texts.json),
            (&self.junit, texts.junit),
        ];
        for (path, text) in files {
            match path {
                Some(path) if is_stdout(path) => output::print_result(&text())?,
                Some(path) => fs::write(path, text())
                    .with_context(|| format!("cannot write {}", path.display()))?,
                None => {}
            }
        }
        match &self.summary_file {
            Some(path) => append(path, &(texts.markdown)(), &format!("{}\n", (texts.short)())),
            None => Ok(()),
        }
    }
}

/// Appends a text to a file that others may append to as well, and the shorter one if that would make it too long.
pub(crate) fn append(path: &Path, text: &str, shorter: &str) -> Result<()> {
    let length = fs::metadata(path).map_or(0, |file| file.len());
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let fits = |text: &&str| length.saturating_add(text.len()) <= SUMMARY_MAX_BYTES;
    let text = [text, shorter].into_iter().find(fits).unwrap_or_default();
    let file = fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot append to {}", path.display()))
}
