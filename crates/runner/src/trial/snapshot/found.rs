//! The snapshot with which a trial begins, or which it makes.

use std::path::Path;

use waggle_study::{Cell, System};

use super::{
    Restored, Store,
    key::{Content, key_of},
};
use crate::trial::error::{RunError, io_error};

/// Where prepared systems are kept, and the folders of the systems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshots<'a> {
    pub(crate) store: &'a Path,
    pub(crate) system_folder: &'a Path,
    pub(crate) changed_folder: Option<&'a Path>,
    /// Of the system's pods; `None`: it is processes.
    pub(crate) image: Option<&'a str>,
}

/// The snapshot of a cell's prepared system, as far as there is one.
#[derive(Debug)]
pub(crate) struct FoundSnapshot {
    store: Store,
    key: String,
    pub(crate) restored: Option<Restored>,
    /// Why a snapshot that is there is not used.
    refused: Option<String>,
}

/// The snapshot of a trial's prepared system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SnapshotUse<'a> {
    pub(crate) store: &'a Store,
    pub(crate) key: &'a str,
    /// The snapshot with which the trial begins; `None`: the trial makes it.
    pub(crate) restored: Option<&'a Restored>,
    /// Why a snapshot that is there is not used.
    pub(crate) refused: Option<&'a str>,
}

impl FoundSnapshot {
    /// What was restored of it, if it was.
    pub(crate) fn restored_system(&self) -> Option<&Restored> {
        self.restored.as_ref()
    }

    pub(crate) fn as_use(&self) -> SnapshotUse<'_> {
        SnapshotUse {
            store: &self.store,
            key: &self.key,
            restored: self.restored.as_ref(),
            refused: self.refused.as_deref(),
        }
    }
}

impl Snapshots<'_> {
    /// Copies the snapshot of a cell's prepared system into the folder, if there is one. `None`: the study does not ask for that.
    /// `is_changed`: the system is that of the changed version.
    pub(crate) fn restore(
        self,
        cell: &Cell,
        system: &System,
        is_changed: bool,
        folder: &Path,
    ) -> Result<Option<FoundSnapshot>, RunError> {
        let is_wanted = cell
            .preparation
            .as_ref()
            .is_some_and(|preparation| preparation.snapshot);
        if !is_wanted {
            return Ok(None);
        }
        let system_folder = match is_changed {
            true => self.changed_folder.unwrap_or(self.system_folder),
            false => self.system_folder,
        };
        let key = key_of(Content {
            system,
            system_folder,
            image: self.image,
            cell,
        })
        .map_err(|problem| io_error("read", self.system_folder, problem))?;
        let store = Store::new(self.store);
        let (restored, refused) = match store.restore(&key, cell, folder) {
            Ok(restored) => (restored, None),
            Err(refused) => (None, Some(refused.why)),
        };
        Ok(Some(FoundSnapshot {
            store,
            key,
            restored,
            refused,
        }))
    }
}
