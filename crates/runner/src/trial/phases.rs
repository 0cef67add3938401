//! Runs one phase: its deadline, what can abort it, and when it ran.

use std::{future::Future, pin::pin, time::Duration};

use tokio::time::{Instant, sleep_until, timeout};
use waggle_results::{PhaseInfo, PhaseName, WriteError};
use waggle_system::{
    components::driver::{Death, Deaths, Failure},
    shutdown::Shutdown,
};

use crate::{clock::Clock, event::Event, event_sender::Events, trial::error::RunError};

/// Margin beyond the known end of a phase before it counts as hung.
pub(crate) const SPARE: Duration = Duration::from_secs(15);
/// After this time of a phase of which nothing is shown it is said what is waited for.
const QUIET_AT_MOST: Duration = Duration::from_secs(15);
/// Timeout for the end of the engine after an aborted trial.
pub(super) const ENGINE_END_AT_MOST: Duration = Duration::from_secs(15);
/// The supervisor waits a second for a component's last output before it reports its end, but a failed request shows it sooner.
const DEATH_TOLD_WITHIN: Duration = Duration::from_millis(1_500);

/// Why a trial does not go on to its next phase.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed {
        phase: PhaseName,
        failure: Failure,
    },
    /// A component ended by itself; its log has the details.
    Died {
        phase: PhaseName,
        death: Death,
    },
    /// The caller requests a stop.
    Interrupted,
    /// The run, not only the trial, cannot continue.
    Broken(RunError),
}

/// Why the work of a phase was not completed.
#[derive(Debug)]
pub(crate) enum Abort {
    Failed(Failure),
    Broken(RunError),
}

impl Abort {
    /// As the end of a phase.
    pub(crate) fn into_stop(self, phase: PhaseName) -> Stop {
        match self {
            Self::Failed(failure) => Stop::Failed { phase, failure },
            Self::Broken(problem) => Stop::Broken(problem),
        }
    }
}

impl From<Failure> for Abort {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<WriteError> for Abort {
    fn from(problem: WriteError) -> Self {
        Self::Broken(problem.into())
    }
}

/// How long a phase may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// `None` if it is not known in advance.
    pub(crate) expected: Option<Duration>,
    pub(crate) at_most: Duration,
}

impl Allowed {
    /// Of a phase whose length is not known in advance.
    pub(crate) fn limit(at_most: Duration) -> Self {
        let expected = None;
        Self { expected, at_most }
    }
}

/// The phases of one trial, as they run.
#[derive(Debug)]
pub(crate) struct Phases {
    events: Events,
    shutdown: Shutdown,
    /// Set once everything is ready.
    deaths: Option<Deaths>,
    ran: Vec<(PhaseName, Instant, Instant)>,
    /// That of the load; `None`: none has started.
    pub(crate) clock: Option<Clock>,
    pub(crate) counted: CountedSpans,
}

/// The phases that are counted in intervals, in seconds since the start of the load.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CountedSpans {
    /// Start and end of the measured intervals.
    pub(crate) measured: Option<(f64, f64)>,
    /// End of the intervals after the load had dropped.
    pub(crate) recovery_until: Option<f64>,
}

impl CountedSpans {
    /// A phase that is counted in intervals begins and ends with them, not when the runner noticed it. A load that ended by
    /// itself may have ended before the first of them: no phase ends before it begins.
    fn fit(self, phase: &mut PhaseInfo) {
        let Some((from, to)) = self.measured else {
            return;
        };
        let until = self.recovery_until.unwrap_or(to);
        match phase.phase {
            PhaseName::WarmUp => phase.end_s = from.max(phase.start_s),
            PhaseName::Measure => {
                (phase.start_s, phase.end_s) = (from, phase.end_s.clamp(from, to.max(from)));
            }
            PhaseName::Recovery => {
                (phase.start_s, phase.end_s) = (to, phase.end_s.clamp(to, until.max(to)));
            }
            PhaseName::Finish => phase.start_s = until.min(phase.end_s),
            _ => {}
        }
    }
}

impl Phases {
    pub(crate) fn new(events: Events, shutdown: Shutdown) -> Self {
        Self {
            events,
            shutdown,
            deaths: None,
            ran: Vec::new(),
            clock: None,
            counted: CountedSpans::default(),
        }
    }

    /// From here on a component that ends fails the trial, in any phase.
    pub(crate) fn watch(&mut self, deaths: Deaths) {
        self.deaths = Some(deaths);
    }

    /// From here on components end because they are asked to.
    pub(crate) fn watch_no_more(&mut self) {
        self.deaths = None;
    }

