//! Fault injection: each replica is killed at its instant of the measured phase, and started again after its time.
//!
//! The driver kills and starts replicas. The usual observers measure the effects on the load and on records.

use std::{cell::RefCell, future::pending, rc::Rc, time::Duration};

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep_until};
use waggle_results::{FaultInfo, TrialInfo};
use waggle_study::{Cell, Fault, Probe};
use waggle_system::components::driver::{Driver, Failure};

use crate::{
    event::Event,
    event_sender::Events,
    trial::{
        beside::companion::{Companion, Follow, LoadCourse, Part, View},
        phases::{Abort, SPARE},
    },
};

/// A repeated kill that is later than this fails the trial.
const LATE_AT_MOST: Duration = Duration::from_millis(500);

/// Which components were killed and are ready again, for the probes that read them.
#[derive(Debug, Clone, Default)]
pub(in crate::trial) struct Restarts(Rc<RefCell<Vec<String>>>);

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
pub(in crate::trial) struct FaultInjector<'a> {
    cell: &'a Cell,
    events: &'a Events,
    restarts: Restarts,
    /// In the order in which they began.
    carried_out: RefCell<Vec<FaultInfo>>,
}

impl<'a> FaultInjector<'a> {
    pub(in crate::trial) fn new(cell: &'a Cell, events: &'a Events, restarts: Restarts) -> Self {
        Self {
            cell,
            events,
            restarts,
            carried_out: RefCell::default(),
        }
    }

    /// Carries out all faults; returns when the last killed replica is ready again.
    async fn carry_out<D: Driver>(&self, driver: &D, load: &LoadCourse) -> Result<(), Abort> {
        let measured = measured_start(load).await;
        let replicas = self.replicas().into_iter();
        let each = replicas.map(|name| self.of_replica(driver, name, measured));
        try_join_all(each).await.map(|_| ())
    }

    fn replicas(&self) -> Vec<String> {
        let mut names: Vec<String> = self.cell.faults.iter().map(Fault::name).collect();
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
        let of_it = self.cell.faults.iter().filter(|asked| asked.name() == name);
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
        let deadline = started + self.cell.schedule.ready_timeout;
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

impl<D: Driver, L, W> Companion<D, L, W> for FaultInjector<'_> {
    /// How long the last fault may last after the measured phase.
    fn beyond_measure(&self) -> Duration {
        let schedule = &self.cell.schedule;
        self.cell.last_restart().map_or(Duration::ZERO, |restart| {
            restart.saturating_sub(schedule.measure) + schedule.ready_timeout + SPARE
        })
    }

    /// Killed components must be ready again before the drain.
    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, part: Part<'t>) -> Follow<'t> {
        match part {
            Part::Load(load) if !self.cell.faults.is_empty() => {
                Follow::UntilOver(Box::pin(self.carry_out(view.driver, load)))
            }
            _ => Follow::Nothing,
        }
    }

    fn note_load(&mut self, _view: &View<'_, D, W>, info: &mut TrialInfo) -> Result<(), Abort> {
        info.faults = self.carried_out.take();
        Ok(())
    }
}

/// The start of the measured phase; waits until it is known.
async fn measured_start(load: &LoadCourse) -> Instant {
    let mut window = load.measured.window.clone();
    let known = window.wait_for(Option::is_some).await;
    let from = known
        .ok()
        .and_then(|window| window.map(|window| window.from));
    let Some(from) = from else {
        // The load ended before the measured phase.
        return pending().await;
    };
    let from = u32::try_from(from).unwrap_or(u32::MAX);
    load.clock
        .instant(load.measured.interval.saturating_mul(from))
}
