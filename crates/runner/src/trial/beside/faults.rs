//! Fault injection: each replica is killed at its instant of the measured phase, and started again after its time.
//!
//! The driver kills and starts replicas. The usual observers measure the effects on the load and on records.

use std::{cell::RefCell, future::pending, rc::Rc, time::Duration};

use futures_util::future::try_join_all;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use waggle_results::FaultInfo;
use waggle_study::{Cell, Fault, Probe};
use waggle_system::components::driver::{Driver, Failure};

use crate::{
    clock::Clock,
    event::Event,
    event_sender::Events,
    probe::Window,
    trial::phases::{Abort, SPARE},
};

/// A repeated kill that is later than this fails the trial.
const LATE_AT_MOST: Duration = Duration::from_millis(500);

/// Which components were killed and are ready again, for the probes that read them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Restarts(Rc<RefCell<Vec<String>>>);

impl Restarts {
    /// Restarted components whose data a probe shows, one entry for each restart of a replica.
    pub(crate) fn restarts_behind(&self, probe: &Probe) -> Vec<String> {
        let names = self.0.borrow();
        let shown = |name: &&String| probe.sources().any(|source| source == name.as_str());
        names.iter().filter(shown).cloned().collect()
    }

    fn add(&self, component: &str) {
        self.0.borrow_mut().push(component.to_owned());
    }
}

/// The faults of one trial.
#[derive(Debug)]
pub(crate) struct FaultInjector<'a> {
    /// In the order of their instants.
    asked: &'a [Fault],
    ready_timeout: Duration,
    interval: Duration,
    clock: Clock,
    window: watch::Receiver<Option<Window>>,
    events: &'a Events,
    restarts: Restarts,
    /// In the order in which they began.
    carried_out: RefCell<Vec<FaultInfo>>,
    is_over: watch::Sender<bool>,
}

/// How long the last fault may last after the measured phase.
pub(crate) fn beyond_measure(cell: &Cell) -> Duration {
    let schedule = &cell.schedule;
    cell.last_restart().map_or(Duration::ZERO, |restart| {
        restart.saturating_sub(schedule.measure) + schedule.ready_timeout + SPARE
    })
}

/// The time axis of the trial, and its measured phase once that is known.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) clock: Clock,
    pub(crate) window: watch::Receiver<Option<Window>>,
}

impl<'a> FaultInjector<'a> {
    pub(crate) fn new(cell: &'a Cell, axis: Axis, events: &'a Events, restarts: Restarts) -> Self {
        let Axis { clock, window } = axis;
        Self {
            asked: &cell.faults,
            ready_timeout: cell.schedule.ready_timeout,
            interval: cell.schedule.interval,
            clock,
            window,
            events,
            restarts,
            carried_out: RefCell::default(),
            is_over: watch::channel(false).0,
        }
    }

    /// Carries out all faults; returns only if one fails.
    pub(crate) async fn carry_out<D: Driver>(&self, driver: &D) -> Abort {
        if !self.asked.is_empty() {
            let measured = self.measured_start().await;
            let replicas = self.replicas().into_iter();
            let each = replicas.map(|name| self.of_replica(driver, name, measured));
            if let Err(abort) = try_join_all(each).await {
                return abort;
            }
        }
        self.is_over.send_replace(true);
        pending().await
    }

    /// Returns when the last killed replica is ready again.
    pub(crate) async fn wait_until_over(&self) {
        let mut is_over = self.is_over.subscribe();
        if is_over.wait_for(|over| *over).await.is_err() {
            unreachable!("its other end lives as long as this");
        }
    }

    /// The faults that were carried out so far.
    pub(crate) fn fault_infos(&self) -> Vec<FaultInfo> {
        self.carried_out.borrow().clone()
    }

    /// The start of the measured phase; waits until it is known.
    async fn measured_start(&self) -> Instant {
        let mut window = self.window.clone();
        let known = window.wait_for(Option::is_some).await;
        let from = known
            .ok()
            .and_then(|window| window.map(|window| window.from));
        let Some(from) = from else {
            // The load ended before the measured phase.
            return pending().await;
        };
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        self.clock.instant(self.interval.saturating_mul(from))
    }

    fn replicas(&self) -> Vec<String> {
        let mut names: Vec<String> = self.asked.iter().map(Fault::name).collect();
        names.sort();
        names.dedup();
        names
    }

    /// All faults of one replica, one after the other.
    async fn of_replica<D: Driver>(
        &self,
        driver: &D,
        name: String,
        measured: Instant,
    ) -> Result<(), Abort> {
        let of_it = self.asked.iter().filter(|asked| asked.name() == name);
        for (before, asked) in of_it.enumerate() {
            let late = Instant::now().saturating_duration_since(measured + asked.at);
            if before > 0 && late > LATE_AT_MOST {
                let why = format!(
                    "{name} was to be killed again {} s into the measured phase, and was ready only {} s later",
                    asked.at.as_secs_f64(),
                    late.as_secs_f64()
                );
                return Err(Failure::new(why).into());
            }
            sleep_until(measured + asked.at).await;
            self.kill_and_restart(driver, asked, measured).await?;
        }
        Ok(())
    }

    async fn kill_and_restart<D: Driver>(
        &self,
        driver: &D,
        asked: &Fault,
        measured: Instant,
    ) -> Result<(), Abort> {
        let (component, replica) = (&asked.component, asked.replica);
        let seconds = |instant: Instant| instant.saturating_duration_since(measured).as_secs_f64();
        let killed = Instant::now();
        let index = {
            let mut carried_out = self.carried_out.borrow_mut();
            carried_out.push(FaultInfo {
                component: component.clone(),
                replica,
                killed_s: seconds(killed),
                started_s: None,
                ready_s: None,
            });
            carried_out.len() - 1
        };
        self.events.show(Event::Killed {
            replica: asked.name(),
        });
        driver.kill(component, replica).await?;
        sleep_until(killed + asked.restart_after).await;
        let started = Instant::now();
        self.carried_out.borrow_mut()[index].started_s = Some(seconds(started));
        let deadline = started + self.ready_timeout;
        driver.start_again(component, replica, deadline).await?;
        let ready = Instant::now();
        self.carried_out.borrow_mut()[index].ready_s = Some(seconds(ready));
        self.restarts.add(component);
        self.events.show(Event::UpAgain {
            replica: asked.name(),
            after: ready - killed,
        });
        Ok(())
    }
}
