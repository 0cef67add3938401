//! Run folders below the folder of runs: a new one, the one to resume, the ones that there are.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_results::private_file;
use waggle_spec::Selection;
use waggle_study::Study;

use crate::process::folders;

/// Runs that an error names.
const NAMED_MAX: usize = 3;

/// The runs in a folder, in the order of their names.
pub(crate) fn runs_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let problem = || format!("cannot read {}", folder.display());
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder).with_context(problem)? {
        let path = entry.with_context(problem)?.path();
        if waggle_results::is_run(&path) {
            runs.push(path);
        }
    }
    runs.sort();
    Ok(runs)
}

/// The newest run of a study below `runs` that was begun with the same part of it: another one could not be resumed.
pub(crate) fn run_to_resume(runs: &Path, study: &Study) -> Result<PathBuf> {
    let prefix = format!("{}-", study.name);
    let is_of_study = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix(&prefix))
            .is_some_and(is_stamp)
    };
    let mut of_study = match runs.exists() {
        true => runs_in(runs)?,
        false => Vec::new(),
    };
    of_study.retain(is_of_study);
    if of_study.is_empty() {
        bail!(
            "nothing to resume: no run of \"{}\" in {}",
            study.name,
            runs.display()
        );
    }
    let selection = study.selection.clone();
    let mut others = Vec::new();
    for run in of_study.into_iter().rev() {
        match waggle_results::run_info(&run) {
            Ok(info) if parts(info.selection.as_ref()) != parts(selection.as_ref()) => {
                let flags = flags(info.selection.as_ref());
                others.push(format!("{} ({flags})", run.display()));
            }
            // Resuming it says what is wrong with it.
            Ok(_) | Err(_) => return Ok(run),
        }
    }
    others.truncate(NAMED_MAX);
    bail!(
        "nothing to resume: no run of \"{}\" in {} has these flags ({}); to resume another, give all of its flags and --resume=FOLDER: {}",
        study.name,
        runs.display(),
        flags(selection.as_ref()),
        others.join(", ")
    )
}

/// The part of the study that was chosen. How many cells the study has is another question: if it was changed, resuming says so.
fn parts(selection: Option<&Selection>) -> Option<(bool, bool, &[String])> {
    selection.map(|selection| (selection.quick, selection.pilot, &selection.filters[..]))
}

/// The flags that choose a part of a study: `--filter a=b --quick`.
fn flags(selection: Option<&Selection>) -> String {
    let Some(selection) = selection else {
        return "neither --filter nor --quick".to_owned();
    };
    let filters = selection.filters.iter();
    let filters = filters.map(|filter| format!("--filter {}", shell_word(filter)));
    let quick = selection.quick.then(|| "--quick".to_owned());
    let pilot = selection.pilot.then(|| "--pilot".to_owned());
    filters
        .chain(quick)
        .chain(pilot)
        .collect::<Vec<_>>()
        .join(" ")
}

/// This folder, if it has a run of the study.
pub(crate) fn run_of_study(folder: &Path, study: &str) -> Result<PathBuf> {
    if !folder.exists() {
        bail!(
            "cannot resume {}: there is no such folder",
            folder.display()
        );
    }
    if !waggle_results::is_run(folder) {
        bail!(
            "{} is not a run: it has no run.json{}",
            folder.display(),
            newest_hint(folder)
        );
    }
    if let Ok(info) = waggle_results::run_info(folder)
        && info.study != study
    {
        bail!(
            "{} is a run of {}, not of {study}",
            folder.display(),
            info.study
        );
    }
    Ok(folder.to_owned())
}

/// What to give in place of a folder that is no run but has runs in it; else empty.
pub(crate) fn newest_hint(folder: &Path) -> String {
    let mut runs = runs_in(folder).unwrap_or_default();
    sort_by_time(&mut runs);
    let newest: Vec<String> = runs
        .iter()
        .rev()
        .take(NAMED_MAX)
        .map(|run| run.display().to_string())
        .collect();
    match newest.is_empty() {
        true => String::new(),
        false => format!("; it has runs in it: {}", newest.join(", ")),
    }
}

/// The newest last.
pub(crate) fn sort_by_time(runs: &mut [PathBuf]) {
    runs.sort_by_cached_key(|run| stamp(run).map(str::to_owned));
}

