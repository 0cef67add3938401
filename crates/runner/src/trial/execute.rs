//! Runs the phases of one trial, and its tear-down.

// long: the phases of a trial in their order

use std::{
    cell::RefCell,
    future::{Future, pending},
    pin::pin,
    time::Duration,
};

use futures_util::future::{select_all, try_join_all};
use tokio::time::{Instant, timeout};
use waggle_load::Outcome;
use waggle_results::{PhaseName, TrialInfo, TrialWriter};
use waggle_study::Preparation;
use waggle_system::{
    components::{
        driver::{Driver, Failure, Setup},
        verify,
    },
    host::namespace::read_counts,
    http::client::{Connection, HttpConnector},
    shutdown::Shutdown,
};

use crate::{
    event_sender::Events,
    load::{
        job,
        load_run::{Load, LoadError, LoadRun},
    },
    trial::{
        TrialContext, TrialEnvironment,
        beside::{
            background::{Background, BackgroundEnd},
            delivery::{Delivery, DrainTimes, ProbePosition, Sent},
            faults,
            faults::FaultInjector,
            resources::Sampler,
            system_metrics::SystemMetrics,
        },
        duet::Stage,
        load_phases::LoadPhases,
        phases::{Abort, Allowed, ENGINE_END_AT_MOST, Phases, SPARE, Stop, await_start, race_stop},
        result, start,
        start::Started,
    },
};

/// Timeout for collecting the results.
const COLLECT_AT_MOST: Duration = Duration::from_secs(60);

/// One trial while it runs.
pub(crate) struct Trial<'a> {
    pub(crate) context: TrialContext<'a>,
    pub(crate) events: &'a Events,
    pub(crate) shutdown: &'a Shutdown,
    pub(crate) writer: &'a RefCell<TrialWriter>,
}

