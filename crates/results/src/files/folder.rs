//! The folder of a run while it is written: created whole, locked against a second waggle, resumed.
//!
//! What a trial writes is in `writer`; reading a run for a report is in `read` and needs no lock.

use std::{
    cell::RefCell,
    fs::{self, File},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    AddedTrial, AgentHostInfo, ReadError, RunInfo, TrialKey, WriteError,
    files::{
        disk::{json, sync_folder, write_synced},
        names::{PARTIAL, RUN_FILE, STUDY_FILE, SYSTEM_FILE, TRIALS, folder_name},
        read,
        writer::TrialWriter,
    },
    private_file,
};

const LOCK_FILE: &str = ".lock";
const RUN_PARTIAL: &str = ".run.json.partial";
/// Files that an interrupted creation may leave.
const OF_CREATION: [&str; 5] = [LOCK_FILE, STUDY_FILE, SYSTEM_FILE, RUN_PARTIAL, TRIALS];

/// A run that this process may write to. The lock is released when it is dropped, or with the process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Replaced as a whole, when trials are added.
    info: RefCell<Arc<RunInfo>>,
    _lock: File,
}

impl RunFolder {
    /// Makes the folder of a new run; `run.json` comes last, so that a folder which has it is whole.
    ///
    /// # Errors
    /// If the folder has other files, another waggle writes to it, or writing fails.
    pub fn create(
        path: &Path,
        info: &RunInfo,
        study: &str,
        system: &str,
    ) -> Result<Self, WriteError> {
        if let Some(runs) = path.parent() {
            fs::create_dir_all(runs).map_err(WriteError::io("create", runs))?;
        }
        private_file::create_folder(path).map_err(WriteError::io("create", path))?;
        refuse_occupied(path)?;
        let lock = lock(path)?;
        make_trials_folder(path)?;
        write_synced(&path.join(STUDY_FILE), study.as_bytes())?;
        write_synced(&path.join(SYSTEM_FILE), system.as_bytes())?;
        write_info(path, info)?;
        Ok(Self {
            path: path.to_owned(),
            info: RefCell::new(Arc::new(info.clone())),
            _lock: lock,
        })
    }

    /// Opens the folder of an earlier run, to continue it.
    ///
    /// # Errors
    /// If it is no run, has another format, or another waggle writes to it.
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let info = read::run_info(path)?;
        let lock = lock(path)?;
        make_trials_folder(path)?;
        Ok(Self {
            path: path.to_owned(),
            info: RefCell::new(Arc::new(info)),
            _lock: lock,
        })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of `run.json`.
    #[must_use]
    pub fn info(&self) -> Arc<RunInfo> {
        Arc::clone(&self.info.borrow())
    }

    /// Adds trials to the order of execution, right after the trial `after`, and writes `run.json` with them.
    ///
    /// # Errors
    /// If `after` is not planned, or writing fails.
    pub fn add_trials(&self, added: &[AddedTrial], after: TrialKey) -> Result<(), WriteError> {
        let mut info = RunInfo::clone(&self.info());
        let before = info.order.iter().position(|key| *key == after);
        let index = before.ok_or(WriteError::NotPlanned { key: after })? + 1;
        info.order
            .splice(index..index, added.iter().map(|added| added.key));
        info.added.extend_from_slice(added);
        write_info(&self.path, &info)?;
        self.info.replace(Arc::new(info));
        Ok(())
    }

    /// Notes the hosts that make the load, once they have joined, and whether one of them is the machine of the runner; writes
    /// `run.json` with them.
    ///
    /// # Errors
    /// If writing fails.
    pub fn set_agents(
        &self,
        agents: Vec<AgentHostInfo>,
        is_one_here: bool,
    ) -> Result<(), WriteError> {
        let mut info = RunInfo::clone(&self.info());
        info.agents = agents;
        info.host.shared_with_system &= is_one_here;
        write_info(&self.path, &info)?;
        self.info.replace(Arc::new(info));
        Ok(())
    }

    /// The trials that have a result, in the order of execution; failed ones are results too.
    ///
    /// # Errors
    /// If a result cannot be read.
    pub fn finished_trials(&self) -> Result<Vec<TrialKey>, ReadError> {
        read::finished_trials(&self.path, &self.info())
    }

    /// Whether a trial that ended has no result.
    ///
    /// # Errors
    /// A trial cannot be read.
    pub fn has_failed_trial(&self) -> Result<bool, ReadError> {
        read::has_failed_trial(&self.path, &self.info())
    }

