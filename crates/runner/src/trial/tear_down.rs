//! Tear-down of a trial, however it ended.

use std::{future::pending, time::Duration};

use futures_util::future::join_all;
use tokio::time::timeout;
use waggle_results::{PhaseName, TrialInfo};
use waggle_study::System;
use waggle_system::{components::driver::Driver, http::client::HttpConnector};

use crate::{
    load::load_run::{Load, LoadRun},
    trial::{
        TrialEnvironment,
        execute::Trial,
        phases::{ENGINE_END_AT_MOST, Phases, SPARE},
        result,
    },
};

impl Trial<'_> {
    /// Stops everything that was started; the first of the aborted loads is the measured one.
    pub(crate) async fn tear_down<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
        aborted_loads: Vec<L::Run>,
    ) {
        for run in &aborted_loads {
            run.stop();
        }
        phases.watch_no_more();
        let at_most = down_at_most(self.context.system);
        match phases
            .run_to_its_end(PhaseName::Down, at_most, environment.driver.stop_all())
            .await
        {
            Some(remarks) => info.remarks.extend(remarks),
            None => info.remarks.push(format!(
                "tear-down took longer than {} s",
                at_most.as_secs()
            )),
        }
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
        let runs = aborted_loads.into_iter();
        let ends = join_all(runs.map(|run| timeout(ENGINE_END_AT_MOST, run.join())));
        tokio::select! {
            biased;
            () = asked_again => {}
            ended = ends => {
                if let Some(Ok(Ok(outcome))) = ended.first() {
                    result::note_end(info, outcome, self.context);
                }
            }
        }
    }
}

/// Every component may take its stop timeout, one after the other, and the removal of what was made in it.
pub(super) fn down_at_most(system: &System) -> Duration {
    system
        .components
        .iter()
        .map(|component| component.stop_timeout + component.undo_timeout() + SPARE)
        .sum::<Duration>()
        + SPARE
}
