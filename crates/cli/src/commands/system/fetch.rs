//! `waggle system fetch`: fetches the artifacts that are not installed, also those behind one that fails.

use anyhow::{Result, bail};
use waggle_study::Artifact;
use waggle_system::{FetchError, Fetching, Location};

use super::shared::{asked_to_end, levels, print_line, runtime};
use crate::{
    arguments::Configured,
    inputs::{artifacts::fetch_locations, systems::system_named, trust::Trust},
    output,
    process::exit::Exit,
};

/// How a fetch ended.
enum Fetched {
    Done,
    Interrupted,
    /// The artifact with the reason, in one line.
    Failed(String),
}

pub(crate) fn run(arguments: &Configured) -> Result<Exit> {
    let trust = Trust::new(&arguments.of.trust.folders)?;
    let (system, folder) = system_named(&arguments.of.system, &trust)?;
    let levels = match &arguments.levels[..] {
        [] => None,
        given => Some(levels(&system, given)?),
    };
    print_line(&format!(
        "{}: {}",
        system.name,
        folder.join("system.yaml").display()
    ));
    let fetching = fetch_locations(&folder, &trust)?;
    let artifacts = waggle_system::artifacts(&system, levels.as_ref(), &fetching);
    if artifacts.is_empty() {
        print_line(&format!("{} requires no artifacts", system.name));
    }
    let mut failed = Vec::new();
    for (artifact, location) in &artifacts {
        match location {
            Location::Installed(programs) => {
                print_line(&artifact_line(artifact, "installed", programs))
            }
            Location::Fetched(programs) => {
                print_line(&artifact_line(artifact, "fetched before", programs))
            }
            Location::Missing => match fetch(artifact, &fetching)? {
                Fetched::Done => {}
                Fetched::Interrupted => return Ok(Exit::Interrupted),
                Fetched::Failed(line) => failed.push(line),
            },
        }
    }
    if !failed.is_empty() {
        bail!(
            "not fetched, {} of {}:\n  {}",
            failed.len(),
            artifacts.len(),
            failed.join("\n  ")
        );
    }
    Ok(Exit::Fine)
}

fn fetch(artifact: &Artifact, fetching: &Fetching) -> Result<Fetched> {
    let note = artifact.note.as_ref();
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    if fetching.missing_programs(artifact).is_empty() {
        print_line(&format!(
            "{} {}: fetching{note} …",
            artifact.name, artifact.version
        ));
    }
    let fetched = waggle_system::fetch(artifact, fetching, asked_to_end()?);
    let fetched = runtime()?.block_on(fetched);
    match fetched {
        Ok(programs) => {
            print_line(&artifact_line(artifact, "fetched", &programs));
            Ok(Fetched::Done)
        }
        Err(problem @ FetchError::Interrupted { .. }) => {
            print_line(&problem.to_string());
            Ok(Fetched::Interrupted)
        }
        Err(problem) => {
            // The list at the end says all of it.
            let is_short = matches!(
                problem,
                FetchError::Requires { .. } | FetchError::Unreachable { .. }
            );
            if !is_short {
                output::print_progress(&problem.to_string());
            }
            Ok(Fetched::Failed(format!(
                "{} {}: {}",
                artifact.name,
                artifact.version,
                problem.in_short()
            )))
        }
    }
}

fn artifact_line(artifact: &Artifact, how: &str, programs: &[std::path::PathBuf]) -> String {
    let programs: Vec<String> = programs
        .iter()
        .map(|program| format!("\n  {}", program.display()))
        .collect();
    let (name, version) = (&artifact.name, &artifact.version);
    let named = match how {
        // An installed program may be another version.
        "installed" => name.clone(),
        _ => format!("{name} {version}"),
    };
    format!("{named}: {how}{}", programs.concat())
}
