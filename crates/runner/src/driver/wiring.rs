//! How the replicas of a trial's system are told of each other: commands and environments with every `${…}` filled.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use waggle_study::Component;

use crate::{
    cpus,
    driver::{Failure, Setup, child::Launch, ports::Ports, program::Programs},
    placeholder::fill,
};

/// Replicas of one component.
const REPLICAS_MAX: u32 = 256;

/// What a replica's strings may speak of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wiring<'a> {
    pub(super) ports: &'a Ports,
    pub(super) programs: &'a Programs,
    pub(super) setup: Setup<'a>,
}

/// How many replicas a component has in a trial.
pub(super) fn replicas(component: &Component, setup: Setup<'_>) -> Result<u32, Failure> {
    let value = |name: &str| setup.cell.parameters.get(name).map(ToString::to_string);
    let text = fill(&component.replicas, value).map_err(|why| Failure::new(why.to_string()))?;
    match text.parse() {
        Ok(count @ 1..=REPLICAS_MAX) => Ok(count),
        _ => Err(Failure::new(format!(
            "component \"{}\" wants \"{text}\" replicas; expected 1 to {REPLICAS_MAX}",
            component.name
        ))),
    }
}

impl Wiring<'_> {
    /// Everything that is needed to start a replica; its folder is made.
    pub(super) fn launch(
        &self,
        component: &Component,
        number: u32,
        supervisor: &Path,
        cpus: &[usize],
    ) -> Result<Launch, Failure> {
        let replica = format!("{}-{number}", component.name);
        let folder = self.setup.folder.join(&replica);
        fs::create_dir_all(&folder)
            .map_err(|why| Failure::new(format!("cannot create {}: {why}", folder.display())))?;
        let value = |name: &str| self.value(component, number, &folder, name);
        let filled = |text: &String| fill(text, value).map_err(|why| Failure::new(why.to_string()));
        let mut command: Vec<OsString> = Vec::new();
        for word in &component.process.command {
            command.push(filled(word)?.into());
        }
        if let Some(program) = command.first_mut() {
            *program = self.programs.path_of(&program.to_string_lossy()).into();
        }
        let mut environment = Vec::new();
        for (name, text) in &component.process.environment {
            environment.push((name.clone(), filled(text)?));
        }
        Ok(Launch {
            log: self.setup.logs.join(format!("{replica}.log")),
            supervisor: PathBuf::from(supervisor),
            cpus: cpus::written(cpus),
            replica,
            command,
            environment,
            folder,
        })
    }

    /// What stands for `${name}` in a replica's strings.
    fn value(&self, of: &Component, number: u32, folder: &Path, name: &str) -> Option<String> {
        if name == "dir" {
            return Some(folder.display().to_string());
        }
        if name == "replica" {
            return Some(number.to_string());
        }
        let (component, number, port) = match name.split_once("port.") {
            Some(("", port)) => (of.name.as_str(), number, port),
            Some((component, port)) if component.ends_with('.') => {
                (component.trim_end_matches('.'), 0, port)
            }
            _ => {
                let parameter = || {
                    self.setup
                        .cell
                        .parameters
                        .get(name)
                        .map(ToString::to_string)
                };
                return self.programs.placeholder(name).or_else(parameter);
            }
        };
        Some(
            self.ports
                .of_replica(component, number, port)?
                .port()
                .to_string(),
        )
    }
}
