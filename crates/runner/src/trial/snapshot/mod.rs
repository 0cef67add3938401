//! Prepared systems that are kept on this machine: the folders of their components, as they were after a clean stop.
//!
//! A snapshot is named by its content: the system with all its files, its configuration, and the loads that prepared it. Another
//! version of any of them has another name, so a snapshot is never reused for what it is not. Its files are checked before they are
//! used.

mod beneath;
mod files;
mod found;
mod key;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use waggle_load::KeptRows;
use waggle_results::{LoadInfo, SnapshotInfo, private_file};
use waggle_study::Cell;
use waggle_system::{host::owner::Owner, now_utc, problem::Problem};

use self::files::{Entry, copy_checked, copy_noted};
pub(crate) use self::found::{FoundSnapshot, SnapshotUse, Snapshots};
use crate::load::scenario::Kept;

/// The form of a snapshot; another one is not read.
const FORMAT: u32 = 1;
const MANIFEST: &str = "snapshot.json";
const SYSTEM: &str = "system";
const KEPT: &str = "kept";
/// Before the name of one that is being written; then come the process and a dot.
const PARTIAL: &str = ".partial-";
/// All snapshots together: the ones that were not used for longest are removed if they are larger.
const ALL_MAX_BYTES: u64 = 20 * 1024 * 1024 * 1024;

/// What a snapshot is made of.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: u32,
    key: String,
    made_utc: String,
    bytes: u64,
    /// Below `system`, parents first.
    entries: Vec<Entry>,
    /// The secrets that the components have in their files.
    secrets: BTreeMap<String, String>,
    /// What the loads did that made it.
    loads: Vec<LoadInfo>,
    /// Sessions of each load.
    done: BTreeMap<String, u64>,
    /// The file below `kept` with what each load kept.
    kept: BTreeMap<String, Entry>,
}

/// The snapshots on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Store {
    folder: PathBuf,
}

/// A prepared system that was copied from a snapshot.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) info: SnapshotInfo,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) prepared: Prepared,
    /// What the loads did that made it.
    pub(crate) loads: Vec<LoadInfo>,
}

/// What is kept of a prepared system besides its folders.
#[derive(Debug, Clone)]
pub(crate) struct Contents {
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) prepared: Prepared,
    pub(crate) loads: Vec<LoadInfo>,
}

/// What was done to a system by the loads of a preparation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prepared {
    /// Sessions of each load, by its name.
    pub(crate) done: BTreeMap<String, u64>,
    pub(crate) kept: Kept,
}

/// Why a snapshot that is there was not used.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) why: String,
}

