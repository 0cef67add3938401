//! Finding the programs a system needs, and asking them for their version.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};
use waggle_results::ComponentInfo;
use waggle_study::{Artifact, Component, Level, System};

use crate::{
    host::environment::limit_environment,
    placeholder::{PlaceholderError, fill},
};

/// Timeout for a program's version.
const VERSION_AT_MOST: Duration = Duration::from_secs(5);
/// Characters of a version that are kept.
const VERSION_MAX: usize = 200;
pub(super) const PREFIX: &str = "program.";

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error(
        "the system's program \"{name}\" is not installed: looked in {} and on PATH",
        folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NotFound { name: String, folders: Vec<PathBuf> },
    #[error(
        "the program \"{name}\" of {artifact} {version} is not installed and was not fetched yet; \
         `waggle system fetch {system}` does that"
    )]
    NotFetched {
        name: String,
        artifact: String,
        version: String,
        system: String,
    },
    #[error("component \"{component}\" has an empty command")]
    Empty { component: String },
}

/// Where programs are searched.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Searched first.
    pub folders: &'a [PathBuf],
    /// Searched second, as in `PATH`.
    pub path: &'a OsStr,
    /// Searched last: fetched artifacts, each version in its own folder.
    pub artifacts: Option<&'a Path>,
}

impl Search<'_> {
    /// The program's absolute path, because components run in other folders.
    pub fn find_installed(&self, name: &str) -> Option<PathBuf> {
        let on_path = std::env::split_paths(self.path);
        look_for(name, self.folders.iter().cloned().chain(on_path))
    }

    /// The path of each program of an artifact: all installed, or all fetched.
    pub fn of_artifact(&self, artifact: &Artifact) -> Option<Vec<PathBuf>> {
        let programs = artifact.programs.iter();
        let installed = programs.clone().map(|name| self.find_installed(name));
        if let Some(installed) = installed.collect() {
            return Some(installed);
        }
        let bin = self.artifacts?.join(folder_name(artifact)).join("bin");
        programs
            .map(|name| look_for(name, std::iter::once(bin.clone())))
            .collect()
    }
}

/// Name of the folder of a fetched artifact below that of all artifacts.
pub fn folder_name(artifact: &Artifact) -> String {
    format!("{}-{}", artifact.name, artifact.version)
}

/// The path of each program of a system.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    found: BTreeMap<String, PathBuf>,
    /// Names of the components that exist in one of the configurations.
    in_use: BTreeSet<String>,
}

impl Programs {
    /// Those of an image.
    pub(super) fn from_paths(paths: &BTreeMap<String, PathBuf>) -> Self {
        Self {
            found: paths.clone(),
            in_use: BTreeSet::new(),
        }
    }

