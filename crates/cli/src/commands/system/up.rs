//! `waggle system up`: starts a system and keeps it running until it is asked to end.

use std::{collections::BTreeMap, net::SocketAddr};

use anyhow::Result;
use waggle_system::{Up, UpRequest};

use super::{
    shared::{asked_to_end, levels, print_line, runtime},
    state::{RunningSystem, State},
};
use crate::{
    arguments::SystemUp,
    inputs::{artifacts::fetch_locations, systems::system_named, trust::Trust},
    process::exit::Exit,
};

pub(crate) fn run(arguments: &SystemUp) -> Result<Exit> {
    let configured = &arguments.configured;
    let trust = Trust::new(&configured.of.trust.folders)?;
    let (system, system_folder) = system_named(&configured.of.system, &trust)?;
    let levels = levels(&system, &configured.levels)?;
    let name = system.name.clone();
    let state = State::open(&name)?;
    // Dropping it removes the folder on every path.
    let _lock = state.lock(&name)?;
    let fetching = fetch_locations(&system_folder, &trust)?;
    let parameters = levels
        .iter()
        .map(|(name, level)| (name.clone(), level.to_string()))
        .collect();
    let file = system_folder.join("system.yaml");
    let request = UpRequest {
        system,
        system_folder,
        parameters: levels,
        folder: state.files(),
        ready_at_most: arguments.ready_timeout,
        program_folders: fetching.program_folders,
        artifacts_folder: fetching.artifacts_folder,
        supervisor: fetching.supervisor,
    };
    let mut noted = Ok(());
    let report = |up: &Up| noted = note(&state, &to_known(&name, parameters, up));
    print_line(&format!("{name}: starting what {} says …", file.display()));
    let up = waggle_system::bring_up(&request, asked_to_end()?, report);
    let ended = runtime()?.block_on(up);
    for remark in ended? {
        print_line(&remark);
    }
    noted?;
    print_line(&format!("{name} is down"));
    Ok(Exit::Fine)
}

/// Writes down that the system runs, and prints it.
fn note(state: &State, known: &RunningSystem) -> Result<()> {
    let written = state.write(known);
    print_line(&known.to_text(&state.known_file()));
    let name = &known.system;
    print_line(&format!("Ctrl-C or `waggle system down {name}` stops it"));
    written
}

fn to_known(system: &str, parameters: BTreeMap<String, String>, up: &Up) -> RunningSystem {
    let addresses = |pairs: &[(String, Vec<SocketAddr>)]| {
        pairs
            .iter()
            .map(|(name, addresses)| {
                let addresses = addresses.iter().map(ToString::to_string).collect();
                (name.clone(), addresses)
            })
            .collect()
    };
    RunningSystem {
        system: system.to_owned(),
        pid: std::process::id(),
        parameters,
        endpoints: addresses(&up.endpoints),
        ports: addresses(&up.ports),
        secrets: up.secrets.iter().cloned().collect(),
        certificates: up.certificates.clone(),
        logs: up.logs.clone(),
    }
}
