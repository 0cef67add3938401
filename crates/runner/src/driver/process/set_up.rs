//! The setup of components that are ready. What is made in one that runs already is noted, and removed at the end.

use waggle_study::Component;

use super::ProcessDriver;
use crate::{
    created::Made,
    driver::{
        Failure, Setup,
        setup::{self, SetupFailure},
    },
};

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
            setup::carry_out(step, &peer, setup.deadline, filled)
                .await
                .map_err(|problem| {
                    let own = || self.blame(&format!("{}-0", component.name), problem.why);
                    self.loss().unwrap_or_else(own)
                })?;
        }
        Ok(())
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
            self.created
                .begin(made, filled, peer.clone())
                .map_err(Failure::new)?;
            let env = self.env(setup);
            let fill = |text: &str| env.fill(component, 0, text);
            let carried = setup::carry_out(step, &peer, setup.deadline, fill).await;
            let was_made = match &carried {
                Ok(()) => Some(true),
                Err(SetupFailure { was_refused, .. }) => was_refused.then_some(false),
            };
            self.created.end(was_made).map_err(Failure::new)?;
            carried.map_err(|problem| {
                let name = &component.name;
                Failure::new(format!("{name} runs already, and its {}", problem.why))
            })?;
        }
        Ok(())
    }
}

fn no_port(component: &Component, port: &str) -> Failure {
    Failure::new(format!("{} has no port \"{port}\"", component.name))
}