impl Store {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
        }
    }

    /// The folder of a snapshot, which may not exist.
    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.folder.join(key)
    }

    /// Copies a snapshot into a system's folder. `None`: there is none of this key. One that cannot be used is removed.
    pub(crate) fn restore(
        &self,
        key: &str,
        cell: &Cell,
        to: &Path,
    ) -> Result<Option<Restored>, Refused> {
        let folder = self.folder.join(key);
        if !folder.exists() {
            // What is left there costs room only.
            self.remove_partial().ok();
            return Ok(None);
        }
        let restored =
            read_manifest(&folder).and_then(|manifest| restore(manifest, &folder, cell, to));
        match restored {
            Ok(restored) => {
                // The time of its last use.
                let manifest = fs::File::options().write(true).open(folder.join(MANIFEST));
                let touched = manifest.and_then(|file| file.set_modified(SystemTime::now()));
                // Only the order in which snapshots are removed depends on it.
                touched.ok();
                Ok(Some(restored))
            }
            Err(problem) => {
                let removed = fs::remove_dir_all(&folder);
                let and = match removed {
                    Ok(()) => "it was removed, and the system is prepared again".to_owned(),
                    Err(why) => format!("and it cannot be removed: {why}"),
                };
                let folder = folder.display();
                clear(to).map_err(|why| Refused {
                    why: why.to_string(),
                })?;
                Err(Refused {
                    why: format!("the snapshot {folder} cannot be used: {problem}; {and}"),
                })
            }
        }
    }

    /// Keeps a stopped system; older snapshots are removed if all are too large.
    pub(crate) fn keep(
        &self,
        key: &str,
        system: &Path,
        contents: Contents,
    ) -> io::Result<SnapshotInfo> {
        private_file::create_folder(&self.folder)?;
        self.remove_partial()?;
        let partial = self
            .folder
            .join(format!("{PARTIAL}{}.{key}", this_process()));
        let kept = write(&partial, key, system, contents);
        let kept = kept.and_then(|manifest| {
            self.put_in_place(&partial, key)?;
            Ok(manifest.info(false))
        });
        if kept.is_err() {
            // The first problem is the one to report.
            fs::remove_dir_all(&partial).ok();
        }
        let info = kept?;
        self.trim(key)?;
        Ok(info)
    }

    fn put_in_place(&self, partial: &Path, key: &str) -> io::Result<()> {
        let whole = self.folder.join(key);
        if whole.exists() {
            fs::remove_dir_all(&whole)?;
        }
        fs::rename(partial, &whole)
    }

    /// Removes a snapshot.
    pub(crate) fn remove(&self, key: &str) -> io::Result<()> {
        fs::remove_dir_all(self.folder.join(key))
    }

    /// Removes what processes that are gone have left.
    fn remove_partial(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let process = name
                .strip_prefix(PARTIAL)
                .and_then(|rest| rest.split('.').next());
            let owner = process.and_then(Owner::parse);
            let is_left = owner.is_some_and(|owner| owner.has_ended());
            if is_left {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes the snapshots that were not used for longest, until all together are small enough; never the one with this key.
    fn trim(&self, key: &str) -> io::Result<()> {
        let mut all: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        let mut bytes = 0;
        for entry in fs::read_dir(&self.folder)? {
            let folder = entry?.path();
            let Ok(manifest) = read_manifest(&folder) else {
                continue;
            };
            bytes += manifest.bytes;
            if manifest.key != key {
                let used = fs::metadata(folder.join(MANIFEST))?.modified()?;
                all.push((used, manifest.bytes, folder));
            }
        }
        all.sort();
        for (_, size, folder) in all {
            if bytes <= ALL_MAX_BYTES {
                break;
            }
            fs::remove_dir_all(folder)?;
            bytes -= size;
        }
        Ok(())
    }
}

/// As it is named in what it has not completed.
fn this_process() -> String {
    Owner::of_this_process().map_or_else(|| "unknown".to_owned(), |owner| owner.to_string())
}

impl Manifest {
    fn info(&self, is_reused: bool) -> SnapshotInfo {
        SnapshotInfo {
            key: self.key.clone(),
            made_utc: self.made_utc.clone(),
            bytes: self.bytes,
            is_reused,
        }
    }
}

fn read_manifest(folder: &Path) -> Result<Manifest, Problem> {
    let file = folder.join(MANIFEST);
    let text = fs::read(&file).map_err(|why| format!("{MANIFEST} cannot be read: {why}"))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|why| format!("{MANIFEST} is damaged: {why}"))?;
    let name = folder.file_name().unwrap_or_default();
    match manifest {
        Manifest { format, .. } if format != FORMAT => Err(Problem(format!(
            "it has format {format}, and this version reads {FORMAT}"
        ))),
        Manifest { ref key, .. } if key.as_str() != name => {
            Err(Problem(format!("{MANIFEST} is of another one: {key}")))
        }
        manifest => Ok(manifest),
    }
}

fn restore(manifest: Manifest, folder: &Path, cell: &Cell, to: &Path) -> Result<Restored, Problem> {
    copy_checked(&manifest.entries, &folder.join(SYSTEM), to)?;
    let mut prepared = Prepared {
        done: manifest.done.clone(),
        ..Prepared::default()
    };
    for (load, entry) in &manifest.kept {
        let bytes = entry.read(&folder.join(KEPT))?;
        let rows = KeptRows::from_bytes(&bytes)
            .ok_or_else(|| format!("{KEPT}/{} is damaged", entry.path()))?;
        prepared.kept.insert(load.clone(), Arc::new(rows));
    }
    let loads = cell
        .preparation
        .iter()
        .flat_map(|preparation| &preparation.loads);
    for load in loads {
        let done = prepared.done.get(load.name()).copied().unwrap_or(0);
        if done != load.sessions {
            return Err(Problem(format!(
                "{done} sessions of \"{}\" are in it, and not {}",
                load.name(),
                load.sessions
            )));
        }
    }
    Ok(Restored {
        info: manifest.info(true),
        loads: manifest.loads,
        secrets: manifest.secrets,
        prepared,
    })
}

fn write(partial: &Path, key: &str, system: &Path, contents: Contents) -> io::Result<Manifest> {
    let Contents {
        secrets,
        prepared,
        loads,
    } = contents;
    private_file::create_new_folder(partial)?;
    let to = partial.join(SYSTEM);
    private_file::create_new_folder(&to)?;
    let entries = copy_noted(system, &to)?;
    let mut kept = BTreeMap::new();
    let kept_folder = partial.join(KEPT);
    private_file::create_new_folder(&kept_folder)?;
    for (number, (load, rows)) in prepared.kept.iter().enumerate() {
        let entry = Entry::write(&kept_folder, &number.to_string(), &rows.to_bytes())?;
        kept.insert(load.clone(), entry);
    }
    let bytes = entries.iter().chain(kept.values()).map(Entry::bytes).sum();
    let manifest = Manifest {
        format: FORMAT,
        key: key.to_owned(),
        made_utc: now_utc(),
        bytes,
        entries,
        secrets,
        loads,
        done: prepared.done,
        kept,
    };
    let text = serde_json::to_vec(&manifest)?;
    private_file::write_file(&partial.join(MANIFEST), &text)?;
    Ok(manifest)
}

/// Removes what is in a folder.
fn clear(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    private_file::create_folder(folder)
}

#[cfg(test)]
mod tests;