    /// Finds every program that a command names in one of the `configurations`.
    pub fn find<'a>(
        system: &System,
        configurations: impl Iterator<Item = &'a BTreeMap<String, Level>>,
        search: Search<'_>,
    ) -> Result<Self, ProgramError> {
        let mut programs = Self::default();
        // A server that runs already needs no program.
        if system.external.is_some() {
            return Ok(programs);
        }
        for configured in distinct(system, configurations) {
            for component in &configured.components {
                if component.external.is_none() && component.workload.is_none() {
                    for name in names(component)? {
                        programs.add(system, name, search)?;
                    }
                }
                programs.in_use.insert(component.name.clone());
            }
        }
        Ok(programs)
    }

    fn add(
        &mut self,
        system: &System,
        name: String,
        search: Search<'_>,
    ) -> Result<(), ProgramError> {
        if self.found.contains_key(&name) {
            return Ok(());
        }
        if let Some(artifact) = artifact_of(system, &name) {
            let Some(places) = search.of_artifact(artifact) else {
                return Err(ProgramError::NotFetched {
                    name,
                    artifact: artifact.name.clone(),
                    version: artifact.version.clone(),
                    system: system.name.clone(),
                });
            };
            self.found
                .extend(artifact.programs.iter().cloned().zip(places));
            return Ok(());
        }
        let path = search
            .find_installed(&name)
            .ok_or_else(|| ProgramError::NotFound {
                name: name.clone(),
                folders: search.folders.to_vec(),
            })?;
        self.found.insert(name, path);
        Ok(())
    }

    /// The value of `${program.NAME}`.
    pub fn placeholder(&self, name: &str) -> Option<String> {
        let program = self.found.get(name.strip_prefix(PREFIX)?)?;
        Some(program.display().to_string())
    }

    /// A command's first word, as a path if it was searched.
    pub fn path_of(&self, word: &str) -> PathBuf {
        self.found
            .get(word)
            .cloned()
            .unwrap_or_else(|| PathBuf::from(word))
    }

    /// The version of each component's program, and the addresses of external components.
    pub async fn versions(&self, system: &System) -> Vec<ComponentInfo> {
        let mut versions = Vec::new();
        if system.external.is_some() {
            return versions;
        }
        let in_use = |component: &&Component| self.in_use.contains(&component.name);
        for component in system.components.iter().filter(in_use) {
            if let Some(ports) = &component.external {
                versions.push(ComponentInfo {
                    name: component.name.clone(),
                    version: "unknown".to_owned(),
                    external: ports.iter().map(ToString::to_string).collect(),
                });
                continue;
            }
            if let Some(workload) = &component.workload {
                versions.push(ComponentInfo {
                    name: component.name.clone(),
                    version: workload.object.to_string(),
                    external: Vec::new(),
                });
                continue;
            }
            let version = self
                .version(component)
                .await
                .or_else(|| self.fetched_version(system, component))
                .unwrap_or_else(|| "unknown".to_owned());
            versions.push(ComponentInfo {
                name: component.name.clone(),
                version,
                external: Vec::new(),
            });
        }
        versions
    }

    /// The version of a fetched artifact, for a component that does not print its version.
    fn fetched_version(&self, system: &System, component: &Component) -> Option<String> {
        let programs = names(component).ok()?;
        let mut programs = programs.iter();
        let artifact = programs.find_map(|program| artifact_of(system, program))?;
        self.is_fetched(artifact)
            .then(|| format!("{} {}", artifact.name, artifact.version))
    }

    fn is_fetched(&self, artifact: &Artifact) -> bool {
        let first = artifact.programs.first();
        let path = first.and_then(|program| self.found.get(program));
        let folder = path.and_then(|path| path.parent()?.parent()?.file_name());
        folder.is_some_and(|name| name == folder_name(artifact).as_str())
    }

    /// The artifacts whose programs are started in a configuration, each with its version if it was fetched.
    pub fn artifacts(
        &self,
        system: &System,
        parameters: &BTreeMap<String, Level>,
    ) -> Vec<(String, Option<String>)> {
        let mut all = Vec::new();
        for program in started_programs(&system.configure(parameters)) {
            let Some(artifact) = artifact_of(system, &program) else {
                continue;
            };
            let version = self.is_fetched(artifact).then(|| artifact.version.clone());
            let entry = (artifact.name.clone(), version);
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        all
    }

    async fn version(&self, component: &Component) -> Option<String> {
        let known = |text: &str| -> Result<String, PlaceholderError> {
            fill(text, |name| self.placeholder(name))
        };
        if component.process.version_arguments.is_empty() {
            return None;
        }
        let program = known(component.process.command.first()?).ok()?;
        let arguments: Vec<String> = component
            .process
            .version_arguments
            .iter()
            .map(|word| known(word))
            .collect::<Result<_, _>>()
            .ok()?;
        let mut command = Command::new(self.path_of(&program));
        limit_environment(command.as_std_mut(), &component.process.environment_from);
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

/// The components of the system in each configuration, every configuration once.
pub fn distinct<'a>(
    system: &System,
    configurations: impl Iterator<Item = &'a BTreeMap<String, Level>>,
) -> Vec<System> {
    let mut seen = BTreeSet::new();
    configurations
        .filter(|parameters| seen.insert(format!("{parameters:?}")))
        .map(|parameters| system.configure(parameters))
        .collect()
}

/// The artifact that brings a program.
pub fn artifact_of<'a>(system: &'a System, program: &str) -> Option<&'a Artifact> {
    let is_of = |artifact: &&Artifact| artifact.programs.iter().any(|name| name == program);
    system.artifacts.iter().find(is_of)
}

/// The programs of all components of a configured system that are started.
pub fn started_programs(configured: &System) -> impl Iterator<Item = String> {
    let components = configured.components.iter();
    let started =
        components.filter(|component| component.external.is_none() && component.workload.is_none());
    started
        .filter_map(|component| names(component).ok())
        .flatten()
}

/// The programs that a configured component names: those in `${program.…}`, and the command's first word if it is a bare name.
pub fn names(component: &Component) -> Result<Vec<String>, ProgramError> {
    let first = component.process.command.first();
    let first = first.ok_or_else(|| ProgramError::Empty {
        component: component.name.clone(),
    })?;
    let mut names = Vec::new();
    if !first.contains(['/', '$']) {
        names.push(first.clone());
    }
    let of_pairs = |(_, value): &(String, String)| value.clone();
    let environment = component.process.environment.iter().map(of_pairs);
    let files = component.files.iter().map(of_pairs);
    let command = component.process.command.iter().cloned();
    for text in command.chain(environment).chain(files) {
        let mut rest = text.as_str();
        while let Some((_, after)) = rest.split_once("${program.") {
            let (name, next) = after.split_once('}').unwrap_or((after, ""));
            names.push(name.to_owned());
            rest = next;
        }
    }
    Ok(names)
}

fn look_for(name: &str, mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let file =
        folders.find_map(|folder| Some(folder.join(name)).filter(|file| is_program(file)))?;
    std::path::absolute(file).ok()
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}
