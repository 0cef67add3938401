//! The way of one trial through its phases, and its tear-down.

use std::{
    cell::RefCell,
    future::{Future, pending},
    pin::pin,
    time::Duration,
};

use futures_util::future::{select_all, try_join_all};
use tokio::time::{Instant, timeout};
use waggle_load::Outcome;
use waggle_results::{PhaseName, TrialWriter};
use waggle_study::System;

use crate::{
    clock::Clock,
    cpu_time::Ticks,
    driver::{Driver, Failure, Setup},
    events::{Events, Shutdown},
    job,
    load::{Load, LoadError, LoadRun},
    trial::{
        Means, Order,
        delivery::{Delivery, DrainTimes, Sent},
        disturbing::{self, Disturbing},
        phases::{Allowed, Cut, Phases, SPARE, Stop},
        rehearsal,
        report::Report,
        resources::Sampler,
        start::{self, Started},
        system_metrics::SystemMetrics,
        under_load::UnderLoad,
        verify,
    },
    web::{Line, Web},
};

/// Writing down what was found.
const COLLECT_AT_MOST: Duration = Duration::from_secs(60);
/// How long an engine is awaited whose trial was cut short.
const ENGINE_END_AT_MOST: Duration = Duration::from_secs(15);

/// One trial on its way.
pub(crate) struct Trial<'a> {
    pub(crate) order: Order<'a>,
    pub(crate) events: &'a Events,
    pub(crate) shutdown: &'a Shutdown,
    pub(crate) writer: &'a RefCell<TrialWriter>,
}

