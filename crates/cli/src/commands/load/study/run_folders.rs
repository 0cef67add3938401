//! The folders of a load's run: a temporary one, removed after the load, or the one to save the run in. The latter is also
//! removed if it was created here and the load did not run.
//!
//! A killed load cannot remove its temporary folder, so the next load does. A load locks its folder until its process ends; an
//! unlocked folder is abandoned.

use std::{
    cell::{Cell, OnceCell},
    fs::{self, DirBuilder, File},
    io::{self, Read},
    os::unix::fs::DirBuilderExt,
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use waggle_results::{PhaseName, Run, RunFolder, WriteError, private_file};
use waggle_runner::RECORDS_FILE_MAX_BYTES;

/// File names of a body that is in no file of the user, and of records from a pipe.
const BODY: &str = "body";
const RECORDS: &str = "records";
/// The body without its secrets, before it is saved.
const SAVED_BODY: &str = "body.kept";
/// File name of a scenario in a run folder.
pub(in crate::commands::load) const SCENARIO: &str = "scenario.yaml";
/// Reserved names in the folder of a saved run: files of the run, of its report, and those above.
const RESERVED_NAMES: [&str; 16] = [
    ".lock",
    ".system",
    "run.json",
    "run.json.partial",
    "study.yaml",
    "system.yaml",
    "trials",
    "report.html",
    "report.md",
    "report.json",
    "tables.csv",
    "effects.csv",
    "ratios.csv",
    BODY,
    RECORDS,
    SCENARIO,
];
/// Prefix of temporary folders.
const TEMPORARY: &str = "waggle-load-";
/// Minimum age of an abandoned folder; a younger one may not be locked yet.
const LOCKED_AFTER: Duration = Duration::from_secs(60);

/// The folders of a load. The temporary one is removed on drop.
#[derive(Debug)]
pub(crate) struct RunFolders {
    temporary: PathBuf,
    /// Folder of the saved run.
    kept: Option<PathBuf>,
    /// Whether that folder was created here; empty: not needed yet.
    is_new: OnceCell<bool>,
    /// Whether the needed files were copied to the run folder.
    is_whole: Cell<bool>,
    /// The lock of the temporary folder; empty: not created yet.
    lock: OnceCell<File>,
}

/// A file that is needed to repeat a run, and its name in the run folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NeededFile {
    pub(crate) file: PathBuf,
    pub(crate) name: PathBuf,
}

impl RunFolders {
    /// Creates no folder yet.
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

    /// Saves the run in this folder, which was created for it.
    pub(crate) fn in_new(folder: &Path) -> Self {
        let folders = Self::new(Some(folder.to_path_buf()));
        folders.is_new.get_or_init(|| true);
        folders
    }

    /// The folder of the run. A folder to save is created; of a temporary one, its parent.
    ///
    /// # Errors
    /// The folder cannot be created, or the folder for temporary files is not writable.
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

    /// Creates the temporary folder, readable only by its owner.
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
                        "{}; TMPDIR=FOLDER sets another folder for temporary files{}",
                        cannot_create(&self.temporary),
                        match self.kept {
                            Some(_) => "",
                            None => ", and --save=FOLDER saves the run there",
                        }
                    )
                })?;
            // Without support for locks the folder is still removed after the load.
            lock.try_lock().ok();
            self.lock.get_or_init(|| lock);
        }
        Ok(&self.temporary)
    }

    /// The temporary folder.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Whether the run is saved.
    pub(crate) fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Writes a body that is in no file of the user.
    pub(in crate::commands::load) fn make_body(&self, bytes: &[u8]) -> Result<PathBuf> {
        let body = self.create()?.join(BODY);
        private_file::write_file(&body, bytes).with_context(|| cannot_write(&body))?;
        Ok(body)
    }

    /// Writes the version of such a body to save.
    pub(in crate::commands::load) fn make_kept_body(&self, text: &str) -> Result<NeededFile> {
        let file = self.create()?.join(SAVED_BODY);
        private_file::write_file(&file, text).with_context(|| cannot_write(&file))?;
        Ok(NeededFile {
            file,
            name: BODY.into(),
        })
    }

    /// Copies records from a pipe, up to the limit on records files.
    pub(in crate::commands::load) fn make_records(&self, pipe: &str) -> Result<PathBuf> {
        let records = self.create()?.join(RECORDS);
        let read = File::open(pipe).with_context(|| format!("cannot read {pipe}"))?;
        let mut read = read.take(RECORDS_FILE_MAX_BYTES + 1);
        private_file::create_file(&records)
            .and_then(|mut file| io::copy(&mut read, &mut file))
            .with_context(|| format!("cannot copy {pipe} to {}", records.display()))?;
        Ok(records)
    }

    /// Name of a file in the run folder, if it was written here.
    pub(in crate::commands::load) fn name_of<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        file.strip_prefix(&self.temporary).ok()
    }

    /// Copies the needed files to the run folder, if the run is saved.
    ///
    /// # Errors
    /// A file cannot be copied.
    pub(crate) fn keep(&self, needed: &[NeededFile]) -> Result<()> {
        let Some(folder) = self.kept.as_ref().filter(|_| !self.is_whole.get()) else {
            return Ok(());
        };
        for NeededFile { file, name } in needed {
            let to = folder.join(name);
            let parent = to.parent().unwrap_or(folder);
            private_file::create_folder(parent)
                .and_then(|()| private_file::copy_file(file, &to))
                .with_context(|| format!("cannot copy {} to {}", file.display(), to.display()))?;
        }
        self.is_whole.set(true);
        Ok(())
    }

    /// Folder of the saved run.
    pub(crate) fn saved_folder(&self) -> Option<&Path> {
        self.kept.as_deref()
    }

    /// The load has failed: removes its folder if it was created here and the load did not run.
    pub(crate) fn give_up(&self) {
        let Some(folder) = &self.kept else {
            return;
        };
        let is_ours = self.is_new.get().is_some_and(|is_new| *is_new);
        if is_ours && !is_in_use(folder) && !has_load(folder) {
            // Errors are ignored.
            fs::remove_dir_all(folder).ok();
        }
    }
}

