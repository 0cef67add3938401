//! Where artifacts of a system are, and to which folder they are fetched.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use waggle_system::Fetching;

use crate::{
    inputs::trust::{Trust, refusal},
    output,
    process::folders,
};

/// The folders in which artifacts of a system are searched, and the one to which they are fetched.
pub(crate) fn fetch_locations(system_folder: &Path, trust: &Trust) -> Result<Fetching> {
    let program = program()?;
    Ok(Fetching {
        system_folder: system_folder.to_path_buf(),
        artifacts_folder: artifacts_folder(trust)?,
        program_folders: program_folders(&program, trust),
        supervisor: program,
    })
}

/// Where fetched artifacts are. Their programs are started, so nobody else may put some there.
pub(crate) fn artifacts_folder(trust: &Trust) -> Result<PathBuf> {
    let folder = folders::artifacts().context("no cache folder: set HOME or XDG_CACHE_HOME")?;
    match trust.objection_to_writing(&folder) {
        None => Ok(folder),
        Some(objection) => Err(refusal(
            &folder,
            "programs of fetched artifacts are started",
            &objection,
        )),
    }
}

/// The same for a run, which goes on without what was fetched, and says so.
pub(crate) fn artifacts_folder_of_run(trust: &Trust) -> Option<PathBuf> {
    let _is_any = folders::artifacts()?;
    match artifacts_folder(trust) {
        Ok(folder) => Some(folder),
        Err(why) => {
            output::print_progress(&why.to_string());
            None
        }
    }
}

/// The folder of this program, in which components' programs are searched, unless others may put some there.
pub(crate) fn program_folders(program: &Path, trust: &Trust) -> Vec<PathBuf> {
    let folder = program.parent().map(Path::to_path_buf);
    match folder
        .as_deref()
        .and_then(|folder| trust.objection_to_place(folder))
    {
        None => folder.into_iter().collect(),
        Some(objection) => {
            let program = program.display();
            output::print_progress(&format!(
                "programs beside {program} are not used: {objection}"
            ));
            Vec::new()
        }
    }
}

fn program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot determine the path of this program")
}
