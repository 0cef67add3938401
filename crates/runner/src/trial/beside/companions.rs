//! All companions of a load: made here, and led together through the parts of the trial.

use std::{
    future::{Future, pending},
    time::Duration,
};

use futures_util::future::{join_all, select_all, try_join_all};
use tokio::time::timeout;
use waggle_load::{Job, Outcome};
use waggle_results::TrialInfo;
use waggle_system::{
    components::driver::{Driver, Failure},
    http::client::HttpConnector,
};

use crate::{
    load::load_run::{Load, LoadError, LoadRun, start_failure},
    trial::{
        Trial, TrialEnvironment,
        beside::{
            agents::AgentReadings,
            background::Background,
            companion::{Companion, Follow, LoadCourse, MeasuredJob, Part, View, Work},
            delivery::Deliveries,
            faults::{FaultInjector, Restarts},
            resources::Samples,
            system_metrics::SystemMetrics,
            token_renewal::TokenRenewal,
        },
        phases::{Abort, ENGINE_END_AT_MOST, race_abort},
    },
};

/// The companions of a load, in the order in which they note what they did.
pub(in crate::trial) struct Companions<'a, D, L, W>(Vec<Box<dyn Companion<D, L, W> + 'a>>);

/// The loads of a trial that was aborted while they ran.
pub(in crate::trial) struct AbortedLoads<'a, D, L: Load, W> {
    /// The measured one.
    pub(in crate::trial) run: L::Run,
    pub(in crate::trial) companions: Companions<'a, D, L, W>,
}

/// What goes on throughout a part, and what ends it.
type Following<'t> = (Vec<Work<'t, Abort>>, Vec<Work<'t, Result<(), Abort>>>);

impl<'a, D: Driver, L: Load + 'a, W: HttpConnector + 'a> Companions<'a, D, L, W> {
    /// Makes all of them, with what they need before the load.
    pub(in crate::trial) async fn set_up(
        trial: &Trial<'a>,
        environment: &TrialEnvironment<D, L, W>,
        measured: &MeasuredJob<'a>,
    ) -> Result<Self, Abort> {
        let (context, cell) = (trial.context, trial.context.cell);
        let (driver, before, resends) = (&environment.driver, measured.before, &measured.resends);
        let background = Background::new(context, driver, resends.clone())?;
        // Generators are other processes, with limits of their own.
        let measured = (cell.generators <= 1).then_some(&measured.job);
        let here: Vec<&Job> = measured.into_iter().chain(background.jobs()).collect();
        let fleet = environment.load.fleet();
        if fleet.is_none() {
            (environment.load.reserve_files(&here)).map_err(start_failure)?;
        }
        let restarts = Restarts::default();
        let mut deliveries = Deliveries::set_up(context, driver, before, restarts.clone()).await?;
        // Each agent has sent the load's requests once, to show that it reaches the system.
        deliveries.has_smoke_records = fleet.is_some();
        Ok(Self(vec![
            Box::new(AgentReadings::new(fleet, cell.generators)),
            Box::new(Samples::new(cell, before)),
            Box::new(SystemMetrics::set_up(trial, environment, before).await),
            Box::new(deliveries),
            Box::new(FaultInjector::new(cell, trial.events, restarts)),
            Box::new(background),
            Box::new(TokenRenewal(resends.clone())),
        ]))
    }
}

