//! Finding the programs a system needs, and asking them for their version.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};
use waggle_results::ComponentInfo;
use waggle_study::{Component, System};

use crate::placeholder::{PlaceholderError, fill};

/// A program must tell its version within this time.
const VERSION_AT_MOST: Duration = Duration::from_secs(5);
/// Characters of a version that are kept.
const VERSION_MAX: usize = 200;
const PREFIX: &str = "program.";

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error(
        "the system's program \"{name}\" is not installed: looked in {} and on PATH",
        folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NotFound { name: String, folders: Vec<PathBuf> },
    #[error("component \"{component}\" has an empty command")]
    Empty { component: String },
}

/// Where each program of a system lies.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    found: BTreeMap<String, PathBuf>,
}

impl Programs {
    /// Finds every program that a command names, in `folders` first, then on `path` (as in `PATH`).
    pub(crate) fn find(
        system: &System,
        folders: &[PathBuf],
        path: &OsStr,
    ) -> Result<Self, ProgramError> {
        let mut found = BTreeMap::new();
        // What runs already is not looked for.
        let started = match &system.external {
            Some(_) => &[][..],
            None => &system.components[..],
        };
        for component in started {
            for name in names(component)? {
                let place =
                    look_for(&name, folders, path).ok_or_else(|| ProgramError::NotFound {
                        name: name.clone(),
                        folders: folders.to_vec(),
                    })?;
                found.insert(name, place);
            }
        }
        Ok(Self { found })
    }

    /// The value of `${program.NAME}`.
    pub(crate) fn placeholder(&self, name: &str) -> Option<String> {
        let program = self.found.get(name.strip_prefix(PREFIX)?)?;
        Some(program.display().to_string())
    }

    /// A command's first word, as a path where it was looked for.
    pub(crate) fn path_of(&self, word: &str) -> PathBuf {
        self.found
            .get(word)
            .cloned()
            .unwrap_or_else(|| PathBuf::from(word))
    }

    /// What each component's program says of its version.
    pub(crate) async fn versions(&self, system: &System) -> Vec<ComponentInfo> {
        let mut versions = Vec::new();
        if system.external.is_some() {
            return versions;
        }
        for component in &system.components {
            let version = self
                .version(component)
                .await
                .unwrap_or_else(|| "unknown".to_owned());
            versions.push(ComponentInfo {
                name: component.name.clone(),
                version,
            });
        }
        versions
    }

    async fn version(&self, component: &Component) -> Option<String> {
        let known = |text: &str| -> Result<String, PlaceholderError> {
            fill(text, |name| self.placeholder(name))
        };
        if component.process.version.is_empty() {
            return None;
        }
        let program = known(component.process.command.first()?).ok()?;
        let arguments: Vec<String> = component
            .process
            .version
            .iter()
            .map(|word| known(word))
            .collect::<Result<_, _>>()
            .ok()?;
        let mut command = Command::new(self.path_of(&program));
        command
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = timeout(VERSION_AT_MOST, command.output())
            .await
            .ok()?
            .ok()?;
        let text = if output.stdout.is_empty() {
            output.stderr
        } else {
            output.stdout
        };
        let line = String::from_utf8_lossy(&text)
            .lines()
            .next()?
            .trim()
            .chars()
            .take(VERSION_MAX)
            .collect();
        Some(line)
    }
}

/// The programs a component's command names: those in `${program.…}`, and its first word where it is a bare name.
fn names(component: &Component) -> Result<Vec<String>, ProgramError> {
    let first = component.process.command.first();
    let first = first.ok_or_else(|| ProgramError::Empty {
        component: component.name.clone(),
    })?;
    let mut names = Vec::new();
    if !first.contains(['/', '$']) {
        names.push(first.clone());
    }
    let environment = component.process.environment.iter().map(|(_, value)| value);
    for text in component.process.command.iter().chain(environment) {
        let mut rest = text.as_str();
        while let Some((_, after)) = rest.split_once("${program.") {
            let (name, next) = after.split_once('}').unwrap_or((after, ""));
            names.push(name.to_owned());
            rest = next;
        }
    }
    Ok(names)
}

/// The program's absolute path: components run in folders of their own.
fn look_for(name: &str, folders: &[PathBuf], path: &OsStr) -> Option<PathBuf> {
    let on_path = std::env::split_paths(path);
    let mut places = folders.iter().cloned().chain(on_path);
    let file = places.find_map(|folder| Some(folder.join(name)).filter(|file| is_program(file)))?;
    std::path::absolute(file).ok()
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}
