//! `waggle system down` and `status`: a system that another process runs.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::{
    clusters, left_behind,
    shared::print_line,
    state::{State, SystemStatus},
};
use crate::{arguments::SystemName, inputs::systems, process::exit::Exit};

/// Limit on the time to stop a system.
const DOWN_TIMEOUT: Duration = Duration::from_secs(150);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn status(system: &str) -> Result<Exit> {
    let state = State::open(system)?;
    let text = match (state.lock_holder()?, state.read()?) {
        (SystemStatus::Up, Some(known)) => known.to_text(&state.known_file()),
        (SystemStatus::Up, None) => format!("{system} is starting"),
        (SystemStatus::Left, _) => format!(
            "{system} is not up; a process that was killed left files, which `waggle system down {system}` removes"
        ),
        (SystemStatus::No, _) => {
            format!("{system} is not up{}", systems::meant_system(system))
        }
    };
    print_line(&text);
    Ok(Exit::Fine)
}

pub(crate) fn run_down(arguments: &SystemName) -> Result<Exit> {
    let system = &arguments.system;
    let state = State::open(system)?;
    // A system of this machine is stopped whatever becomes of what is left in another.
    let left = left_behind::remove(system, &arguments.trust);
    let left = join(left, clusters::remove(system));
    match state.lock_holder()? {
        SystemStatus::No if !matches!(left, Ok(false)) => {}
        SystemStatus::No => {
            print_line(&format!(
                "{system} is not up{}",
                systems::meant_system(system)
            ));
        }
        SystemStatus::Left => {
            let killed = state.clear()?;
            let killed = match &killed[..] {
                [] => String::new(),
                killed => format!("; killed {}", killed.join(", ")),
            };
            print_line(&format!(
                "{system} was not up; its left files are removed{killed}"
            ));
        }
        SystemStatus::Up => {
            let known = state.read()?;
            let known = known.with_context(|| format!("{system} is starting; try again"))?;
            end(&state, known.pid)?;
            print_line(&format!("{system} is down"));
        }
    }
    left.map(|_| Exit::Fine)
}

/// Whether something was removed from a system or from a cluster; an error of either.
fn join(from_systems: Result<bool>, from_clusters: Result<bool>) -> Result<bool> {
    match (from_systems, from_clusters) {
        (Ok(is_any), Ok(is_more)) => Ok(is_any || is_more),
        (Err(why), Err(further)) => Err(why.context(format!("{further:#}"))),
        (Err(why), _) | (_, Err(why)) => Err(why),
    }
}

/// Ends the process, and waits until its folder is gone.
fn end(state: &State, pid: u32) -> Result<()> {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.with_context(|| format!("{pid} is not a process ID"))?;
    kill_process(process, Signal::TERM).with_context(|| format!("cannot end process {pid}"))?;
    let asked_at = Instant::now();
    while !matches!(state.lock_holder()?, SystemStatus::No) {
        if asked_at.elapsed() > DOWN_TIMEOUT {
            bail!(
                "process {pid} did not stop the system within {} s",
                DOWN_TIMEOUT.as_secs()
            );
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
