//! Two trials at the same time, one of each version of a cell: each waits for the other at the same points.
//!
//! Their systems are brought up one after the other, so that neither takes a port of the other. Their loads begin at the same time,
//! a warm-up that ends when the system is steady ends when both are, and the load of one goes on until the other one was measured,
//! too. If a trial fails before that, the other one fails with it: what it would measure has no pair.

use std::cell::Cell;

use tokio::sync::{Mutex, MutexGuard, watch};
use waggle_system::components::driver::Failure;

/// How far a trial of a duet has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Begun,
    /// Its system is up and checked.
    Ready,
    /// Its system is warm, and its measured phase may begin.
    Warm,
    /// Its measured phase is over.
    Measured,
}

/// What two trials share.
#[derive(Debug)]
pub(crate) struct Duet {
    /// `None`: the trial has failed before it was measured.
    stages: [watch::Sender<Option<Stage>>; 2],
    /// The interval with which both warm-ups end.
    warm_up_end: Cell<Option<u64>>,
    bring_up: Mutex<()>,
}

/// The part of one of the two trials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    duet: &'a Duet,
    own: usize,
}

impl Duet {
    pub(crate) fn new() -> Self {
        Self {
            stages: [Some(Stage::Begun), Some(Stage::Begun)].map(|stage| watch::channel(stage).0),
            warm_up_end: Cell::new(None),
            bring_up: Mutex::new(()),
        }
    }

    pub(crate) fn parts(&self) -> [Part<'_>; 2] {
        [0, 1].map(|index| Part {
            duet: self,
            own: index,
        })
    }
}

impl<'a> Part<'a> {
    /// Only the trial that has the guard may bring up its system.
    pub(crate) async fn turn_to_bring_up(self) -> MutexGuard<'a, ()> {
        self.duet.bring_up.lock().await
    }

    /// Notes that this trial has come so far, and waits for the other one.
    ///
    /// # Errors
    /// If the other one has failed.
    pub(crate) async fn meet(self, stage: Stage) -> Result<(), Failure> {
        self.reach(stage);
        let mut other = self.partner_stage().subscribe();
        let is_there = |other: &Option<Stage>| other.is_none_or(|other| other >= stage);
        match other.wait_for(is_there).await.as_deref() {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(partner_failed()),
        }
    }

    /// Whether a steady warm-up is over: with the interval after the first with which both were steady.
    pub(crate) fn is_warm(self, intervals: u64) -> bool {
        self.reach(Stage::Warm);
        let is_other_warm = self
            .partner_stage()
            .borrow()
            .is_some_and(|other| other >= Stage::Warm);
        let end = &self.duet.warm_up_end;
        if is_other_warm && end.get().is_none() {
            end.set(Some(intervals + 1));
        }
        end.get().is_some_and(|end| intervals >= end)
    }

    /// Returns when the other trial fails before it was measured.
    pub(crate) async fn partner_failure(self) -> Failure {
        let mut other = self.partner_stage().subscribe();
        // The sender lives as long as the duet.
        other.wait_for(Option::is_none).await.ok();
        partner_failed()
    }

    /// Notes that this trial has failed.
    pub(crate) fn fail(self) {
        self.own_stage().send_modify(|stage| {
            *stage = stage.filter(|stage| *stage >= Stage::Measured);
        });
    }

    fn reach(self, stage: Stage) {
        self.own_stage()
            .send_modify(|progress| *progress = progress.map(|progress| progress.max(stage)));
    }

    fn own_stage(self) -> &'a watch::Sender<Option<Stage>> {
        &self.duet.stages[self.own]
    }

    fn partner_stage(self) -> &'a watch::Sender<Option<Stage>> {
        &self.duet.stages[1 - self.own]
    }
}

fn partner_failed() -> Failure {
    Failure::new("the trial of the other version, at the same time, has failed")
}
