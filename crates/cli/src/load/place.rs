//! Where a load's run lies: in a folder of its own below the one for temporary files, gone with the load, or where it is to be kept.
//! One that is to be kept, and that no load ran in, is removed as well, if it was made here.
//!
//! A load that was killed cannot remove its folder: the next one does. A load holds a lock on its folder, which ends with its
//! process, so that what nobody holds is known to be abandoned.

use std::{
    cell::{Cell, OnceCell},
    fs::{self, DirBuilder, File},
    io::{self, Read},
    os::unix::fs::DirBuilderExt,
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use waggle_results::{PhaseName, Run, RunFolder, WriteError};
use waggle_runner::RECORDS_FILE_MAX_BYTES;

/// What a body is called that no file of the user's has, and records that came out of a pipe.
const BODY: &str = "body";
const RECORDS: &str = "records";
/// A body without its secrets, before it is kept.
const KEPT_BODY: &str = "body.kept";
/// What a scenario is called beside a study.
pub(super) const SCENARIO: &str = "scenario.yaml";
/// Names in a kept run's folder that are not for the user's files: those of the run, of its report, and those above.
const TAKEN: [&str; 14] = [
    ".lock",
    ".system",
    "run.json",
    "run.json.partial",
    "study.yaml",
    "system.yaml",
    "trials",
    "report.html",
    "report.md",
    "tables.csv",
    "effects.csv",
    BODY,
    RECORDS,
    SCENARIO,
];
/// How the names of temporary folders begin.
const TEMPORARY: &str = "waggle-load-";
/// A folder that is younger may not have its lock yet.
const LOCKED_AFTER: Duration = Duration::from_secs(60);

/// The folders of a load. What is temporary goes when this does.
#[derive(Debug)]
pub(crate) struct Place {
    temporary: PathBuf,
    /// Where the run is kept.
    kept: Option<PathBuf>,
    /// Whether that folder was made here; empty: nobody has asked for it yet.
    is_new: OnceCell<bool>,
    /// Whether what the run needs lies beside its study.
    is_whole: Cell<bool>,
    /// The temporary folder, locked; empty: it is not made yet.
    lock: OnceCell<File>,
}

/// A file that a run needs to be run again, and what it is called beside the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) file: PathBuf,
    pub(crate) name: PathBuf,
}

impl Place {
    /// Makes nothing yet.
    pub(crate) fn new(kept: Option<PathBuf>) -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let name = format!(
            "{TEMPORARY}{}-{:x}",
            std::process::id(),
            since_1970.as_nanos()
        );
        Self {
            temporary: std::env::temp_dir().join(name),
            kept,
            is_new: OnceCell::new(),
            is_whole: Cell::new(false),
            lock: OnceCell::new(),
        }
    }

    /// The folder of the run; one that is to be kept is there, and the one around it, if that is temporary.
    ///
    /// # Errors
    /// The folder cannot be made, or there is no folder for temporary files that can be written.
    pub(crate) fn run_folder(&self) -> Result<PathBuf> {
        let Some(folder) = &self.kept else {
            return Ok(self.create()?.join("run"));
        };
        if self.is_new.get().is_none() {
            let is_new = make(folder).with_context(|| cannot_create(folder))?;
            self.is_new.get_or_init(|| is_new);
        }
        Ok(folder.clone())
    }

    /// Makes the temporary folder, for nobody else to look into.
    fn create(&self) -> Result<&Path> {
        if self.lock.get().is_none() {
            if let Some(around) = self.temporary.parent() {
                remove_abandoned(around);
            }
            let lock = DirBuilder::new()
                .mode(0o700)
                .create(&self.temporary)
                .and_then(|()| File::open(&self.temporary))
                .with_context(|| {
                    format!(
                        "{}; TMPDIR=FOLDER names another place for temporary files{}",
                        cannot_create(&self.temporary),
                        match self.kept {
                            Some(_) => "",
                            None => ", and with --save=FOLDER the run lies where it is kept",
                        }
                    )
                })?;
            // A file system without locks: the folder is gone with the load all the same.
            lock.try_lock().ok();
            self.lock.get_or_init(|| lock);
        }
        Ok(&self.temporary)
    }

    /// What is gone with the load.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Whether the run is kept.
    pub(crate) fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Writes a body that no file of the user's has.
    pub(super) fn make_body(&self, bytes: &[u8]) -> Result<PathBuf> {
        let body = self.create()?.join(BODY);
        fs::write(&body, bytes).with_context(|| cannot_write(&body))?;
        Ok(body)
    }

    /// Writes what is kept in place of such a body.
    pub(super) fn make_kept_body(&self, text: &str) -> Result<Needed> {
        let file = self.create()?.join(KEPT_BODY);
        fs::write(&file, text).with_context(|| cannot_write(&file))?;
        Ok(Needed {
            file,
            name: BODY.into(),
        })
    }

    /// Writes what comes out of a pipe, up to where it is too long for records.
    pub(super) fn make_records(&self, pipe: &str) -> Result<PathBuf> {
        let records = self.create()?.join(RECORDS);
        let read = File::open(pipe).with_context(|| format!("cannot read {pipe}"))?;
        let mut read = read.take(RECORDS_FILE_MAX_BYTES + 1);
        File::create(&records)
            .and_then(|mut file| io::copy(&mut read, &mut file))
            .with_context(|| format!("cannot copy {pipe} to {}", records.display()))?;
        Ok(records)
    }

    /// What a file is called beside a study that is kept, if it was made here.
    pub(super) fn name_of<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        file.strip_prefix(&self.temporary).ok()
    }

    /// Puts what the run needs to be run again beside its study, which is there, if it is kept.
    ///
    /// # Errors
    /// A file cannot be copied.
    pub(crate) fn keep(&self, needed: &[Needed]) -> Result<()> {
        let Some(folder) = self.kept.as_ref().filter(|_| !self.is_whole.get()) else {
            return Ok(());
        };
        for Needed { file, name } in needed {
            let to = folder.join(name);
            let parent = to.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::copy(file, &to))
                .with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
        }
        self.is_whole.set(true);
        Ok(())
    }

    /// The folder in which the run is kept.
    pub(crate) fn saved_folder(&self) -> Option<&Path> {
        self.kept.as_deref()
    }

    /// The load has failed: its folder is removed, if it was made here and no load ran in it.
    pub(crate) fn give_up(&self) {
        let Some(folder) = &self.kept else {
            return;
        };
        let is_ours = self.is_new.get().is_some_and(|is_new| *is_new);
        if is_ours && !is_in_use(folder) && !has_load(folder) {
            // What cannot be removed is as it was before.
            fs::remove_dir_all(folder).ok();
        }
    }
}

