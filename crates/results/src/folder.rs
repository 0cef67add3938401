//! The folder of a run while it is written: created whole, locked against a second waggle, resumed.
//!
//! What a trial writes is in `writer`; reading a run for a report is in `read` and needs no lock.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

use crate::{ReadError, RunInfo, TrialKey, read, writer::TrialWriter};

pub(crate) const RUN_FILE: &str = "run.json";
pub(crate) const STUDY_FILE: &str = "study.yaml";
pub(crate) const SYSTEM_FILE: &str = "system.yaml";
pub(crate) const TRIALS: &str = "trials";
const LOCK_FILE: &str = ".lock";
const RUN_PARTIAL: &str = ".run.json.partial";
/// What a creation that was cut short may have left behind.
const OF_CREATION: [&str; 5] = [LOCK_FILE, STUDY_FILE, SYSTEM_FILE, RUN_PARTIAL, TRIALS];

/// Why something could not be put on disk.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("cannot {attempt} {}: {source}", path.display())]
    Io {
        attempt: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} holds something already; a run needs a folder of its own", path.display())]
    Occupied { path: PathBuf },
    #[error("another waggle is writing {}", path.display())]
    Locked { path: PathBuf },
    #[error("{key} is not in the plan of this run")]
    NotPlanned { key: TrialKey },
    #[error("{key} has its result already, in {}", path.display())]
    AlreadyFinished { key: TrialKey, path: PathBuf },
    /// Our bug: what was to be written could not be read again, such as a number that is not finite.
    #[error("refusing to write to {} what could not be read again: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("an interval was written to {} before the load was said to have started", path.display())]
    NotStarted { path: PathBuf },
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl WriteError {
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io {
            attempt,
            path,
            source,
        }
    }
}

/// A run that this process may write to. The lock goes when it is dropped, or with the process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    info: RunInfo,
    _lock: File,
}

impl RunFolder {
    /// Makes the folder of a new run; `run.json` comes last, so that a folder which has it is whole.
    ///
    /// # Errors
    /// Where the folder holds something else already, another waggle writes it, or the disk refuses.
    pub fn create(
        path: &Path,
        info: &RunInfo,
        study: &str,
        system: &str,
    ) -> Result<Self, WriteError> {
        fs::create_dir_all(path).map_err(WriteError::io("create", path))?;
        refuse_occupied(path)?;
        let lock = lock(path)?;
        let trials = path.join(TRIALS);
        fs::create_dir_all(&trials).map_err(WriteError::io("create", &trials))?;
        write_synced(&path.join(STUDY_FILE), study.as_bytes())?;
        write_synced(&path.join(SYSTEM_FILE), system.as_bytes())?;
        let partial = path.join(RUN_PARTIAL);
        write_synced(&partial, &json(&partial, info)?)?;
        let run_file = path.join(RUN_FILE);
        fs::rename(&partial, &run_file).map_err(WriteError::io("rename", &partial))?;
        sync_folder(path)?;
        Ok(Self {
            path: path.to_owned(),
            info: info.clone(),
            _lock: lock,
        })
    }

    /// Opens the folder of a run that was begun earlier, to do what is left of it.
    ///
    /// # Errors
    /// Where it is no run, is of a newer format, or another waggle writes it.
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let info = read::run_info(path)?;
        let lock = lock(path)?;
        let trials = path.join(TRIALS);
        fs::create_dir_all(&trials).map_err(WriteError::io("create", &trials))?;
        Ok(Self {
            path: path.to_owned(),
            info,
            _lock: lock,
        })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `run.json` says.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// The trials that have a result, in the order of execution; failed ones are results too.
    ///
    /// # Errors
    /// Where a result cannot be read.
    pub fn finished(&self) -> Result<Vec<TrialKey>, ReadError> {
        read::finished(&self.path, &self.info)
    }

    /// Begins a trial: in a hidden folder that gets its name at the end. What an earlier attempt left is removed.
    ///
    /// # Errors
    /// Where the trial is not planned, has a result already, or the disk refuses.
    pub fn begin(&self, key: TrialKey) -> Result<TrialWriter, WriteError> {
        let position = self
            .info
            .position(key)
            .ok_or(WriteError::NotPlanned { key })?;
        TrialWriter::begin(&self.path.join(TRIALS), key, position)
    }
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
    // The lock is the mark that the other files are from a creation that was cut short, and not the user's.
    let marked = names.iter().any(|name| name == LOCK_FILE);
    if names.is_empty() || (ours && marked) {
        Ok(())
    } else {
        Err(occupied())
    }
}

fn lock(path: &Path) -> Result<File, WriteError> {
    let lock_file = path.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .append(true)
        .open(&lock_file)
        .map_err(WriteError::io("open", &lock_file))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(WriteError::Locked {
            path: path.to_owned(),
        }),
        Err(fs::TryLockError::Error(source)) => Err(WriteError::Io {
            attempt: "lock",
            path: lock_file,
            source,
        }),
    }
}

/// Pretty JSON that is known to be readable again.
pub(crate) fn json<T: Serialize + DeserializeOwned>(
    path: &Path,
    value: &T,
) -> Result<Vec<u8>, WriteError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice::<T>(&text).map_err(|error| unreadable(path, &error))?;
    text.push(b'\n');
    Ok(text)
}

pub(crate) fn unreadable(path: &Path, error: &serde_json::Error) -> WriteError {
    WriteError::Unreadable {
        path: path.to_owned(),
        problem: error.to_string(),
    }
}

/// Writes a file and waits until the disk has it.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = File::create(path).map_err(WriteError::io("create", path))?;
    file.write_all(bytes)
        .map_err(WriteError::io("write", path))?;
    file.sync_all().map_err(WriteError::io("sync", path))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), WriteError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(WriteError::io("sync", path))
}
