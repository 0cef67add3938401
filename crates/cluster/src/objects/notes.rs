//! The file that notes what a run made in a cluster. It has no secret: who one is there is read from the kubeconfig again. Its process
//! holds a lock on it, so a file without a lock is that of a run that is over.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::api::{ForeignKind, Kind, Resource};

/// Longest file that is read.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Its process replaces a file with each object that it makes, so what was opened may be its predecessor.
const REPLACED_AT_MOST: u32 = 1000;
/// How the names of files begin that are not written yet.
const HIDDEN: char = '.';

/// Where runs note what they make.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder for all of them; it is made if it is not there.
    pub folder: PathBuf,
    /// The system that is measured: `waggle system down NAME` looks for it.
    pub system: String,
}

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Noted {
    /// `None`: from several files, or from within a pod.
    pub kubeconfig: Option<PathBuf>,
    /// `None`: from within a pod.
    pub context: Option<String>,
    pub server: String,
    pub run: String,
    /// ID of the process that made it.
    pub pid: u32,
    /// Nodes may have cordons of the run, by whose label they are found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_cordons: bool,
    pub made: Vec<Made>,
}

impl Noted {
    pub(super) fn is_empty(&self) -> bool {
        self.made.is_empty() && !self.has_cordons
    }
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Made {
    pub kind: MadeKind,
    pub namespace: Option<String>,
    pub name: String,
    /// Which object of that name it is; `None`: the API's answer is not here, or not here yet.
    pub uid: Option<String>,
}

/// Its kind: one that waggle knows by its name alone, or all that the cluster says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum MadeKind {
    Known(Kind),
    Foreign(ForeignKind),
}

impl MadeKind {
    pub(crate) fn resource(&self) -> Resource<'_> {
        match self {
            Self::Known(kind) => Resource::Known(*kind),
            Self::Foreign(kind) => Resource::Foreign(kind),
        }
    }

    /// As it is written in a manifest.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(kind) => kind.name(),
            Self::Foreign(kind) => &kind.kind,
        }
    }

    /// Whether objects are gone only when their pods are.
    pub(crate) fn may_have_pods(&self) -> bool {
        match self {
            Self::Known(kind) => matches!(kind, Kind::Job | Kind::StatefulSet),
            Self::Foreign(kind) => kind.may_have_pods(),
        }
    }
}

/// A file that this process holds.
#[derive(Debug)]
pub(super) struct Notes {
    path: PathBuf,
    /// Its lock is held as long as it is open.
    file: Option<File>,
}

impl Place {
    pub(super) fn of_system(&self) -> PathBuf {
        self.folder.join(&self.system)
    }
}

impl Notes {
    pub(super) fn new(place: &Place) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        let name = format!("{}-{now:x}.json", std::process::id());
        Self {
            path: place.of_system().join(name),
            file: None,
        }
    }

    /// Replaces the file in one step, or removes it if nothing is noted.
    pub(super) fn write(&mut self, noted: &Noted) -> io::Result<()> {
        if noted.is_empty() {
            return match self.file.take() {
                Some(_) => fs::remove_file(&self.path),
                None => Ok(()),
            };
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        self.file = Some(replace(&self.path, noted)?);
        Ok(())
    }
}

/// Replaces a file in one step; the new one is locked by this process.
pub(super) fn replace(path: &Path, noted: &Noted) -> io::Result<File> {
    let text = serde_json::to_string_pretty(noted)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = path.with_file_name(format!("{HIDDEN}{name}"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&hidden)?;
    file.try_lock()?;
    file.write_all(text.as_bytes())?;
    fs::rename(&hidden, path)?;
    Ok(file)
}

/// The files of a system.
pub(super) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(HIDDEN) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The file, and whether its process still runs. `None`: it is not there any more.
pub(super) fn read(path: &Path) -> io::Result<Option<(Noted, bool)>> {
    let Some((file, is_in_use)) = open(path)? else {
        return Ok(None);
    };
    if file.metadata()?.len() > FILE_MAX_BYTES {
        let why = format!("it is longer than {FILE_MAX_BYTES} bytes");
        return Err(io::Error::other(why));
    }
    let noted = serde_json::from_str(&io::read_to_string(file)?)?;
    Ok(Some((noted, is_in_use)))
}

fn open(path: &Path) -> io::Result<Option<(File, bool)>> {
    for _ in 0..REPLACED_AT_MOST {
        let file = match File::open(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Some((file, true))),
            Err(TryLockError::Error(why)) => return Err(why),
        }
        let inode = file.metadata()?.ino();
        if fs::metadata(path).is_ok_and(|entry| entry.ino() == inode) {
            return Ok(Some((file, false)));
        }
    }
    Err(io::Error::other("it is replaced again and again"))
}
