//! Where a load's run lies: in a folder of its own below the one for temporary files, gone with the load, or where it is to be kept.
//!
//! A load that was killed cannot remove its folder: the next one does. A load holds a lock on its folder, which ends with its
//! process, so that what nobody holds is known to be abandoned.

use std::{
    cell::OnceCell,
    fs::{self, DirBuilder, File},
    io::{self, Read},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use waggle_runner::RECORDS_FILE_MAX_BYTES;

/// What a body is called that no file of the user's has, and records that came out of a pipe.
const BODY: &str = "body";
const RECORDS: &str = "records";
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
            lock: OnceCell::new(),
        }
    }

    /// The folder of the run; the one around it, if that is temporary, is there.
    ///
    /// # Errors
    /// There is no folder for temporary files that can be written.
    pub(crate) fn run_folder(&self) -> Result<PathBuf> {
        match &self.kept {
            Some(folder) => Ok(folder.clone()),
            None => Ok(self.made()?.join("run")),
        }
    }

    /// Makes the temporary folder, for nobody else to look into.
    fn made(&self) -> Result<&Path> {
        if self.lock.get().is_none() {
            if let Some(around) = self.temporary.parent() {
                remove_abandoned(around);
            }
            let lock = DirBuilder::new()
                .mode(0o700)
                .create(&self.temporary)
                .and_then(|()| File::open(&self.temporary))
                .with_context(|| format!("cannot create {}", self.temporary.display()))?;
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
        let body = self.made()?.join(BODY);
        fs::write(&body, bytes).with_context(|| cannot_write(&body))?;
        Ok(body)
    }

    /// Writes what comes out of a pipe, up to where it is too long for records.
    pub(super) fn make_records(&self, pipe: &str) -> Result<PathBuf> {
        let records = self.made()?.join(RECORDS);
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

    /// The run is over: what it needs to be run again is put beside its study. Tells the folder, if it is kept.
    pub(crate) fn keep(&self, needed: &[Needed]) -> Result<Option<&Path>> {
        let Some(folder) = &self.kept else {
            return Ok(None);
        };
        for Needed { file, name } in needed {
            let to = folder.join(name);
            let parent = to.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::copy(file, &to))
                .with_context(|| cannot_write(&to))?;
        }
        Ok(Some(folder))
    }
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

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed lies among temporary files.
        fs::remove_dir_all(&self.temporary).ok();
    }
}
