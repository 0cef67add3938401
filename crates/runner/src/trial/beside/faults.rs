//! Fault injection: at its instant of the measured phase each replica is killed, and started again after its time; components are
//! upgraded, and nodes drained.
//!
//! The driver does all of it. The usual observers measure the effects on the load and on records.

use std::{cell::RefCell, fmt, future::pending, rc::Rc, time::Duration};

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep_until};
use waggle_results::{FaultInfo, TrialInfo};
use waggle_spec::FaultKind;
use waggle_study::{Cell, Fault, FaultAction, Probe};
use waggle_system::components::driver::{Driver, Failure};

use crate::{
    event::Event,
    event_sender::Events,
    trial::{
        beside::companion::{Companion, Follow, LoadCourse, Part, View},
        phases::{Abort, SPARE},
    },
};

/// A fault that is later than this, because the one before it was not over, fails the trial.
const LATE_AT_MOST: Duration = Duration::from_millis(500);

/// Which components were restarted by faults and are ready again, for the probes that read them.
#[derive(Debug, Clone, Default)]
pub(in crate::trial) struct Restarts(Rc<RefCell<Vec<Restart>>>);

/// A component that is ready again, and what a sentence says of it.
#[derive(Debug, Clone)]
struct Restart {
    component: String,
    kind: FaultKind,
}

impl Restarts {
    /// Restarts of components whose data a probe shows, one entry for each restart of a replica: `store was killed`.
    pub(crate) fn restarts_behind(&self, probe: &Probe) -> Vec<String> {
        let restarts = self.0.borrow();
        let is_shown = |restart: &&Restart| {
            let mut sources = probe.sources();
            sources.any(|source| source == restart.component)
        };
        let shown = restarts.iter().filter(is_shown);
        shown.map(ToString::to_string).collect()
    }

    fn add(&self, component: &str, kind: FaultKind) {
        self.0.borrow_mut().push(Restart {
            component: component.to_owned(),
            kind,
        });
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.kind {
            FaultKind::Kill => "killed",
            FaultKind::Upgrade => "upgraded",
            FaultKind::Drain => "moved to another node",
        };
        write!(f, "{} was {how}", self.component)
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

    /// Carries out all faults; returns when the last one is over, and all is ready again.
    async fn carry_out<D: Driver>(&self, driver: &D, load: &LoadCourse) -> Result<(), Abort> {
        let measured = measured_start(load).await;
        let sequences = self.sequences().into_iter();
        let each = sequences.map(|faults| self.carry_out_sequence(driver, faults, measured));
        try_join_all(each).await.map(|_| ())
    }

    /// Faults that come one after the other: all of them, or those of one replica.
    fn sequences(&self) -> Vec<Vec<&'a Fault>> {
        let faults = &self.cell.faults;
        if Fault::are_in_sequence(faults) {
            return vec![faults.iter().collect()];
        }
        let mut names: Vec<String> = faults.iter().map(Fault::name).collect();
        names.sort();
        names.dedup();
        let of_replica = |name: &String| {
            let faults = faults.iter().filter(|asked| asked.name() == *name);
            faults.collect()
        };
        names.iter().map(of_replica).collect()
    }

    async fn carry_out_sequence<D: Driver>(
        &self,
        driver: &D,
        faults: Vec<&Fault>,
        measured: Instant,
    ) -> Result<(), Abort> {
        let mut before: Option<&Fault> = None;
        for asked in faults {
            let late = Instant::now().saturating_duration_since(measured + asked.at);
            if let Some(before) = before.filter(|_| late > LATE_AT_MOST) {
                return Err(Failure::new(late_text(before, asked, late)).into());
            }
            sleep_until(measured + asked.at).await;
            self.carry_out_fault(driver, asked, measured).await?;
            before = Some(asked);
        }
        Ok(())
    }

    async fn carry_out_fault<D: Driver>(
        &self,
        driver: &D,
        asked: &Fault,
        measured: Instant,
    ) -> Result<(), Abort> {
        let kind = asked.kind();
        let seconds = |instant: Instant| instant.saturating_duration_since(measured).as_secs_f64();
        let begun = Instant::now();
        let index = {
            let mut carried_out = self.carried_out.borrow_mut();
            carried_out.push(FaultInfo {
                kind,
                component: asked.component.clone(),
                replica: asked.replica,
                begun_s: seconds(begun),
                started_s: None,
                ready_s: None,
            });
            carried_out.len() - 1
        };
        let name = asked.name();
        self.events.show(Event::FaultBegan {
            kind,
            name: name.clone(),
        });
        let (component, replica) = (&asked.component, asked.replica.unwrap_or_default());
        let deadline = begun + self.cell.schedule.ready_timeout;
        let restarted = match &asked.action {
            FaultAction::Kill { restart_after } => {
                driver.kill(component, replica).await?;
                sleep_until(begun + *restart_after).await;
                let started = Instant::now();
                self.carried_out.borrow_mut()[index].started_s = Some(seconds(started));
                let deadline = started + self.cell.schedule.ready_timeout;
                driver.start_again(component, replica, deadline).await?;
                vec![component.clone()]
            }
            FaultAction::Upgrade { set, levels } => {
                let levels = (!set.is_empty()).then_some(levels);
                driver.upgrade(component, levels, deadline).await?
            }
            FaultAction::Drain => driver.drain(component, replica, deadline).await?,
        };
        let ready = Instant::now();
        self.carried_out.borrow_mut()[index].ready_s = Some(seconds(ready));
        for component in restarted {
            self.restarts.add(&component, kind);
        }
        let after = ready - begun;
        self.events.show(Event::UpAgain { name, after });
        Ok(())
    }
}

/// Why a fault cannot be carried out at its instant: the one before it was not over.
fn late_text(before: &Fault, asked: &Fault, late: Duration) -> String {
    let (name, moment) = (asked.name(), asked.at.as_secs_f64());
    let late = late.as_secs_f64();
    let kinds = [before.kind(), asked.kind()];
    if kinds == [FaultKind::Kill; 2] && before.name() == name {
        return format!(
            "{name} was to be killed again {moment} s into the measured phase, and was ready only {late} s later"
        );
    }
    let [before_kind, kind] = kinds.map(FaultKind::name);
    format!(
        "the {kind} of {name} was to begin {moment} s into the measured phase, and the {before_kind} of {} was over only {late} s later",
        before.name()
    )
}

impl<D: Driver, L, W> Companion<D, L, W> for FaultInjector<'_> {
    /// How long the last fault may last after the measured phase.
    fn beyond_measure(&self) -> Duration {
        let schedule = &self.cell.schedule;
        self.cell.last_restart().map_or(Duration::ZERO, |restart| {
            restart.saturating_sub(schedule.measure) + schedule.ready_timeout + SPARE
        })
    }

    /// All must be ready again before the drain.
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