impl Trial<'_> {
    /// Every phase up to the one in which results are collected. A load run that was cut short is left in `cut_short`.
    pub(crate) async fn forward<D: Driver, L: Load, W: Web>(
        &self,
        means: &mut Means<D, L, W>,
        phases: &mut Phases,
        report: &mut Report,
        cut_short: &mut Option<L::Run>,
    ) -> Result<(), Stop> {
        self.bring_up(means, phases).await?;
        let started = start::start(self, means).map_err(|cut| cut.into_stop(PhaseName::WarmUp))?;
        let Started {
            mut load,
            mut deliveries,
            mut metrics,
            disturbing,
            clock,
            workers,
        } = started;
        report.set_start(clock, workers, self.order.cell, self.order.possible_per_s);
        let mut sampler = Sampler::new(Instant::now(), clock, means.driver.usage());
        let came = {
            let observers = Observers {
                deliveries: &mut deliveries,
                sampler: &mut sampler,
                metrics: &mut metrics,
            };
            let watch = self.watch(observers, &means.driver);
            let beside = async {
                tokio::select! {
                    cut = watch => cut,
                    cut = disturbing.carry_out(&means.driver) => cut,
                }
            };
            let loaded = Loaded {
                load: &mut load,
                driver: &means.driver,
                disturbing: &disturbing,
            };
            self.under_load(loaded, phases, report, beside).await
        };
        self.write_missed_usage(&mut sampler, &means.driver)?;
        report.faults = disturbing.fault_infos();
        report.set_measured(&load.progress, self.order.cell);
        if let Err(stop) = came {
            *cut_short = Some(load.run);
            return Err(stop);
        }
        let outcome = timeout(ENGINE_END_AT_MOST, load.run.join()).await;
        let outcome = outcome.unwrap_or(Err(LoadError::NotEnded));
        let outcome = outcome
            .map_err(|why| Cut::from(Failure::new(why.to_string())).into_stop(PhaseName::Finish))?;
        report.set_end(&outcome);
        if let Some(why) = self.lost_server_reason(&outcome) {
            return Err(Cut::from(Failure::new(why)).into_stop(PhaseName::Measure));
        }
        if !deliveries.is_empty() {
            let beside = (&mut sampler, &mut metrics);
            self.drain(&mut deliveries, beside, &means.driver, phases, &outcome)
                .await?;
        }
        let allowed = Allowed {
            expected: None,
            at_most: COLLECT_AT_MOST,
        };
        let collect = async {
            metrics.read_last(self.writer).await?;
            report.remarks.extend(metrics.remarks());
            self.collect(&deliveries, report, &outcome)
        };
        phases.run(PhaseName::Collect, allowed, collect).await
    }

    /// Why a load that was to end by its count has ended before: its server has left it.
    fn lost_server_reason(&self, outcome: &Outcome) -> Option<String> {
        let seconds = outcome.unconnected_for?.as_secs_f64();
        let sent = outcome.totals.sent;
        let of = self.order.cell.schedule.requests_in_all();
        let of = of.map_or_else(String::new, |all| format!(" of {all}"));
        Some(format!(
            "no connection stood for {seconds:.0} s, so the load ended after {sent}{of} requests"
        ))
    }

    async fn bring_up<D: Driver, L: Load, W: Web>(
        &self,
        means: &mut Means<D, L, W>,
        phases: &mut Phases,
    ) -> Result<(), Stop> {
        let Order {
            system,
            secrets,
            cell,
            folder,
            logs,
            ..
        } = self.order;
        let at_most = cell.schedule.ready_timeout;
        let setup = Setup {
            parameters: &cell.parameters,
            secrets,
            folder,
            logs,
            deadline: Instant::now() + at_most,
        };
        // The driver keeps the deadline itself and can say what was not ready; the phase's own is for one that hangs.
        let allowed = Allowed {
            expected: None,
            at_most: at_most + SPARE,
        };
        if !self.order.is_up {
            phases
                .run(PhaseName::Up, allowed, async {
                    Ok(means.driver.start_all(setup).await?)
                })
                .await?;
            phases
                .run(PhaseName::Ready, allowed, async {
                    Ok(means.driver.ready(setup).await?)
                })
                .await?;
        }
        // Nobody here learns of the end of a server that somebody else runs.
        if system.external.is_none() {
            phases.watch(means.driver.deaths());
        }
        let allowed = Allowed {
            expected: None,
            at_most: verify::at_most(system) + SPARE,
        };
        if let Some(server) = &system.external {
            if !server.smoke_test {
                return Ok(());
            }
            return self.rehearse(means, phases).await;
        }
        let verify = async {
            let target = verify::Target { system, secrets };
            Ok(verify::verify(target, &means.driver, &means.web).await?)
        };
        phases.run(PhaseName::Verify, allowed, verify).await
    }

    /// A server that somebody else runs has no check of its own here.
    async fn rehearse<D: Driver, L: Load, W: Web>(
        &self,
        means: &mut Means<D, L, W>,
        phases: &mut Phases,
    ) -> Result<(), Stop> {
        let allowed = Allowed {
            expected: None,
            at_most: rehearsal::AT_MOST + job::finish(self.order.cell) + SPARE,
        };
        let rehearse = async {
            // What it writes is not the trial's, nor that of another rehearsal.
            let run = format!(
                "rehearsal{}",
                start::mark(Clock::start(), self.order.position)
            );
            let job = start::job_of(self.order, &means.driver, &run)?;
            Ok(rehearsal::rehearse(&mut means.load, job).await?)
        };
        phases.run(PhaseName::Verify, allowed, rehearse).await
    }

    /// The phases in which load runs, with `beside` going on all the while.
    async fn under_load<R: LoadRun, D: Driver>(
        &self,
        loaded: Loaded<'_, '_, R, D>,
        phases: &mut Phases,
        report: &mut Report,
        beside: impl Future<Output = Cut>,
    ) -> Result<(), Stop> {
        let Loaded {
            load,
            driver,
            disturbing,
        } = loaded;
        let cell = self.order.cell;
        let schedule = &cell.schedule;
        let mut beside = pin!(beside);
        let expected = Some(schedule.warm_up);
        let allowed = Allowed {
            expected,
            at_most: schedule.warm_up + SPARE,
        };
        let work = race_abort(load.warm_up(schedule, driver), beside.as_mut());
        report.warm_up_steady = phases.run(PhaseName::WarmUp, allowed, work).await?;
        let allowed = Allowed {
            expected: Some(schedule.measure),
            at_most: schedule.measure + SPARE,
        };
        let before = self.cpu_ticks();
        phases
            .run(
                PhaseName::Measure,
                allowed,
                race_abort(load.measure(cell), beside.as_mut()),
            )
            .await?;
        report.cpus_while_measured(self.order.clocks, before);
        // A load that was ended while it was measured does not fall.
        if let Some(recovery) = &schedule.recovery
            && !load.progress.was_enough
        {
            let allowed = Allowed {
                expected: Some(recovery.duration),
                at_most: recovery.duration + SPARE,
            };
            let work = race_abort(load.recover(cell, recovery), beside.as_mut());
            phases.run(PhaseName::Recovery, allowed, work).await?;
        }
        let allowed = Allowed {
            expected: None,
            at_most: job::finish(cell) + disturbing::beyond_measure(cell) + SPARE,
        };
        // What is to drain must be whole again.
        let finish = async {
            load.finish().await?;
            disturbing.wait_until_over().await;
            Ok(())
        };
        phases
            .run(
                PhaseName::Finish,
                allowed,
                race_abort(finish, beside.as_mut()),
            )
            .await
    }

    fn cpu_ticks(&self) -> Option<Ticks> {
        self.order.clocks?.read()
    }

    /// What goes on beside the load: looks at the places, samples of CPU, memory and metrics. Ends only where the disk
    /// refuses.
    async fn watch<D: Driver, N: Line>(&self, observers: Observers<'_, '_, N>, driver: &D) -> Cut {
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
            cut = follow => cut,
            cut = self.sample(observers.sampler, driver) => cut,
            cut = observers.metrics.follow(self.writer) => cut,
        }
    }

    async fn sample<D: Driver>(&self, sampler: &mut Sampler, driver: &D) -> Cut {
        let period = self.order.cell.schedule.sampling_interval;
        let mut next = Instant::now();
        loop {
            // Late samples are not made up for: a row says how long its period was by its instant.
            next = (next + period).max(Instant::now());
            tokio::time::sleep_until(next).await;
            if let Err(cut) = self.write_usage(sampler, driver) {
                return cut;
            }
        }
    }

    /// The one row of a load that was shorter than the sampling period.
    fn write_missed_usage<D: Driver>(&self, sampler: &mut Sampler, driver: &D) -> Result<(), Stop> {
        if !sampler.has_no_rows() {
            return Ok(());
        }
        self.write_usage(sampler, driver)
            .map_err(|cut| cut.into_stop(PhaseName::Finish))
    }

    fn write_usage<D: Driver>(&self, sampler: &mut Sampler, driver: &D) -> Result<(), Cut> {
        for row in sampler.sample(Instant::now(), driver.usage()) {
            self.writer.borrow_mut().resource(&row)?;
        }
        Ok(())
    }

    async fn drain<D: Driver, N: Line>(
        &self,
        deliveries: &mut [Delivery<'_, N>],
        (sampler, metrics): (&mut Sampler, &mut SystemMetrics<N>),
        driver: &D,
        phases: &mut Phases,
        outcome: &Outcome,
    ) -> Result<(), Stop> {
        let cell = self.order.cell;
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
        let beside = async {
            tokio::select! {
                cut = self.sample(sampler, driver) => cut,
                cut = metrics.follow(self.writer) => cut,
            }
        };
        phases
            .run(PhaseName::Drain, allowed, race_abort(work, beside))
            .await
    }

    fn collect<N: Line>(
        &self,
        deliveries: &[Delivery<'_, N>],
        report: &mut Report,
        outcome: &Outcome,
    ) -> Result<(), Cut> {
        for delivery in deliveries {
            let found = delivery.collect(self.sent_records(outcome), self.writer)?;
            report.add_probe_result(delivery.place, found, delivery.remarks());
        }
        Ok(())
    }

    fn sent_records<'o>(&self, outcome: &'o Outcome) -> Sent<'o> {
        Sent {
            accounts: &outcome.request_outcomes,
            records_per_request: job::records_per_request(self.order.cell),
        }
    }

    /// Stops everything, however far it came.
    pub(crate) async fn tear_down<D: Driver, L: Load, W: Web>(
        &self,
        means: &mut Means<D, L, W>,
        phases: &mut Phases,
        report: &mut Report,
        cut_short: Option<L::Run>,
    ) {
        if let Some(run) = &cut_short {
            run.stop();
        }
        phases.watch_no_more();
        let at_most = down_at_most(self.order.system);
        match phases
            .run_to_its_end(PhaseName::Down, at_most, means.driver.stop_all())
            .await
        {
            Some(remarks) => report.remarks.extend(remarks),
            None => report.remarks.push(format!(
                "tear-down took longer than {} s",
                at_most.as_secs()
            )),
        }
        // Its connections are gone with the system, so nothing keeps it; those to a server that goes on are not awaited by whoever
        // has asked twice for an end.
        let mut shutdown = self.shutdown.clone();
        let is_awaited = !shutdown.load_is_to_end();
        let asked_again = async {
            match is_awaited {
                true => pending().await,
                false => shutdown.wait_for_stop().await,
            }
        };
        let Some(run) = cut_short else {
            return;
        };
        tokio::select! {
            biased;
            () = asked_again => {}
            ended = timeout(ENGINE_END_AT_MOST, run.join()) => {
                if let Ok(Ok(outcome)) = ended {
                    report.set_end(&outcome);
                }
            }
        }
    }
}

/// What looks at the system while load runs.
struct Observers<'t, 'd, N> {
    deliveries: &'t mut [Delivery<'d, N>],
    sampler: &'t mut Sampler,
    metrics: &'t mut SystemMetrics<N>,
}

/// A load under way, and what is done to the system meanwhile.
struct Loaded<'t, 'l, R, D> {
    load: &'t mut UnderLoad<'l, R>,
    driver: &'t D,
    disturbing: &'t Disturbing<'l>,
}

/// `work`, while `beside` goes on; `beside` ends only to cut it short.
async fn race_abort<T>(
    work: impl Future<Output = Result<T, Cut>>,
    beside: impl Future<Output = Cut>,
) -> Result<T, Cut> {
    tokio::select! {
        biased;
        done = work => done,
        cut = beside => Err(cut),
    }
}

/// Every component may take its time to stop, one after the other.
fn down_at_most(system: &System) -> Duration {
    system
        .components
        .iter()
        .map(|component| component.stop_timeout + SPARE)
        .sum::<Duration>()
        + SPARE
}
