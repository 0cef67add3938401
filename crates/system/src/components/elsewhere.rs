//! What of this machine a system needs to be started elsewhere: the artifacts and programs that its components name.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::PathBuf,
};

use waggle_study::{Artifact, Level, System};

use crate::components::{
    artifacts::Fetching,
    driver::{ProgramError, Search, artifact_of, distinct, folder_name, names},
};

/// A fetched artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedArtifact {
    pub artifact: Artifact,
    /// With its programs in `bin`.
    pub folder: PathBuf,
}

/// What a system needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NeededFiles {
    pub fetched: Vec<FetchedArtifact>,
    /// Neither fetched nor installed.
    pub missing: Vec<Artifact>,
    /// Programs that are installed, by name.
    pub programs: BTreeMap<String, PathBuf>,
    /// Variables that components have from waggle's environment.
    pub variables: BTreeSet<String>,
}

/// What the components of a system need in these configurations; without any: in all. What was fetched comes before what is installed,
/// because all of it is in one folder.
///
/// # Errors
/// A program is not installed that no artifact brings.
pub fn needed_files(
    system: &System,
    configurations: &[BTreeMap<String, Level>],
    fetching: &Fetching,
) -> Result<NeededFiles, ProgramError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = fetching.folders();
    let installed = Search {
        folders: &folders,
        path: &path,
        artifacts: None,
    };
    let fetched = Search {
        folders: &[],
        path: OsStr::new(""),
        artifacts: Some(&fetching.artifacts_folder),
    };
    let mut needed = NeededFiles::default();
    let mut names_seen = BTreeSet::new();
    for configured in configured_systems(system, configurations) {
        let components = configured.components.iter();
        for component in components.filter(|component| component.external.is_none()) {
            let variables = component.process.environment_from.iter();
            needed.variables.extend(variables.cloned());
            names_seen.extend(names(component)?);
        }
    }
    for name in names_seen {
        let Some(artifact) = artifact_of(system, &name) else {
            let program = installed.find_installed(&name);
            let program = program.ok_or_else(|| ProgramError::NotFound {
                name: name.clone(),
                folders: folders.clone(),
            })?;
            needed.programs.insert(name, program);
            continue;
        };
        if fetched.of_artifact(artifact).is_some() {
            let folder = fetching.artifacts_folder.join(folder_name(artifact));
            let entry = FetchedArtifact {
                artifact: artifact.clone(),
                folder,
            };
            if !needed.fetched.contains(&entry) {
                needed.fetched.push(entry);
            }
        } else if let Some(programs) = installed.of_artifact(artifact) {
            let programs = artifact.programs.iter().cloned().zip(programs);
            needed.programs.extend(programs);
        } else if !needed.missing.contains(artifact) {
            needed.missing.push(artifact.clone());
        }
    }
    Ok(needed)
}

/// The system in each configuration; without any: once, with all components and all words of their commands.
fn configured_systems(system: &System, configurations: &[BTreeMap<String, Level>]) -> Vec<System> {
    if !configurations.is_empty() {
        return distinct(system, configurations.iter());
    }
    let mut whole = system.clone();
    for component in &mut whole.components {
        let arguments = std::mem::take(&mut component.process.arguments);
        let words = arguments.into_iter().flat_map(|arguments| arguments.add);
        component.process.command.extend(words);
    }
    vec![whole]
}