/// Whether a file in the run folder may have this name.
pub(in crate::commands::load) fn is_free(name: &Path) -> bool {
    let mut parts = name.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    let first = parts.next();
    first.is_some_and(|first| {
        RESERVED_NAMES
            .iter()
            .all(|taken| !first.eq_ignore_ascii_case(taken))
    })
}

/// Creates a folder; returns whether it is new.
fn make(folder: &Path) -> io::Result<bool> {
    if let Some(around) = folder.parent() {
        fs::create_dir_all(around)?;
    }
    match private_file::create_new_folder(folder) {
        Ok(()) => Ok(true),
        Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Whether another process writes its run here.
fn is_in_use(folder: &Path) -> bool {
    matches!(RunFolder::open(folder), Err(WriteError::Locked { .. }))
}

/// Whether a trial of the run sent requests.
fn has_load(folder: &Path) -> bool {
    let of_load = |trial: &waggle_results::Trial| trial.info.phase(PhaseName::WarmUp).is_some();
    Run::read(folder).is_ok_and(|run| run.trials.iter().any(of_load))
}

/// Removes temporary folders of killed loads.
fn remove_abandoned(around: &Path) {
    for entry in fs::read_dir(around).into_iter().flatten().flatten() {
        let is_of_a_load = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(TEMPORARY.as_bytes());
        if is_of_a_load && is_abandoned(&entry) {
            // Errors are ignored: the folder is temporary.
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Whether no load has locked this folder.
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

impl Drop for RunFolders {
    fn drop(&mut self) {
        // Errors are ignored: the folder is temporary.
        fs::remove_dir_all(&self.temporary).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed_files(file: &Path) -> Vec<NeededFile> {
        vec![NeededFile {
            file: file.to_path_buf(),
            name: "feeds/a.csv".into(),
        }]
    }

    #[test]
    fn needed_files_are_copied_once() {
        let folder = tempfile::tempdir().unwrap();
        let (file, kept) = (folder.path().join("a.csv"), folder.path().join("runs/kept"));
        fs::write(&file, "a").unwrap();
        let folders = RunFolders::new(Some(kept.clone()));
        assert_eq!(folders.run_folder().unwrap(), kept);
        for text in ["later", "later still"] {
            folders.keep(&needed_files(&file)).unwrap();
            assert_eq!(fs::read(kept.join("feeds/a.csv")).unwrap(), b"a");
            fs::write(&file, text).unwrap();
        }
    }

    #[test]
    fn reserved_names_are_refused() {
        let check = |name: &str, free: bool| assert_eq!(is_free(Path::new(name)), free, "{name}");
        check("people.csv", true);
        check("data/run.json", true);
        check("./trials/x.csv", false);
        check("Study.yaml", false);
        check("report.md", false);
        check(".", false);
    }

    #[test]
    fn folder_is_removed_by_the_load_that_created_it() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let failed = || {
            let folders = RunFolders::new(Some(kept.clone()));
            folders.run_folder().unwrap();
            assert!(folders.keep(&needed_files(Path::new("nowhere"))).is_err());
            folders.give_up();
        };
        failed();
        assert!(!kept.exists());
        fs::create_dir(&kept).unwrap();
        failed();
        assert!(kept.exists());
        // Nothing was made.
        RunFolders::new(Some(kept.clone())).give_up();
        assert!(kept.exists());
    }
}