/// The time in the name of a run's folder.
fn stamp(run: &Path) -> Option<&str> {
    let name = run.file_name()?.to_str()?;
    let starts = name
        .match_indices('-')
        .map(|(position, _)| &name[position + 1..]);
    let mut stamps = starts.filter(|text| is_stamp(text));
    stamps.next()
}

/// Whether a text is a run folder's time, e.g. `20260102T030405Z`, with or without a counter.
fn is_stamp(text: &str) -> bool {
    let stamp = text.split_once('-').map_or(text, |(stamp, _)| stamp);
    stamp.len() == 16 && stamp.ends_with('Z') && stamp.as_bytes()[8] == b'T'
}

/// What helps if the folder of runs cannot be written.
pub(crate) const OTHER_RUNS: &str = "--runs FOLDER has runs written elsewhere";

/// The folder of a new run, which exists already so that no other run has it. It is removed again if nothing was written into it.
#[derive(Debug)]
pub(crate) struct NewRun {
    folder: PathBuf,
    /// The folder of runs, if it was made for this one.
    made: Option<PathBuf>,
}

impl NewRun {
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for NewRun {
    fn drop(&mut self) {
        // A folder with files stays.
        let is_removed = fs::remove_dir(&self.folder).is_ok() || !self.folder.exists();
        if let Some(runs) = self.made.as_ref().filter(|_| is_removed) {
            fs::remove_dir(runs).ok();
        }
    }
}

/// `RUNS/STUDY-UTCTIME`, with a counter if several runs start in the same second.
/// `way_on`: what helps if the folder cannot be made.
pub(crate) fn new_run(runs: &Path, study: &str, way_on: &str) -> Result<NewRun> {
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    create_run(runs, &format!("{study}-{stamp}"), way_on)
}

/// A run of this name, or of one behind it.
pub(crate) fn create_run(runs: &Path, name: &str, way_on: &str) -> Result<NewRun> {
    let cannot_create = |folder: &Path| format!("cannot create {}; {way_on}", folder.display());
    let made = (!runs.exists()).then(|| runs.to_path_buf());
    fs::create_dir_all(runs).with_context(|| cannot_create(runs))?;
    let others = (2..100).map(|count| format!("{name}-{count}"));
    for name in std::iter::once(name.to_owned()).chain(others) {
        let folder = runs.join(name);
        match private_file::create_new_folder(&folder) {
            Ok(()) => return Ok(NewRun { folder, made }),
            Err(problem) if problem.kind() == ErrorKind::AlreadyExists => {}
            Err(problem) => return Err(problem).with_context(|| cannot_create(&folder)),
        }
    }
    bail!(
        "{} has a hundred runs of this second already",
        runs.display()
    )
}

/// It can be deleted: calibration writes it again.
pub(crate) fn calibration_file(runs: &Path) -> PathBuf {
    kept_folder(runs).join("calibration.json")
}

/// What is kept between runs: the user's cache folder, or the folder of the runs if there is none.
pub(crate) fn kept_folder(runs: &Path) -> PathBuf {
    folders::cache().unwrap_or_else(|| runs.to_path_buf())
}

/// A word as a shell reads it: in quotes if it has more than letters, digits and signs without a meaning.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._/=:,+-@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_the_same_second_have_folders_of_their_own() {
        let around = tempfile::tempdir().unwrap();
        let runs = around.path().join("runs");
        let first = create_run(&runs, "s-20260102T030405Z", "").unwrap();
        let second = create_run(&runs, "s-20260102T030405Z", "").unwrap();
        assert_eq!(second.folder(), runs.join("s-20260102T030405Z-2"));
        // A folder with a file stays, an empty one does not.
        fs::write(second.folder().join("run.json"), "{}").unwrap();
        let kept = second.folder().to_owned();
        drop((first, second));
        assert!(kept.join("run.json").is_file());
        assert_eq!(runs_in(&runs).unwrap(), [kept]);
        assert!(!runs.join("s-20260102T030405Z").exists());
    }

    #[test]
    fn a_run_that_did_not_begin_leaves_nothing() {
        let around = tempfile::tempdir().unwrap();
        let runs = around.path().join("runs");
        drop(create_run(&runs, "s-20260102T030405Z", "").unwrap());
        assert!(!runs.exists());
    }
}