impl Trial<'_> {
    /// Runs every phase up to the collection of results. Load runs that were aborted are left in `aborted_loads`, the measured
    /// one first.
    pub(crate) async fn run_phases<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
        aborted_loads: &mut Vec<L::Run>,
    ) -> Result<(), Stop> {
        self.make_ready(environment, phases, info).await?;
        let Started {
            mut load,
            mut background,
            resends,
            mut deliveries,
            mut metrics,
            faults,
            clock,
            workers,
        } = self.start_loads(environment).await?;
        let (cell, driver) = (self.context.cell, &environment.driver);
        phases.clock = Some(clock);
        result::note_start(info, cell);
        let mut sampler = Sampler::new(Instant::now(), clock, driver.usage());
        let background_end = background.end();
        let came = {
            let observers = Observers {
                deliveries: &mut deliveries,
                sampler: &mut sampler,
                metrics: &mut metrics,
            };
            let concurrent = async {
                tokio::select! {
                    abort = self.watch(observers, driver) => abort,
                    abort = faults.carry_out(driver) => abort,
                    abort = background.follow(&background_end) => abort,
                    failure = self.failure_beside(environment, resends) => failure.into(),
                }
            };
            let loaded = Loaded {
                load: &mut load,
                driver,
                faults: &faults,
                background: &background_end,
            };
            self.load_phases(loaded, phases, info, concurrent).await
        };
        self.write_missed_usage(&mut sampler, driver)?;
        info.faults = faults.fault_infos();
        phases.counted = result::note_measured(info, &load.progress, workers, self.context);
        background.note(info, cell);
        if let Err(stop) = came {
            aborted_loads.push(load.run);
            aborted_loads.extend(background.into_runs());
            return Err(stop);
        }
        let outcome = join_loads(load.run, background).await;
        let outcome = outcome.map_err(|why| Abort::from(why).into_stop(PhaseName::Finish))?;
        result::note_end(info, &outcome, self.context);
        self.check_server(&outcome)?;
        let observers = Observers {
            deliveries: &mut deliveries,
            sampler: &mut sampler,
            metrics: &mut metrics,
        };
        self.drain(observers, environment, phases, &outcome).await?;
        let allowed = Allowed {
            expected: None,
            at_most: COLLECT_AT_MOST,
        };
        let collect = async {
            let remarks = metrics.conclude(self.writer, self.context.key, self.events);
            info.remarks.extend(remarks.await?);
            self.collect(&deliveries, info, &outcome)
        };
        phases.run(PhaseName::Collect, allowed, collect).await
    }

    async fn start_loads<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
    ) -> Result<Started<'_, L::Run, W::Connection>, Stop> {
        let set_up = start::set_up(self, environment);
        let set_up = race_stop(set_up, self.shutdown.clone()).await?;
        let started = start::start(self, environment, set_up);
        await_start(started, self.shutdown.clone()).await
    }

    /// Everything before the load.
    async fn make_ready<D: Driver, L: Load, W: HttpConnector>(
        &self,
        environment: &mut TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        info: &mut TrialInfo,
    ) -> Result<(), Stop> {
        let is_restored = self.context.is_restored();
        self.bring_up(environment, phases, is_restored).await?;
        self.prepare(environment, phases, info).await?;
        let external = self.context.system.external.as_ref();
        if external.is_some_and(|server| server.smoke_test) {
            self.smoke_check(environment, phases).await?;
        }
        self.meet_partner(phases).await
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
        let setup = Setup {
            parameters: &cell.parameters,
            limits: &cell.limits,
            secrets,
            folder,
            logs,
            cpus: &self.context.shares.system,
            is_restored,
            deadline: Instant::now() + at_most,
        };
        // The driver checks the deadline itself and can say what was not ready; the phase's own limit is for a driver that hangs.
        let allowed = Allowed {
            expected: None,
            at_most: at_most + SPARE,
        };
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
        let allowed = Allowed {
            expected: None,
            at_most: verify::at_most(system) + SPARE,
        };
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
        let allowed = Allowed {
            expected: None,
            at_most: up + preparation + SPARE * 4,
        };
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
            faults,
            background,
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
        background.ask();
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
        let allowed = Allowed {
            expected: None,
            at_most: job::finish(cell).max(cell.longest_timeout())
                + faults::beyond_measure(cell)
                + SPARE,
        };
        // Killed components must be ready again before the drain.
        let finish = async {
            load.finish().await?;
            faults.wait_until_over().await;
            background.wait_until_over().await;
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

    /// Runs concurrently with the load: polls of the probes, samples of CPU, memory and metrics. Returns only if writing to disk
    /// fails.
    async fn watch<D: Driver, N: Connection>(
        &self,
        observers: Observers<'_, '_, N>,
        driver: &D,
    ) -> Abort {
        let deliveries = observers.deliveries.iter_mut();
        let follow = async {
            let follow: Vec<_> = deliveries
                .map(|delivery| Box::pin(delivery.follow(self.writer)))
                .collect();
            match follow.is_empty() {
                true => pending().await,
                false => select_all(follow).await.0,
            }
        };
        tokio::select! {
            abort = follow => abort,
            abort = self.sample(observers.sampler, driver) => abort,
            abort = observers.metrics.follow(self.writer) => abort,
        }
    }

    async fn sample<D: Driver>(&self, sampler: &mut Sampler, driver: &D) -> Abort {
        let period = self.context.cell.schedule.sampling_interval;
        let mut next = Instant::now();
        loop {
            // A late sample is not made up for: the time of a row gives the length of its period.
            next = (next + period).max(Instant::now());
            tokio::time::sleep_until(next).await;
            if let Err(abort) = self.write_usage(sampler, driver) {
                return abort;
            }
        }
    }

    /// Writes the only row of a load that was shorter than the sampling period.
    fn write_missed_usage<D: Driver>(&self, sampler: &mut Sampler, driver: &D) -> Result<(), Stop> {
        if !sampler.has_no_rows() {
            return Ok(());
        }
        self.write_usage(sampler, driver)
            .map_err(|abort| abort.into_stop(PhaseName::Finish))
    }

    fn write_usage<D: Driver>(&self, sampler: &mut Sampler, driver: &D) -> Result<(), Abort> {
        for row in sampler.sample(Instant::now(), driver.usage()) {
            self.writer.borrow_mut().resource(&row)?;
        }
        Ok(())
    }

    /// Waits until the probes have seen the records; nothing without probes.
    async fn drain<D: Driver, L: Load, W: HttpConnector>(
        &self,
        observers: Observers<'_, '_, W::Connection>,
        environment: &TrialEnvironment<D, L, W>,
        phases: &mut Phases,
        outcome: &Outcome,
    ) -> Result<(), Stop> {
        let Observers {
            deliveries,
            sampler,
            metrics,
        } = observers;
        if deliveries.is_empty() {
            return Ok(());
        }
        let (cell, driver) = (self.context.cell, &environment.driver);
        let sent = self.sent_records(outcome);
        let at_most = cell.schedule.drain_timeout;
        let times = DrainTimes {
            at_most,
            quiet: cell.schedule.drain_quiet_period,
        };
        let work = async {
            let drain = deliveries
                .iter_mut()
                .map(|delivery| delivery.drain(self.writer, self.events, sent, times));
            try_join_all(drain).await?;
            for delivery in deliveries {
                delivery.measure_cost(driver).await;
            }
            Ok(())
        };
        let allowed = Allowed {
            expected: None,
            at_most: at_most + SPARE,
        };
        let concurrent = async {
            tokio::select! {
                abort = self.sample(sampler, driver) => abort,
                abort = metrics.follow(self.writer) => abort,
                failure = self.renew_token_of_probes(environment) => failure.into(),
            }
        };
        phases
            .run(PhaseName::Drain, allowed, race_abort(work, concurrent))
            .await
    }

    fn collect<N: Connection>(
        &self,
        deliveries: &[Delivery<'_, N>],
        info: &mut TrialInfo,
        outcome: &Outcome,
    ) -> Result<(), Abort> {
        for delivery in deliveries {
            let probe = delivery.collect(self.sent_records(outcome), self.writer)?;
            match delivery.position {
                ProbePosition::Intermediate(_) => info.intermediate_probes.push(probe),
                ProbePosition::Last => {
                    info.ledger = Some(probe.ledger);
                    info.delivery = Some(probe.delivery);
                }
            }
            info.remarks.extend(delivery.remarks());
        }
        Ok(())
    }

    fn sent_records<'o>(&self, outcome: &'o Outcome) -> Sent<'o> {
        Sent {
            accounts: &outcome.request_outcomes,
            records_per_request: job::records_per_request(self.context.cell),
            skipped_under_load: outcome.skipped_under_load,
        }
    }
}

