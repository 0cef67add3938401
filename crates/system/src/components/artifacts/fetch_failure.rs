//! The record of a fetch that failed: a file beside the folders of fetched artifacts, until the next fetch of that version.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use waggle_study::Artifact;

use crate::{components::driver::folder_name, now_utc};

/// `NAME-VERSION.failed.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchFailure {
    pub artifact: String,
    pub version: String,
    pub why: String,
    /// RFC 3339, UTC.
    pub failed_utc: String,
}

impl FetchFailure {
    /// `None` if there is none, or it cannot be read: the artifact then counts as not fetched yet.
    pub fn read(folder: &Path, artifact: &Artifact) -> Option<Self> {
        let text = fs::read_to_string(file(folder, artifact)).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub fn write(folder: &Path, artifact: &Artifact, why: String) -> io::Result<()> {
        let failure = Self {
            artifact: artifact.name.clone(),
            version: artifact.version.clone(),
            why,
            failed_utc: now_utc(),
        };
        let text = serde_json::to_string_pretty(&failure).map_err(io::Error::other)?;
        fs::write(file(folder, artifact), text + "\n")
    }

    pub fn remove(folder: &Path, artifact: &Artifact) -> io::Result<()> {
        match fs::remove_file(file(folder, artifact)) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }
}

pub fn file(folder: &Path, artifact: &Artifact) -> PathBuf {
    folder.join(format!("{}.failed.json", folder_name(artifact)))
}
