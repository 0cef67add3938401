//! Worker threads and generators of a load, and the CPUs of the threads.

use anyhow::{Result, bail};
use waggle_system::cpus;

use crate::{arguments::load::Load, commands::load::result::summary::Settings};

/// The worker threads.
pub(in crate::commands::load) struct Workers {
    pub(in crate::commands::load) count: u32,
    /// The CPUs they are pinned to, in turn; empty: not pinned.
    pub(in crate::commands::load) pinned: Vec<usize>,
}

impl Workers {
    /// The CPU of each thread; empty if they are not pinned.
    pub(in crate::commands::load) fn pinned_each(&self) -> Vec<usize> {
        self.pinned
            .iter()
            .copied()
            .cycle()
            .take(self.count as usize)
            .collect()
    }
}

/// The worker threads that flags ask for.
pub(in crate::commands::load) fn workers(flags: &Load) -> Result<Workers> {
    let allowed = cpus::allowed_cpus();
    let half = (allowed.len() / 2).max(1);
    let generators = flags.way.generators.unwrap_or(1);
    let count = match flags.way.workers {
        Some(workers) if workers < generators => {
            bail!("--workers: {workers} are fewer than {generators} generators; each needs one")
        }
        Some(workers) => workers,
        None => u32::try_from(half).unwrap_or(1).max(generators),
    };
    let pinned = match &flags.way.pin {
        None => Vec::new(),
        Some(choice) if choice.0.is_empty() => allowed[..half.min(allowed.len())].to_vec(),
        Some(choice) => choice.0.clone(),
    };
    if let Some(other) = pinned.iter().find(|cpu| !allowed.contains(cpu)) {
        bail!("--pin: this process is not allowed to use CPU {other}");
    }
    Ok(Workers { count, pinned })
}

/// Each generator needs a connection.
pub(in crate::commands::load) fn check_generators(flags: &Load, settings: &Settings) -> Result<()> {
    let generators = flags.way.generators.unwrap_or(1);
    let (most, word) = match settings.users {
        Some(users) => (Some(users), "users"),
        None => (settings.connections, "connections"),
    };
    match most {
        Some(most) if most < generators && flags.search.maximize.is_none() => bail!(
            "--generators: {generators} are more than the {most} {word}; expected at most as many generators as {word}"
        ),
        _ => Ok(()),
    }
}
