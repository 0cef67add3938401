//! The setup of components that are ready. What is made in one that runs already is noted, and removed at the end.

use std::{fs::File, io::Read, path::Path, time::Duration};

use tokio::time::{Instant, sleep};
use waggle_study::Component;

use super::ProcessDriver;
use crate::components::{
    created::Made,
    driver::{
        Failure, Setup, setup,
        setup::{Captured, SetupFailure},
    },
};

/// Pause between two attempts to read a secret that is not written yet.
const READ_AGAIN_EVERY: Duration = Duration::from_millis(50);
/// Longest file of a secret.
const SECRET_MAX_BYTES: u64 = 64 * 1024;

impl ProcessDriver {
    /// Carries out the setup of a component that waggle started.
    pub(super) async fn set_up_one(
        &self,
        component: &Component,
        setup: Setup<'_>,
    ) -> Result<(), Failure> {
        let env = self.env(setup);
        for step in &component.setup {
            let peer = self.peer_of(&component.name, 0, &step.port);
            let peer = peer.ok_or_else(|| no_port(component, &step.port))?;
            let filled = |text: &str| env.fill(component, 0, text);
            let captured = setup::carry_out(step, &peer, setup.deadline, filled)
                .await
                .map_err(|problem| {
                    let failure = || self.blame(&format!("{}-0", component.name), problem.why);
                    self.loss().unwrap_or_else(failure)
                })?;
            set_all(setup, captured);
        }
        Ok(())
    }

    /// Reads the secrets that a component has written; waits for their files until all must be ready.
    pub(super) async fn read_secrets(
        &self,
        component: &Component,
        setup: Setup<'_>,
    ) -> Result<(), Failure> {
        let replica = format!("{}-0", component.name);
        for (name, file) in &component.secrets {
            let value = loop {
                match self.read_secret(&replica, file, setup).await {
                    Ok(value) => break value,
                    Err(_) if Instant::now() + READ_AGAIN_EVERY < setup.deadline => {
                        sleep(READ_AGAIN_EVERY).await;
                    }
                    Err(why) => {
                        let why = format!("secret \"{name}\" is not in {file}: {why}");
                        let failure = || self.blame(&replica, why);
                        return Err(self.loss().unwrap_or_else(failure));
                    }
                }
            };
            setup.secrets.set(name, value);
        }
        Ok(())
    }

    /// The secret that a replica has written into a file of its folder.
    async fn read_secret(
        &self,
        replica: &str,
        file: &str,
        setup: Setup<'_>,
    ) -> Result<String, String> {
        let remote = {
            let running = self.running.borrow();
            let mut running = running.iter();
            let running = running.find(|running| running.child.replica == replica);
            running.and_then(|running| running.launch.remote_file(file))
        };
        let text = match remote {
            Some((remote, path)) => {
                let text = remote.read_text(&path).await;
                text.map_err(|why| why.to_string())?
            }
            None => read_file(&setup.folder.join(replica).join(file))?,
        };
        checked_secret(&text)
    }

    /// Carries out the setup of a component that runs already: the steps that are undone.
    pub(super) async fn set_up_external(
        &mut self,
        component: &Component,
        setup: Setup<'_>,
    ) -> Result<(), Failure> {
        for step in &component.setup {
            let Some(undo) = &step.undo else { continue };
            let peer = self.peer_of(&component.name, 0, &step.port);
            let peer = peer.ok_or_else(|| no_port(component, &step.port))?;
            let made = Made::new(step, undo, &component.name, &peer);
            let env = self.env(setup);
            let filled = made.fill_secrets(|text| env.fill(component, 0, text));
            let filled = filled.map_err(|why| Failure::new(why.to_string()))?;
            self.created.begin(made, filled, peer.clone())?;
            let env = self.env(setup);
            let fill = |text: &str| env.fill(component, 0, text);
            let carried = setup::carry_out(step, &peer, setup.deadline, fill).await;
            let was_made = match &carried {
                Ok(_) => Some(true),
                Err(SetupFailure { was_refused, .. }) => was_refused.then_some(false),
            };
            self.created.end(was_made)?;
            let captured = carried.map_err(|problem| {
                let name = &component.name;
                Failure::new(format!("{name} runs already, and its {}", problem.why))
            })?;
            set_all(setup, captured);
        }
        Ok(())
    }
}

fn set_all(setup: Setup<'_>, captured: Captured) {
    for (name, value) in captured {
        setup.secrets.set(&name, value);
    }
}

/// The text of a secret without what is around it.
fn checked_secret(text: &str) -> Result<String, String> {
    let value = text.trim();
    match () {
        () if text.len() as u64 > SECRET_MAX_BYTES => Err("the file is too long".to_owned()),
        () if value.is_empty() => Err("the file is empty".to_owned()),
        () if value.contains(char::is_control) => Err("it has several lines".to_owned()),
        () => Ok(value.to_owned()),
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|why| why.to_string())?;
    let mut text = String::new();
    let read = file.take(SECRET_MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|why| why.to_string())?;
    Ok(text)
}

fn no_port(component: &Component, port: &str) -> Failure {
    Failure::new(format!("{} has no port \"{port}\"", component.name))
}
