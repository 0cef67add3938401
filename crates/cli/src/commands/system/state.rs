//! The state of a system that runs without a study: a folder per system, locked by the process that runs it.
//!
//! `lock` is locked until that process ends, for whatever reason; `up.json` describes the running system. The system writes below
//! `files`. The folder is removed when the system stops.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use waggle_system::host::orphans::kill_processes_of;

use crate::process::folders;

/// `up.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunningSystem {
    pub(super) system: String,
    /// ID of the process that runs it.
    pub(super) pid: u32,
    pub(super) parameters: BTreeMap<String, String>,
    /// Addresses of each endpoint and of each port, `kafka.broker`.
    pub(super) endpoints: BTreeMap<String, Vec<String>>,
    pub(super) ports: BTreeMap<String, Vec<String>>,
    /// Generated secrets; only the owner can read the file.
    pub(super) secrets: BTreeMap<String, String>,
    /// The folder of its certificates and their keys, if it has any.
    pub(super) certificates: Option<PathBuf>,
    pub(super) logs: PathBuf,
}

/// The folder of one system.
#[derive(Debug)]
pub(super) struct State {
    folder: PathBuf,
}

/// Whether the system is running.
#[derive(Debug)]
pub(super) enum SystemStatus {
    /// A process runs it.
    Up,
    /// A process that ended has left files.
    Left,
    /// There are no files of it.
    No,
}

/// The lock of the process that runs a system; the folder is removed when it is dropped.
#[derive(Debug)]
pub(super) struct SystemLock {
    folder: PathBuf,
    _lock: File,
}

impl Drop for SystemLock {
    fn drop(&mut self) {
        // On failure the files are left, and `down` reports the error.
        fs::remove_dir_all(&self.folder).ok();
    }
}

impl State {
    pub(super) fn open(system: &str) -> Result<Self> {
        if system.contains('/') || system.starts_with('.') || system.is_empty() {
            bail!("{system:?} is not a system name");
        }
        let systems = folders::systems()
            .context("no folder for running systems: set HOME or XDG_STATE_HOME")?;
        Ok(Self {
            folder: systems.join(system),
        })
    }

    /// The folder that the system writes to.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    pub(super) fn known_file(&self) -> PathBuf {
        self.folder.join("up.json")
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Locks the folder, and removes files that a killed process left.
    pub(super) fn lock(&self, system: &str) -> Result<SystemLock> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .with_context(|| format!("cannot create {}", self.folder.display()))?;
        let lock = self.lock_file();
        let file =
            File::create(&lock).with_context(|| format!("cannot create {}", lock.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "{system} is up already; `waggle system status {system}` shows its addresses, \
                 `waggle system down {system}` stops it"
            ),
            Err(TryLockError::Error(problem)) => {
                return Err(problem).with_context(|| format!("cannot lock {}", lock.display()));
            }
        }
        let _killed = kill_processes_of(&self.files());
        for left in [self.known_file(), self.files()] {
            let removed = if left.is_dir() {
                fs::remove_dir_all(&left)
            } else if left.exists() {
                fs::remove_file(&left)
            } else {
                Ok(())
            };
            removed.with_context(|| format!("cannot remove {}", left.display()))?;
        }
        Ok(SystemLock {
            folder: self.folder.clone(),
            _lock: file,
        })
    }

    pub(super) fn lock_holder(&self) -> Result<SystemStatus> {
        let lock = self.lock_file();
        let file = match File::open(&lock) {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
                return Ok(SystemStatus::No);
            }
            opened => opened.with_context(|| format!("cannot open {}", lock.display()))?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(SystemStatus::Left),
            Err(TryLockError::WouldBlock) => Ok(SystemStatus::Up),
            Err(TryLockError::Error(problem)) => {
                Err(problem).with_context(|| format!("cannot lock {}", lock.display()))
            }
        }
    }

    /// Kills left processes and removes left files; returns the names of the processes.
    pub(super) fn clear(&self) -> Result<Vec<String>> {
        let killed = kill_processes_of(&self.files());
        fs::remove_dir_all(&self.folder)
            .with_context(|| format!("cannot remove {}", self.folder.display()))?;
        Ok(killed)
    }

    pub(super) fn write(&self, known: &RunningSystem) -> Result<()> {
        let text = serde_json::to_string_pretty(known).context("cannot write up.json")?;
        let (file, part) = (self.known_file(), self.folder.join("up.json.part"));
        fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&part, &file))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// `None`: it is not up yet.
    pub(super) fn read(&self) -> Result<Option<RunningSystem>> {
        let file = self.known_file();
        if !file.exists() {
            return Ok(None);
        }
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let known = serde_json::from_str(&text)
            .with_context(|| format!("cannot parse {}", file.display()))?;
        Ok(Some(known))
    }
}

impl RunningSystem {
    /// The text of `up` and `status`; secrets are named, not shown. `file` is the file of the state.
    pub(super) fn to_text(&self, file: &Path) -> String {
        let mut lines = vec![format!("{} is up, process {}", self.system, self.pid)];
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        if !parameters.is_empty() {
            lines.push(format!("  {}", parameters.join(" ")));
        }
        for (title, addresses) in [("endpoints", &self.endpoints), ("ports", &self.ports)] {
            if !addresses.is_empty() {
                lines.push(title.to_owned());
            }
            for (name, addresses) in addresses {
                lines.push(format!("  {name:<24} {}", addresses.join(" ")));
            }
        }
        if !self.secrets.is_empty() {
            let names: Vec<&str> = self.secrets.keys().map(String::as_str).collect();
            lines.push(format!(
                "secrets {} in {}",
                names.join(", "),
                file.display()
            ));
        }
        if let Some(folder) = &self.certificates {
            lines.push(format!("certificates {}", folder.display()));
        }
        lines.push(format!("logs {}", self.logs.display()));
        lines.join("\n")
    }
}