/// The observers of the system while load runs.
struct Observers<'t, 'd, N> {
    deliveries: &'t mut [Delivery<'d, N>],
    sampler: &'t mut Sampler,
    metrics: &'t mut SystemMetrics<N>,
}

/// A load under way, the faults that are injected meanwhile, and what ends the loads beside it.
struct Loaded<'t, 'l, R, D> {
    load: &'t mut LoadPhases<'l, R>,
    driver: &'t D,
    faults: &'t FaultInjector<'l>,
    background: &'t BackgroundEnd,
}

/// The end of the measured load, and of those beside it.
async fn join_loads<R: LoadRun>(run: R, background: Background<R>) -> Result<Outcome, Failure> {
    let measured = timeout(ENGINE_END_AT_MOST, run.join());
    let (outcome, others) = tokio::join!(measured, background.join());
    let outcome = outcome.unwrap_or(Err(LoadError::NotEnded));
    let outcome = outcome.map_err(|why| Failure::new(why.to_string()))?;
    others?;
    Ok(outcome)
}

/// Runs `work` together with `concurrent`; if `concurrent` ends first, its abort is the result.
async fn race_abort<T>(
    work: impl Future<Output = Result<T, Abort>>,
    concurrent: impl Future<Output = Abort>,
) -> Result<T, Abort> {
    tokio::select! {
        biased;
        done = work => done,
        abort = concurrent => Err(abort),
    }
}
