//! A companion of a load: what goes on beside the measured load of a trial, in the hooks that the trial calls.

use std::{
    future::{Future, ready},
    pin::Pin,
    time::Duration,
};

use tokio::sync::watch;
use waggle_load::{Job, Outcome};
use waggle_results::TrialInfo;
use waggle_system::components::driver::Failure;

use crate::{
    clock::Clock,
    probe::DueInstants,
    trial::{
        Trial, TrialEnvironment,
        beside::{
            background::sums::MeasuredLoad,
            resend::{Content, Resends},
        },
        phases::Abort,
    },
};

/// Work of a companion. The trial stays on its thread.
pub(in crate::trial) type Work<'t, T> = Pin<Box<dyn Future<Output = T> + 't>>;

/// What a companion sees of its trial.
pub(in crate::trial) struct View<'t, D, W> {
    pub(in crate::trial) trial: &'t Trial<'t>,
    pub(in crate::trial) driver: &'t D,
    pub(in crate::trial) http: &'t W,
}

impl Trial<'_> {
    pub(in crate::trial) fn view<'t, D, L, W>(
        &'t self,
        environment: &'t TrialEnvironment<D, L, W>,
    ) -> View<'t, D, W> {
        View {
            trial: self,
            driver: &environment.driver,
            http: &environment.http,
        }
    }
}

/// The measured load before it begins.
pub(in crate::trial) struct MeasuredJob<'a> {
    pub(in crate::trial) job: Job,
    /// What the job sends.
    pub(in crate::trial) content: Content<'a>,
    /// All loads, once they have begun.
    pub(in crate::trial) resends: Resends<'a>,
    /// Before anything was sent; the mark of the records follows from it.
    pub(in crate::trial) before: Clock,
}

/// The measured load, which has started.
pub(in crate::trial) struct LoadCourse {
    pub(in crate::trial) clock: Clock,
    pub(in crate::trial) workers: usize,
    /// When its records fall due, if a schedule says that.
    pub(in crate::trial) due_instants: Option<DueInstants>,
    pub(in crate::trial) measured: MeasuredLoad,
    /// Whether the measured phase is over.
    pub(in crate::trial) is_measured: watch::Sender<bool>,
    /// Whether the companions that come to an end have done so.
    pub(in crate::trial) is_alone: watch::Sender<bool>,
}

impl LoadCourse {
    /// Returns when the companions that come to an end have done so.
    pub(in crate::trial) async fn wait_until_alone(&self) {
        // Its other end lives as long as this.
        let mut is_alone = self.is_alone.subscribe();
        is_alone.wait_for(|alone| *alone).await.ok();
    }
}

/// The parts of a trial in which companions work.
#[derive(Clone, Copy)]
pub(in crate::trial) enum Part<'t> {
    /// From the start of the warm-up until the last answers have come.
    Load(&'t LoadCourse),
    /// After a load that had this end.
    Drain(&'t Outcome),
}

/// What a companion does in a part of the trial.
pub(in crate::trial) enum Follow<'t> {
    Nothing,
    /// It goes on to the end of the part, and returns only if the trial cannot.
    Throughout(Work<'t, Abort>),
    /// The part is not over before it returns.
    UntilOver(Work<'t, Result<(), Abort>>),
}

/// What goes on beside the measured load. Hooks are in the order in which they are called; only `follow` has no default.
pub(in crate::trial) trait Companion<D, L, W> {
    /// Starts what runs when the measured load begins. If this fails, `end` is called.
    fn start<'t>(&'t mut self, _load: &'t mut L) -> Work<'t, Result<(), Failure>> {
        Box::pin(ready(Ok(())))
    }

    /// The measured load began a moment ago. If this fails, `end` is called.
    fn load_started(&mut self, _view: &View<'_, D, W>, _load: &LoadCourse) -> Result<(), Abort> {
        Ok(())
    }

    /// How long it may go on after the measured phase.
    fn beyond_measure(&self) -> Duration {
        Duration::ZERO
    }

    /// Its work in a part; dropped with the end of the part.
    fn follow<'t>(&'t mut self, view: &'t View<'t, D, W>, part: Part<'t>) -> Follow<'t>;

    /// Notes what it did under load, also if that was aborted.
    fn note_load(&mut self, _view: &View<'_, D, W>, _info: &mut TrialInfo) -> Result<(), Abort> {
        Ok(())
    }

    /// Asks at once what it has started to end; the work is to wait for that.
    fn end(&mut self) -> Work<'_, Result<(), Failure>> {
        Box::pin(ready(Ok(())))
    }

    /// Notes what is known only after the drain of a load that came to its end.
    fn collect<'t>(
        &'t mut self,
        _view: &'t View<'t, D, W>,
        _outcome: &'t Outcome,
        _info: &'t mut TrialInfo,
    ) -> Work<'t, Result<(), Abort>> {
        Box::pin(ready(Ok(())))
    }
}
