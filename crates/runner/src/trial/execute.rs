//! Runs the phases of one trial, and its tear-down.

use std::{
    future::{Future, pending},
    pin::pin,
    time::Duration,
};

use tokio::time::Instant;
use waggle_agents::FleetError;
use waggle_load::Outcome;
use waggle_results::{PhaseName, TrialInfo};
use waggle_study::Preparation;
use waggle_system::{
    components::{
        driver::{Driver, Failure, Setup},
        verify,
    },
    host::namespace::read_counts,
    http::client::HttpConnector,
};

use crate::{
    load::{
        job,
        load_run::{Load, LoadRun},
    },
    trial::{
        Trial, TrialContext, TrialEnvironment,
        beside::{companion::LoadCourse, companions::AbortedLoads},
        duet::Stage,
        load_phases::LoadPhases,
        phases::{Abort, Allowed, Phases, SPARE, Stop, await_start, race_abort, race_stop},
        result, start,
        start::Started,
    },
};

/// Timeout for collecting the results.
const COLLECT_AT_MOST: Duration = Duration::from_secs(60);
/// How long a lost agent may take to join again before a trial.
const REJOIN_AT_MOST: Duration = Duration::from_secs(30);

impl<'a> Trial<'a> {
    /// Runs every phase up to the collection of results. Loads that were aborted are left in `aborted`.
    pub(super) async fn run_phases<D: Driver, L: Load + 'a, W: HttpConnector + 'a>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
        aborted: &mut Option<AbortedLoads<'a, D, L, W>>,
    ) -> Result<(), Stop> {
        self.make_ready(environment, phases, info).await?;
        let Started {
            mut load,
            mut companions,
            course,
        } = self.start_loads(environment).await?;
        phases.clock = Some(course.clock);
        result::note_start(info, self.context.cell);
        let view = self.view(environment);
        let loaded = Loaded {
            load: &mut load,
            driver: view.driver,
            course: &course,
            beyond_measure: companions.beyond_measure(),
        };
        let concurrent = async {
            tokio::select! {
                abort = companions.follow_load(&view, &course) => abort,
                failure = self.partner_failure() => failure.into(),
            }
        };
        let came = self.load_phases(loaded, phases, info, concurrent).await;
        let (progress, workers) = (&load.progress, course.workers);
        phases.counted = result::note_measured(info, progress, workers, self.context);
        let noted = companions.note_load(&view, info);
        let noted = noted.map_err(|abort| abort.into_stop(PhaseName::Finish));
        let run = load.run;
        if let Err(stop) = came.and(noted) {
            *aborted = Some(AbortedLoads { run, companions });
            return Err(stop);
        }
        let (outcome, others) = companions.end_with(run).await;
        let outcome = outcome.and_then(|outcome| others.map(|()| outcome));
        let outcome = outcome.map_err(|why| Abort::from(why).into_stop(PhaseName::Finish))?;
        result::note_end(info, &outcome, self.context);
        self.check_server(&outcome)?;
        if let Some(drain) = companions.drain(&view, &outcome) {
            let allowed = Allowed::limit(self.context.cell.schedule.drain_timeout + SPARE);
            phases.run(PhaseName::Drain, allowed, drain).await?;
        }
        let allowed = Allowed::limit(COLLECT_AT_MOST);
        let collect = companions.collect(&view, &outcome, info);
        phases.run(PhaseName::Collect, allowed, collect).await
    }

    async fn start_loads<D: Driver, L: Load + 'a, W: HttpConnector + 'a>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
    ) -> Result<Started<'a, D, L, W>, Stop> {
        let set_up = start::set_up(self, environment);
        let (measured, companions) = race_stop(set_up, self.shutdown.clone()).await?;
        let started = start::start(self, environment, measured, companions);
        await_start(started, self.shutdown.clone()).await
    }

    /// Everything before the load.
    async fn make_ready<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
    ) -> Result<(), Stop> {
        self.wait_for_agents(&environment.load).await?;
        let is_restored = self.context.is_restored();
        self.bring_up(environment, phases, is_restored).await?;
        self.prepare(environment, phases, info).await?;
        let external = self.context.system.external.as_ref();
        let is_asked = external.is_none_or(|server| server.smoke_test);
        // A system has a functional check, by which agents do not show that they reach it.
        if is_asked && (external.is_some() || environment.load.fleet().is_some()) {
            self.smoke_check(environment, phases).await?;
        }
        self.meet_partner(phases).await
    }

    /// Waits a moment for agents that are lost, which may be started again.
    async fn wait_for_agents(&self, load: &impl Load) -> Result<(), Stop> {
        let Some(fleet) = load.fleet() else {
            return Ok(());
        };
        let agents = self.context.cell.generators as usize;
        let mut shutdown = self.shutdown.clone();
        let joined = tokio::select! {
            biased;
            () = shutdown.wait_for_stop() => return Err(Stop::Interrupted),
            joined = fleet.wait_for_agents(agents, REJOIN_AT_MOST) => joined,
        };
        let failed = |why: FleetError| Abort::from(Failure::new(why.to_string()));
        let joined = joined.map_err(|why| failed(why).into_stop(PhaseName::Up));
        joined.map(|_| ())
    }

    /// Returns when a trial that runs at the same time fails.
    pub(super) async fn partner_failure(&self) -> Failure {
        match self.context.duet {
            Some(duet) => duet.partner_failure().await,
            None => pending().await,
        }
    }

    /// Fails if a load that ends after a number of requests has ended before: its server closed all connections.
    fn check_server(&self, outcome: &Outcome) -> Result<(), Stop> {
        let Some(time) = outcome.unconnected_for else {
            return Ok(());
        };
        let seconds = time.as_secs_f64();
        let sent = outcome.totals.sent;
        let total = self.context.cell.schedule.requests_in_all();
        let total = total.map_or_else(String::new, |all| format!(" of {all}"));
        let why = format!(
            "no connection was open for {seconds:.0} s, so the load ended after {sent}{total} requests"
        );
        Err(Abort::from(Failure::new(why)).into_stop(PhaseName::Measure))
    }

    /// `is_restored`: the components begin with the folders of an earlier life.
    pub(super) async fn bring_up<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        is_restored: bool,
    ) -> Result<(), Stop> {
        let TrialContext {
            system,
            secrets,
            cell,
            folder,
            logs,
            ..
        } = self.context;
        let turn = match self.context.duet {
            Some(duet) => Some(duet.turn_to_bring_up().await),
            None => None,
        };
        let at_most = cell.schedule.ready_timeout;
        let upgrades = cell.upgraded_levels();
        let setup = Setup {
            parameters: &cell.parameters,
            limits: &cell.limits,
            secrets,
            folder,
            logs,
            cpus: &self.context.shares.system,
            is_restored,
            upgrades: &upgrades,
            has_drains: cell.has_drains(),
            deadline: Instant::now() + at_most,
        };
        // The driver checks the deadline itself and can say what was not ready; the phase's own limit is for a driver that hangs.
        let allowed = Allowed::limit(at_most + SPARE);
        if !self.context.is_up {
            phases
                .run(PhaseName::Up, allowed, async {
                    let http = &environment.http;
                    self.fetch_token_before_start(&environment.driver, http)
                        .await?;
                    Ok(environment.driver.start_all(setup).await?)
                })
                .await?;
            phases
                .run(PhaseName::Ready, allowed, async {
                    Ok(environment.driver.ready(setup).await?)
                })
                .await?;
        }
        // The end of an external server cannot be observed here.
        if system.external.is_none() {
            phases.watch(environment.driver.deaths());
        }
        let allowed = Allowed::limit(verify::at_most(system) + SPARE);
        if system.external.is_some() {
            return Ok(());
        }
        let verify = async {
            let (driver, http) = (&environment.driver, &environment.http);
            self.ensure_token(driver, http).await?;
            let target = verify::Target { system, secrets };
            Ok(verify::verify(target, &environment.driver, &environment.http).await?)
        };
        phases.run(PhaseName::Verify, allowed, verify).await?;
        drop(turn);
        Ok(())
    }

    /// Waits for the trial that runs at the same time, if there is one.
    async fn meet_partner(&self, phases: &mut Phases) -> Result<(), Stop> {
        let Some(duet) = self.context.duet else {
            return Ok(());
        };
        let TrialContext { system, cell, .. } = self.context;
        let preparation = cell.preparation.as_ref();
        let preparation = preparation.map_or(Duration::ZERO, Preparation::at_most);
        // The other one is brought up and prepared meanwhile.
        let up = cell.schedule.ready_timeout * 2 + verify::at_most(system);
        let allowed = Allowed::limit(up + preparation + SPARE * 4);
        let meet = async { Ok(duet.meet(Stage::Ready).await?) };
        phases.run(PhaseName::Ready, allowed, meet).await
    }

    /// The phases in which load runs, together with `concurrent`.
    async fn load_phases<R: LoadRun, D: Driver>(
        &self,
        loaded: Loaded<'_, '_, R, D>,
        phases: &mut Phases,
        info: &mut TrialInfo,
        concurrent: impl Future<Output = Abort>,
    ) -> Result<(), Stop> {
        let Loaded {
            load,
            driver,
            course,
            beyond_measure,
        } = loaded;
        let cell = self.context.cell;
        let schedule = &cell.schedule;
        let mut concurrent = pin!(concurrent);
        let allowed = Allowed {
            expected: Some(schedule.warm_up),
            at_most: schedule.warm_up + SPARE,
        };
        let duet = self.context.duet;
        let work = race_abort(load.warm_up(schedule, driver, duet), concurrent.as_mut());
        info.warm_up_steady = phases.run(PhaseName::WarmUp, allowed, work).await?;
        let allowed = Allowed {
            expected: (!cell.load.is_clients()).then_some(schedule.measure),
            at_most: schedule.measure + SPARE,
        };
        driver.find_processes();
        let before = driver.cpu_reading();
        let limits_before = driver.limits();
        let network_before = info.network.as_ref().map(|_| read_counts());
        let measure = async {
            load.measure(cell, driver).await?;
            match duet {
                Some(duet) => Ok(duet.meet(Stage::Measured).await?),
                None => Ok(()),
            }
        };
        let work = race_abort(measure, concurrent.as_mut());
        phases.run(PhaseName::Measure, allowed, work).await?;
        course.is_measured.send_replace(true);
        result::note_cpus(info, self.context.clocks, before.zip(driver.cpu_reading()));
        result::note_throttling(info, &limits_before, driver.limits());
        if let Some(before) = network_before {
            result::note_network_counts(info, before, read_counts());
        }
        // A load that was ended in the measured phase has no recovery.
        if let Some(recovery) = &schedule.recovery
            && !load.progress.was_enough
        {
            let allowed = Allowed {
                expected: Some(recovery.duration),
                at_most: recovery.duration + SPARE,
            };
            let work = race_abort(load.recover(cell, recovery), concurrent.as_mut());
            phases.run(PhaseName::Recovery, allowed, work).await?;
        }
        let allowed =
            Allowed::limit(job::finish(cell).max(cell.longest_timeout()) + beyond_measure + SPARE);
        let finish = async {
            load.finish().await?;
            course.wait_until_alone().await;
            Ok(())
        };
        phases
            .run(
                PhaseName::Finish,
                allowed,
                race_abort(finish, concurrent.as_mut()),
            )
            .await
    }
}

/// A load under way.
struct Loaded<'t, 'l, R, D> {
    load: &'t mut LoadPhases<'l, R>,
    driver: &'t D,
    course: &'t LoadCourse,
    /// How long its companions may go on after the measured phase.
    beyond_measure: Duration,
}
