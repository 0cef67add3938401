//! `waggle system fetch`: fetches the artifacts that are not installed.

use anyhow::Result;
use waggle_runner::{FetchError, Fetching, Location};
use waggle_study::Artifact;

use super::shared::{asked_to_end, fetch_locations, levels, print_line, runtime};
use crate::{arguments::Configured, exit::Exit, files};

pub(crate) fn run(arguments: &Configured) -> Result<Exit> {
    let (system, folder) = files::system_named(&arguments.of.system)?;
    let levels = match &arguments.levels[..] {
        [] => None,
        given => Some(levels(&system, given)?),
    };
    let fetching = fetch_locations(&folder)?;
    let artifacts = waggle_runner::artifacts(&system, levels.as_ref(), &fetching);
    if artifacts.is_empty() {
        print_line(&format!("{} requires no artifacts", system.name));
    }
    for (artifact, location) in &artifacts {
        match location {
            Location::Installed(programs) => {
                print_line(&artifact_line(artifact, "installed", programs))
            }
            Location::Fetched(programs) => {
                print_line(&artifact_line(artifact, "fetched before", programs))
            }
            Location::Missing => {
                if let Some(exit) = fetch(artifact, &fetching)? {
                    return Ok(exit);
                }
            }
        }
    }
    Ok(Exit::Fine)
}

/// `None`: it was fetched.
fn fetch(artifact: &Artifact, fetching: &Fetching) -> Result<Option<Exit>> {
    let note = artifact.note.as_ref();
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    print_line(&format!(
        "{} {}: fetching{note} …",
        artifact.name, artifact.version
    ));
    let fetched = waggle_runner::fetch(artifact, fetching, asked_to_end()?);
    let fetched = runtime()?.block_on(fetched);
    match fetched {
        Ok(programs) => {
            print_line(&artifact_line(artifact, "fetched", &programs));
            Ok(None)
        }
        Err(problem @ FetchError::Interrupted { .. }) => {
            print_line(&problem.to_string());
            Ok(Some(Exit::Interrupted))
        }
        Err(problem) => Err(problem.into()),
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
