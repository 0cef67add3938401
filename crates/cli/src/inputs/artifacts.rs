//! Where artifacts of a system are, and to which folder they are fetched.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use waggle_system::Fetching;

use crate::process::folders;

/// The folders in which artifacts of a system are searched, and the one to which they are fetched.
pub(crate) fn fetch_locations(system_folder: &Path) -> Result<Fetching> {
    let program = program()?;
    Ok(Fetching {
        system_folder: system_folder.to_path_buf(),
        artifacts_folder: folders::artifacts()
            .context("no cache folder: set HOME or XDG_CACHE_HOME")?,
        program_folders: program
            .parent()
            .map(Path::to_path_buf)
            .into_iter()
            .collect(),
        supervisor: program,
    })
}

fn program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot determine the path of this program")
}
