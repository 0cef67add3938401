//! The commands that a study would start: those of its system's components in each configuration of its cells, fetch scripts, cool-downs.

use std::{collections::BTreeSet, path::Path};

use waggle_study::{Component, CoolDownUntil, Sensor, Study, System};
use waggle_system::components::driver::distinct;

use crate::inputs::{runs::shell_word, study::Loaded};

/// A line each, below a heading.
pub(super) fn commands(loaded: &Loaded) -> Vec<String> {
    let changed = loaded.changed.as_ref();
    let changed = changed.map(|changed| (&changed.system, changed.folder.as_path()));
    let of_study = (&loaded.system, loaded.system_folder.as_path());
    let systems = [Some(of_study), changed].into_iter().flatten();
    let mut lines: BTreeSet<String> = BTreeSet::new();
    // What pods start is not of this machine.
    let systems = systems.filter(|_| loaded.study.system_pods.is_none());
    for (system, folder) in systems {
        lines.extend(of_components(&loaded.study, system));
        let fetches = system.artifacts.iter();
        lines.extend(fetches.map(|artifact| {
            let script = command_line(&[folder.join(&artifact.fetch).display().to_string()]);
            format!("fetch {}: {script} {}", artifact.name, artifact.version)
        }));
    }
    lines.extend(loaded.study.cells.iter().filter_map(|cell| {
        let until = cell.schedule.cool_down_until.as_ref()?;
        of_cool_down(until)
    }));
    if lines.is_empty() {
        return vec!["it starts no programs".to_owned()];
    }
    let folder = match loaded.system_folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => loaded.system_folder.as_path(),
    };
    let heading = format!("commands (${{system_dir}} is {})", folder.display());
    let lines = lines.into_iter().map(|line| format!("  {line}"));
    std::iter::once(heading).chain(lines).collect()
}

fn of_components(study: &Study, system: &System) -> BTreeSet<String> {
    let configurations = study.cells.iter().map(|cell| &cell.parameters);
    let mut lines = BTreeSet::new();
    for configured in distinct(system, configurations) {
        let started = configured.components.iter();
        let is_process =
            |component: &&Component| component.external.is_none() && component.workload.is_none();
        for component in started.filter(is_process) {
            lines.insert(format!(
                "{}: {}",
                component.name,
                command_line(&component.process.command)
            ));
        }
    }
    lines
}

fn of_cool_down(until: &CoolDownUntil) -> Option<String> {
    match &until.sensor {
        Sensor::Command(command) => Some(format!("cool-down: {}", command_line(command))),
        _ => None,
    }
}

fn command_line(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}