    /// Removes the result of a trial, so that it can run again.
    ///
    /// # Errors
    /// If the trial is not planned, or removing fails.
    pub fn discard(&self, key: TrialKey) -> Result<(), WriteError> {
        let position = self
            .info()
            .position(key)
            .ok_or(WriteError::NotPlanned { key })?;
        let folder = self.path.join(TRIALS).join(folder_name(key, position));
        fs::remove_dir_all(&folder).map_err(WriteError::io("remove", &folder))
    }

    /// Begins a trial: in a hidden folder that gets its name at the end. Remains of an earlier attempt are removed.
    ///
    /// # Errors
    /// If the trial is not planned, already has a result, or writing fails.
    pub fn begin(&self, key: TrialKey) -> Result<TrialWriter, WriteError> {
        let position = self
            .info()
            .position(key)
            .ok_or(WriteError::NotPlanned { key })?;
        TrialWriter::begin(&self.path.join(TRIALS), key, position)
    }
}

/// A run to which no other process writes, until this is dropped.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "it is locked as long as it is open")] File);

impl RunLock {
    /// # Errors
    /// Another waggle writes to the run, or it cannot be locked.
    pub fn take(run: &Path) -> Result<Self, WriteError> {
        lock(run).map(Self)
    }
}

/// Whether a folder is that of a run.
#[must_use]
pub fn is_run(folder: &Path) -> bool {
    folder.join(RUN_FILE).is_file()
}

/// The folders of trials that were begun and not finished. A link in place of their folder may lead anywhere.
#[must_use]
pub fn unfinished_trials(run: &Path) -> Vec<PathBuf> {
    let trials = run.join(TRIALS);
    if trials.is_symlink() {
        return Vec::new();
    }
    let entries = fs::read_dir(trials).into_iter().flatten().flatten();
    let unfinished = entries.filter(is_unfinished);
    let mut folders: Vec<PathBuf> = unfinished.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn is_unfinished(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.as_encoded_bytes();
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    is_folder && name.starts_with(b".") && name.ends_with(PARTIAL.as_bytes())
}

/// A link in its place would lead the results elsewhere.
fn make_trials_folder(path: &Path) -> Result<(), WriteError> {
    let trials = path.join(TRIALS);
    match trials.is_symlink() {
        true => Err(WriteError::Occupied {
            path: path.to_owned(),
        }),
        false => private_file::create_folder(&trials).map_err(WriteError::io("create", &trials)),
    }
}

/// Writes `run.json`; an interruption leaves the earlier one.
fn write_info(path: &Path, info: &RunInfo) -> Result<(), WriteError> {
    let partial = path.join(RUN_PARTIAL);
    write_synced(&partial, &json(&partial, info)?)?;
    let run_file = path.join(RUN_FILE);
    fs::rename(&partial, &run_file).map_err(WriteError::io("rename", &partial))?;
    sync_folder(path)
}

fn refuse_occupied(path: &Path) -> Result<(), WriteError> {
    let occupied = || WriteError::Occupied {
        path: path.to_owned(),
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(WriteError::io("list", path))? {
        names.push(entry.map_err(WriteError::io("list", path))?.file_name());
    }
    let ours = names
        .iter()
        .all(|name| OF_CREATION.iter().any(|known| name == known));
    // The lock shows that the other files are from an interrupted creation, and not the user's.
    let marked = names.iter().any(|name| name == LOCK_FILE);
    if names.is_empty() || (ours && marked) {
        Ok(())
    } else {
        Err(occupied())
    }
}

/// Whether a waggle writes to the run now.
#[must_use]
pub fn is_being_written(path: &Path) -> bool {
    let file = private_file::open_file(&path.join(LOCK_FILE));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

fn lock(path: &Path) -> Result<File, WriteError> {
    let lock_file = path.join(LOCK_FILE);
    if fs::symlink_metadata(&lock_file).is_ok() {
        private_file::refuse_other_than_file(&lock_file)
            .map_err(WriteError::io("open", &lock_file))?;
    }
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&lock_file)
        .map_err(WriteError::io("open", &lock_file))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(WriteError::Locked {
            path: path.to_owned(),
        }),
        Err(fs::TryLockError::Error(problem)) => Err(WriteError::Io {
            attempt: "lock",
            path: lock_file,
            problem,
        }),
    }
}
