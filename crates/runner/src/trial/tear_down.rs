//! Tear-down of a trial, however it ended.

use std::{future::pending, time::Duration};

use waggle_results::{PhaseName, TrialInfo};
use waggle_study::System;
use waggle_system::{components::driver::Driver, http::client::HttpConnector};

use crate::{
    load::load_run::Load,
    trial::{
        Trial, TrialEnvironment,
        beside::companions::AbortedLoads,
        phases::{Phases, SPARE},
        result,
    },
};

impl Trial<'_> {
    /// Stops everything that was started.
    pub(super) async fn tear_down<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
        aborted: Option<AbortedLoads<'_, D, L, W>>,
    ) {
        let Some(AbortedLoads {
            run,
            mut companions,
        }) = aborted
        else {
            return self.bring_down(&mut environment.driver, phases, info).await;
        };
        let ends = companions.end_with(run);
        self.bring_down(&mut environment.driver, phases, info).await;
        // The connections to a system that is stopped are closed, so the load ends at once. An external server goes on; after a
        // second stop request its answers are not awaited.
        let mut shutdown = self.shutdown.clone();
        let is_awaited = !shutdown.load_is_to_end();
        let asked_again = async {
            match is_awaited {
                true => pending().await,
                false => shutdown.wait_for_stop().await,
            }
        };
        tokio::select! {
            biased;
            () = asked_again => {}
            (outcome, _) = ends => {
                if let Ok(outcome) = outcome {
                    result::note_end(info, &outcome, self.context);
                }
            }
        }
    }

    async fn bring_down<D: Driver>(
        &self,
        driver: &mut D,
        phases: &mut Phases,
        info: &mut TrialInfo,
    ) {
        phases.watch_no_more();
        let at_most = down_at_most(self.context.system) + driver.removal_timeout();
        let stopped = phases.run_to_its_end(PhaseName::Down, at_most, driver.stop_all());
        match stopped.await {
            Some(remarks) => info.remarks.extend(remarks),
            None => info.remarks.push(format!(
                "tear-down took longer than {} s",
                at_most.as_secs()
            )),
        }
    }
}

/// Without what the driver needs beside that: every component may take its stop timeout, one after the other, and the removal of what was made in it.
pub(super) fn down_at_most(system: &System) -> Duration {
    system
        .components
        .iter()
        .map(|component| component.stop_timeout + component.undo_timeout() + SPARE)
        .sum::<Duration>()
        + SPARE
}
