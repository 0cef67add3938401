//! Where systems are: `systems/NAME` of the study's folder, of the current one and of the program's, and of the folders above them as
//! far as the repository or the user's home reaches; then what was installed with the program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use waggle_convert::input::question;
use waggle_study::{Source, System, nearest_word};

use crate::{
    inputs::{
        study::read,
        trust::{Objection, Trust, refusal},
    },
    output,
};

/// Why a system has to be trusted.
const STARTS_PROGRAMS: &str = "a system starts programs";

/// The file of a system.
#[derive(Debug, Clone, Default)]
pub(crate) struct SystemFile {
    pub(crate) path: PathBuf,
    /// Why its programs are not started.
    pub(crate) objection: Option<Objection>,
}

/// A system by its name, with its folder. It is one whose programs may be started.
pub(crate) fn system_named(name: &str, trust: &Trust) -> Result<(System, PathBuf)> {
    let here = std::env::current_dir().context("cannot determine the current folder")?;
    let folders = systems_folders(None, &here);
    let Some(file) = find(name, &folders, trust) else {
        let known = names_in(&folders);
        if known.is_empty() {
            bail!(
                "there is no system \"{name}\": no folder systems/ here or above, and none installed with waggle"
            );
        }
        let near = nearest_word(name, known.iter().map(String::as_str));
        bail!(
            "there is no system \"{name}\"; expected {}{}",
            known.join(", "),
            question(near)
        );
    };
    if let Some(objection) = &file.objection {
        return Err(refusal(&file.path, STARTS_PROGRAMS, objection));
    }
    let source = read(&relative_path(&file.path, &here))?;
    let system = waggle_study::read_system(&source)?;
    let folder = file
        .path
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    Ok((system, folder))
}

/// Asks for the system that was meant if there is none of this name here; else empty.
pub(crate) fn meant_system(name: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let known = names_in(&systems_folders(None, &here));
    match known.iter().any(|known| known == name) {
        true => String::new(),
        false => question(nearest_word(name, known.iter().map(String::as_str))),
    }
}

/// The file of the system that a study names.
pub(crate) fn system_file(
    name: &str,
    study: &Source,
    file: &Path,
    trust: &Trust,
) -> Result<SystemFile> {
    let here = std::env::current_dir().context("cannot determine the current folder")?;
    let folders = systems_folders(Some(file), &here);
    match find(name, &folders, trust) {
        Some(file) => Ok(SystemFile {
            path: relative_path(&file.path, &here),
            ..file
        }),
        None => Err(waggle_study::unknown_system(study, &names_in(&folders)).into()),
    }
}

/// The nearest system of this name that is trusted. One that is not is passed over, which is said; it is the result if there is no
/// other.
fn find(name: &str, folders: &[PathBuf], trust: &Trust) -> Option<SystemFile> {
    let mut refused: Vec<SystemFile> = Vec::new();
    for systems in folders {
        let folder = systems.join(name);
        let path = folder.join("system.yaml");
        if !path.is_file() {
            continue;
        }
        match trust.objection(&folder) {
            None => {
                for passed in &refused {
                    if let Some(objection) = &passed.objection {
                        let passed = passed.path.display();
                        output::print_progress(&format!("passed over {passed}: {objection}"));
                    }
                }
                return Some(SystemFile {
                    path,
                    objection: None,
                });
            }
            objection => refused.push(SystemFile { path, objection }),
        }
    }
    refused.into_iter().next()
}

/// The folders that may contain systems, the nearest first.
fn systems_folders(study: Option<&Path>, here: &Path) -> Vec<PathBuf> {
    let study = study.and_then(|study| fs::canonicalize(study).ok());
    let study = study.unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let installed = installed_folder(&program);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in [study.as_path(), here, &program]
        .into_iter()
        .flat_map(|start| searched_folders(start, home.as_deref()))
        .chain(installed.as_deref())
    {
        let systems = folder.join("systems");
        if systems.is_dir() && !folders.contains(&systems) {
            folders.push(systems);
        }
    }
    folders
}

/// A path and the folders above it, up to that of a repository or the user's home.
fn searched_folders<'p>(start: &'p Path, home: Option<&'p Path>) -> impl Iterator<Item = &'p Path> {
    let is_last = move |folder: &Path| folder.join(".git").exists() || Some(folder) == home;
    let mut is_over = false;
    start.ancestors().take_while(move |folder| {
        let is_taken = !is_over;
        is_over |= is_last(folder);
        is_taken
    })
}

/// What was installed with the program `PREFIX/bin/waggle`: `PREFIX/share/waggle`, with `systems` and `studies`.
fn installed_folder(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join("share/waggle"))
}

/// The names of the systems in these folders, sorted.
fn names_in(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(Result::ok);
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("system.yaml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The path of the file, relative to `here` if it is below it.
fn relative_path(file: &Path, here: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_path_buf()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::searched_folders;

    #[test]
    fn the_search_ends_at_the_repository_or_at_home() {
        let folder = tempfile::tempdir().unwrap();
        let study = folder.path().join("home/project/studies/a.yaml");
        fs::create_dir_all(folder.path().join("home/project/studies")).unwrap();
        let home = folder.path().join("home");
        let last = |home: Option<&Path>| {
            let searched = searched_folders(&study, home);
            searched.last().map(Path::to_path_buf).unwrap()
        };
        assert_eq!(last(None), Path::new("/"));
        assert_eq!(last(Some(&home)), home);
        fs::create_dir(folder.path().join("home/project/.git")).unwrap();
        assert_eq!(last(Some(&home)), home.join("project"));
    }
}