/// Whether a file of this name can be put beside a study without being in the way of anything.
pub(super) fn is_free(name: &Path) -> bool {
    let mut parts = name.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    let first = parts.next();
    first.is_some_and(|first| TAKEN.iter().all(|taken| !first.eq_ignore_ascii_case(taken)))
}

/// Makes a folder; tells whether it was not there.
fn make(folder: &Path) -> io::Result<bool> {
    if let Some(around) = folder.parent() {
        fs::create_dir_all(around)?;
    }
    match fs::create_dir(folder) {
        Ok(()) => Ok(true),
        Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Whether another waggle writes its run here.
fn is_in_use(folder: &Path) -> bool {
    matches!(RunFolder::open(folder), Err(WriteError::Locked { .. }))
}

/// Whether something was sent in one of the run's trials.
fn has_load(folder: &Path) -> bool {
    let of_load = |trial: &waggle_results::Trial| trial.info.phase(PhaseName::WarmUp).is_some();
    Run::read(folder).is_ok_and(|run| run.trials.iter().any(of_load))
}

/// Removes what loads that were killed have left among temporary files.
fn remove_abandoned(around: &Path) {
    for entry in fs::read_dir(around).into_iter().flatten().flatten() {
        let is_of_a_load = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(TEMPORARY.as_bytes());
        if is_of_a_load && is_abandoned(&entry) {
            // What cannot be removed lies among temporary files.
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Whether no load holds this folder.
fn is_abandoned(entry: &fs::DirEntry) -> bool {
    let age = |metadata: fs::Metadata| metadata.modified().ok()?.elapsed().ok();
    let is_folder = entry.file_type().is_ok_and(|file_type| file_type.is_dir());
    is_folder
        && entry
            .metadata()
            .ok()
            .and_then(age)
            .is_some_and(|age| age >= LOCKED_AFTER)
        && File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok())
}

fn cannot_create(folder: &Path) -> String {
    format!("cannot create {}", folder.display())
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed lies among temporary files.
        fs::remove_dir_all(&self.temporary).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed_files(file: &Path) -> Vec<Needed> {
        vec![Needed {
            file: file.to_path_buf(),
            name: "feeds/a.csv".into(),
        }]
    }

    #[test]
    fn what_is_needed_is_put_beside_the_study_once() {
        let folder = tempfile::tempdir().unwrap();
        let (file, kept) = (folder.path().join("a.csv"), folder.path().join("runs/kept"));
        fs::write(&file, "a").unwrap();
        let place = Place::new(Some(kept.clone()));
        assert_eq!(place.run_folder().unwrap(), kept);
        for text in ["later", "later still"] {
            place.keep(&needed_files(&file)).unwrap();
            assert_eq!(fs::read(kept.join("feeds/a.csv")).unwrap(), b"a");
            fs::write(&file, text).unwrap();
        }
    }

    #[test]
    fn names_of_the_run_are_not_for_files_of_the_user() {
        let check = |name: &str, free: bool| assert_eq!(is_free(Path::new(name)), free, "{name}");
        check("people.csv", true);
        check("data/run.json", true);
        check("./trials/x.csv", false);
        check("Study.yaml", false);
        check("report.md", false);
        check(".", false);
    }

    #[test]
    fn a_folder_is_removed_by_the_load_that_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let failed = || {
            let place = Place::new(Some(kept.clone()));
            place.run_folder().unwrap();
            assert!(place.keep(&needed_files(Path::new("nowhere"))).is_err());
            place.give_up();
        };
        failed();
        assert!(!kept.exists());
        fs::create_dir(&kept).unwrap();
        failed();
        assert!(kept.exists());
        // Nothing was made.
        Place::new(Some(kept.clone())).give_up();
        assert!(kept.exists());
    }
}