impl<D, L: Load, W> Companions<'_, D, L, W> {
    /// Starts what runs beside the measured load, and that. If this fails, what has begun has ended.
    pub(in crate::trial) async fn start_with(
        &mut self,
        measured: MeasuredJob<'_>,
        load: &mut L,
        generators: u32,
    ) -> Result<L::Run, Failure> {
        let started = async {
            for companion in &mut self.0 {
                companion.start(load).await?;
            }
            let run = load.start(measured.job, generators).await;
            let run = run.map_err(start_failure)?;
            measured.resends.add(&run, measured.content);
            Ok(run)
        };
        let started = started.await;
        if started.is_err() {
            self.end().await.ok();
        }
        started
    }

    pub(in crate::trial) fn load_started(
        &mut self,
        view: &View<'_, D, W>,
        load: &LoadCourse,
    ) -> Result<(), Abort> {
        let mut companions = self.0.iter_mut();
        companions.try_for_each(|companion| companion.load_started(view, load))
    }

    /// How long the finish of the load may wait for them.
    pub(in crate::trial) fn beyond_measure(&self) -> Duration {
        let companions = self.0.iter();
        companions.map(|companion| companion.beyond_measure()).sum()
    }

    /// Runs concurrently with the load. Returns only if the trial cannot go on.
    pub(in crate::trial) async fn follow_load<'t>(
        &'t mut self,
        view: &'t View<'t, D, W>,
        load: &'t LoadCourse,
    ) -> Abort {
        let (throughout, until_over) = self.follow(view, Part::Load(load));
        let all_over = async {
            match try_join_all(until_over).await {
                Ok(_) => {
                    load.is_alone.send_replace(true);
                    pending().await
                }
                Err(abort) => abort,
            }
        };
        tokio::select! {
            abort = first_abort(throughout) => abort,
            abort = all_over => abort,
        }
    }

    /// The drain; `None`: there is nothing to wait for.
    pub(in crate::trial) fn drain<'t>(
        &'t mut self,
        view: &'t View<'t, D, W>,
        outcome: &'t Outcome,
    ) -> Option<impl Future<Output = Result<(), Abort>>> {
        let (throughout, until_over) = self.follow(view, Part::Drain(outcome));
        let has_drain = !until_over.is_empty();
        let drain = async { try_join_all(until_over).await.map(|_| ()) };
        has_drain.then(|| race_abort(drain, first_abort(throughout)))
    }

    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, part: Part<'t>) -> Following<'t> {
        let (mut throughout, mut until_over) = (Vec::new(), Vec::new());
        for companion in &mut self.0 {
            match companion.follow(view, part) {
                Follow::Nothing => {}
                Follow::Throughout(work) => throughout.push(work),
                Follow::UntilOver(work) => until_over.push(work),
            }
        }
        (throughout, until_over)
    }

    pub(in crate::trial) fn note_load(
        &mut self,
        view: &View<'_, D, W>,
        info: &mut TrialInfo,
    ) -> Result<(), Abort> {
        let mut companions = self.0.iter_mut();
        companions.try_for_each(|companion| companion.note_load(view, info))
    }

    /// Asks all of them at once to end; the future is their end.
    pub(in crate::trial) fn end(&mut self) -> impl Future<Output = Result<(), Failure>> {
        let ends: Vec<_> = self.0.iter_mut().map(|companion| companion.end()).collect();
        async { join_all(ends).await.into_iter().collect() }
    }

    /// The same with the measured load.
    pub(in crate::trial) fn end_with(
        &mut self,
        run: L::Run,
    ) -> impl Future<Output = (Result<Outcome, Failure>, Result<(), Failure>)> {
        run.stop();
        let others = self.end();
        async {
            let (outcome, others) = tokio::join!(timeout(ENGINE_END_AT_MOST, run.join()), others);
            let outcome = outcome.unwrap_or(Err(LoadError::NotEnded));
            (outcome.map_err(|why| Failure::new(why.to_string())), others)
        }
    }

    pub(in crate::trial) async fn collect(
        &mut self,
        view: &View<'_, D, W>,
        outcome: &Outcome,
        info: &mut TrialInfo,
    ) -> Result<(), Abort> {
        for companion in &mut self.0 {
            companion.collect(view, outcome, info).await?;
        }
        Ok(())
    }
}

async fn first_abort(work: Vec<Work<'_, Abort>>) -> Abort {
    match work.is_empty() {
        true => pending().await,
        false => select_all(work).await.0,
    }
}