    /// Runs a phase until its work is done, its deadline is reached, a component dies or the caller requests a stop.
    pub(crate) async fn run<T>(
        &mut self,
        phase: PhaseName,
        allowed: Allowed,
        work: impl Future<Output = Result<T, Abort>>,
    ) -> Result<T, Stop> {
        let start = self.begin(phase, allowed).await;
        let mut deaths = self.deaths.clone();
        let mut shutdown = self.shutdown.clone();
        let death = async {
            match &mut deaths {
                Some(deaths) => deaths.next_death().await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            biased;
            () = shutdown.wait_for_stop() => Err(Stop::Interrupted),
            death = death => Err(Stop::Died { phase, death }),
            done = work => done.map_err(|abort| abort.into_stop(phase)),
            () = sleep_until(start + allowed.at_most) => {
                let reason = format!("not done within {} s", allowed.at_most.as_secs_f64());
                Err(Stop::Failed { phase, failure: Failure::new(reason) })
            }
        };
        let result = match result {
            Err(Stop::Failed { failure, .. }) => Err(self.cause(phase, failure).await),
            other => other,
        };
        self.end(phase, start);
        result
    }

    /// A failure is often the effect of a death: then the death is the cause.
    async fn cause(&mut self, phase: PhaseName, failure: Failure) -> Stop {
        let death = match &mut self.deaths {
            Some(deaths) => timeout(DEATH_TOLD_WITHIN, deaths.next_death()).await.ok(),
            None => None,
        };
        match death {
            Some(death) => Stop::Died { phase, death },
            None => Stop::Failed { phase, failure },
        }
    }

    /// Runs a phase that only its own limit can abort: tear-down. `None`: it reached that limit.
    pub(crate) async fn run_to_its_end<T>(
        &mut self,
        phase: PhaseName,
        at_most: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let start = self.begin(phase, Allowed::limit(at_most)).await;
        let mut work = pin!(work);
        let mut done = timeout(at_most.min(QUIET_AT_MOST), &mut work).await.ok();
        if done.is_none() && at_most > QUIET_AT_MOST {
            let notice = format!(
                "the system is not down after {} s: what does not end or go is waited for, at most {} s more",
                QUIET_AT_MOST.as_secs(),
                (at_most - QUIET_AT_MOST).as_secs()
            );
            self.events.report(Event::Notice(notice)).await;
            done = timeout(at_most - QUIET_AT_MOST, work).await.ok();
        }
        self.end(phase, start);
        done
    }

    /// The times of the phases, in seconds since the start of the load. If there was no load, the last phase ends at 0.
    pub(crate) fn phase_infos(&self) -> Vec<PhaseInfo> {
        let last_end = self.ran.last().map(|(_, _, end)| *end);
        let last_end = last_end.unwrap_or_else(Instant::now);
        let seconds = |instant: Instant| match self.clock {
            Some(clock) => clock.seconds(instant),
            None => -last_end.saturating_duration_since(instant).as_secs_f64(),
        };
        let info = |(phase, start, end): &(PhaseName, Instant, Instant)| PhaseInfo {
            phase: *phase,
            start_s: seconds(*start),
            end_s: seconds(*end),
        };
        let mut infos: Vec<PhaseInfo> = self.ran.iter().map(info).collect();
        infos.iter_mut().for_each(|phase| self.counted.fit(phase));
        infos
    }

    async fn begin(&self, phase: PhaseName, allowed: Allowed) -> Instant {
        let Allowed { expected, at_most } = allowed;
        self.events
            .report(Event::Phase {
                phase,
                expected,
                at_most,
            })
            .await;
        Instant::now()
    }

    fn end(&mut self, phase: PhaseName, start: Instant) {
        self.ran.push((phase, start, Instant::now()));
    }
}

/// Prepares the start of loads, unless the caller requests a stop meanwhile: nothing is sent yet.
pub(super) async fn race_stop<T>(
    set_up: impl Future<Output = Result<T, Abort>>,
    mut shutdown: Shutdown,
) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = shutdown.wait_for_stop() => Err(Stop::Interrupted),
        done = set_up => done.map_err(|abort| abort.into_stop(PhaseName::WarmUp)),
    }
}

/// Awaits the start of loads. If the caller requests a stop meanwhile, it is awaited all the same, up to a limit: some loads may have
/// begun by then, and only what was started can be ended and awaited.
pub(super) async fn await_start<T>(
    start: impl Future<Output = Result<T, Abort>>,
    mut shutdown: Shutdown,
) -> Result<T, Stop> {
    let mut start = pin!(start);
    tokio::select! {
        biased;
        started = &mut start => return started.map_err(|abort| abort.into_stop(PhaseName::WarmUp)),
        () = shutdown.wait_for_stop() => {}
    }
    match timeout(ENGINE_END_AT_MOST, start).await {
        Ok(Ok(started)) => Ok(started),
        Ok(Err(Abort::Broken(problem))) => Err(Stop::Broken(problem)),
        // A start that fails after the request most likely fails because of it.
        Ok(Err(Abort::Failed(_))) | Err(_) => Err(Stop::Interrupted),
    }
}

/// Runs `work` together with `concurrent`; if `concurrent` ends first, its abort is the result.
pub(super) async fn race_abort<T>(
    work: impl Future<Output = Result<T, Abort>>,
    concurrent: impl Future<Output = Abort>,
) -> Result<T, Abort> {
    tokio::select! {
        biased;
        done = work => done,
        abort = concurrent => Err(abort),
    }
}
