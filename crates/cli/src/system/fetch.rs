//! `waggle system fetch`: fetches the artifacts that are not installed.

use anyhow::Result;
use waggle_runner::{FetchError, Fetching, Place};
use waggle_study::Server;

use super::shared::{asked_to_end, fetch_locations, levels, runtime, say};
use crate::{arguments::Configured, exit::Exit, files};

pub(crate) fn run(arguments: &Configured) -> Result<Exit> {
    let (system, folder) = files::system_named(&arguments.of.system)?;
    let levels = match &arguments.levels[..] {
        [] => None,
        given => Some(levels(&system, given)?),
    };
    let fetching = fetch_locations(&folder)?;
    let servers = waggle_runner::servers(&system, levels.as_ref(), &fetching);
    if servers.is_empty() {
        say(&format!("{} requires no artifacts", system.name));
    }
    for (server, place) in &servers {
        match place {
            Place::Installed(programs) => say(&server_line(server, "installed", programs)),
            Place::Fetched(programs) => say(&server_line(server, "fetched before", programs)),
            Place::Missing => {
                if let Some(exit) = fetch(server, &fetching)? {
                    return Ok(exit);
                }
            }
        }
    }
    Ok(Exit::Fine)
}

/// `None`: it was fetched.
fn fetch(server: &Server, fetching: &Fetching) -> Result<Option<Exit>> {
    let takes = server.takes.as_ref();
    let takes = takes.map(|takes| format!(" ({takes})")).unwrap_or_default();
    say(&format!(
        "{} {}: fetching{takes} …",
        server.name, server.version
    ));
    let fetched = waggle_runner::fetch(server, fetching, asked_to_end()?);
    let fetched = runtime()?.block_on(fetched);
    match fetched {
        Ok(programs) => {
            say(&server_line(server, "fetched", &programs));
            Ok(None)
        }
        Err(problem @ FetchError::Interrupted { .. }) => {
            say(&problem.to_string());
            Ok(Some(Exit::Interrupted))
        }
        Err(problem) => Err(problem.into()),
    }
}

fn server_line(server: &Server, how: &str, programs: &[std::path::PathBuf]) -> String {
    let programs: Vec<String> = programs
        .iter()
        .map(|program| format!("\n  {}", program.display()))
        .collect();
    let (name, version) = (&server.name, &server.version);
    let named = match how {
        // An installed program may be another version.
        "installed" => name.clone(),
        _ => format!("{name} {version}"),
    };
    format!("{named}: {how}{}", programs.concat())
}
