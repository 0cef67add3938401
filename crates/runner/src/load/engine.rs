//! The load engine for the trial: its blocking calls run on their own thread, results arrive as messages.

use std::{
    any::Any,
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use waggle_agents::Fleet;
use waggle_load::{
    Generators, Interval, Job, Outcome, Replace, ReplaceInGenerators, Running, Stop,
    StopGenerators, What, shares,
};

use crate::load::{
    generator_processes,
    load_run::{Load, LoadError, LoadRun, Replacer},
};

/// Intervals that may wait for the trial; the engine itself buffers more.
const INTERVALS_MAX: usize = 64;
/// How long the thread waits for an interval before it checks whether the run has ended.
const WAIT: Duration = Duration::from_millis(100);

/// The real load.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    /// A program that calls [`crate::generator()`] when its first argument is `__generator`.
    pub(crate) program: PathBuf,
    /// Agents on other hosts; `None`: loads are made here.
    pub(crate) fleet: Option<Arc<Fleet>>,
}

/// A load under way: in this process, or in several others.
enum UnderWay {
    Here(Running),
    Elsewhere(Box<Generators>),
}

/// Stops a load.
#[derive(Debug)]
enum StopLoad {
    Here(Stop),
    Elsewhere(StopGenerators),
}

/// Replaces what a load sends.
#[derive(Debug, Clone)]
enum ReplaceLoad {
    Here(Replace),
    Elsewhere(ReplaceInGenerators),
}

/// When a load started, what stops it, and what replaces what it sends.
struct Handles {
    started_unix_ns: u64,
    started_monotonic: Duration,
    stop: StopLoad,
    replace: ReplaceLoad,
}

impl ReplaceLoad {
    fn replace(&self, what: &What) -> Result<(), LoadError> {
        match self {
            Self::Here(replace) => Ok(replace.replace(what)?),
            Self::Elsewhere(replace) => Ok(replace.replace(what)?),
        }
    }
}

impl StopLoad {
    fn stop(&self) {
        match self {
            Self::Here(stop) => stop.stop(),
            Self::Elsewhere(stop) => stop.stop(),
        }
    }
}

impl UnderWay {
    /// On these agents, counted from 1.
    fn start_on_agents(
        mut job: Job,
        agents: RangeInclusive<usize>,
        fleet: &Fleet,
    ) -> Result<Self, LoadError> {
        // Numbers of CPUs are those of this machine.
        job.workers.fill(None);
        let links = fleet.open(agents)?;
        let load = Generators::start(&job, links)?;
        Ok(Self::Elsewhere(Box::new(load)))
    }

    fn start(job: Job, generators: u32, program: &Path) -> Result<Self, LoadError> {
        if generators <= 1 {
            return Ok(Self::Here(waggle_load::start(job)?));
        }
        let links = generator_processes::start(program, &job, generators)?;
        let load = Generators::start(&job, links)?;
        Ok(Self::Elsewhere(Box::new(load)))
    }

    fn handles(&self) -> Handles {
        match self {
            Self::Here(running) => Handles {
                started_unix_ns: running.started_unix_ns(),
                started_monotonic: running.started_monotonic(),
                stop: StopLoad::Here(running.stop_handle()),
                replace: ReplaceLoad::Here(running.replace_handle()),
            },
            Self::Elsewhere(running) => Handles {
                started_unix_ns: running.started_unix_ns(),
                started_monotonic: running.started_monotonic(),
                stop: StopLoad::Elsewhere(running.stop_handle()),
                replace: ReplaceLoad::Elsewhere(running.replace_handle()),
            },
        }
    }

    fn next_interval(&mut self) -> Result<Option<Interval>, LoadError> {
        match self {
            Self::Here(running) => Ok(running.next_interval(WAIT)),
            Self::Elsewhere(running) => Ok(running.next_interval(WAIT)?),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::Here(running) => running.has_ended(),
            Self::Elsewhere(running) => running.has_ended(),
        }
    }

    fn join(self) -> Result<Outcome, LoadError> {
        match self {
            Self::Here(running) => Ok(running.join()),
            Self::Elsewhere(running) => Ok(running.join()?),
        }
    }
}

impl Load for Engine {
    type Run = EngineRun;

    fn reserve_files(&self, jobs: &[&Job]) -> Result<(), LoadError> {
        Ok(waggle_load::reserve_files(jobs.iter().copied())?)
    }

    fn fleet(&self) -> Option<Arc<Fleet>> {
        self.fleet.clone()
    }

    async fn start(&mut self, job: Job, generators: u32) -> Result<EngineRun, LoadError> {
        let program = self.program.clone();
        match self.fleet.clone() {
            None => start_thread(move || UnderWay::start(job, generators, &program)).await,
            Some(fleet) => {
                let agents = 1..=shares(&job, generators as usize).len();
                start_thread(move || UnderWay::start_on_agents(job, agents, &fleet)).await
            }
        }
    }

    async fn start_on(&mut self, job: Job, agent: usize) -> Result<EngineRun, LoadError> {
        match self.fleet.clone() {
            None => self.start(job, 1).await,
            Some(fleet) => {
                start_thread(move || UnderWay::start_on_agents(job, agent..=agent, &fleet)).await
            }
        }
    }
}

/// Starts a load on a thread of its own, which passes on what comes of it.
async fn start_thread(
    start: impl FnOnce() -> Result<UnderWay, LoadError> + Send + 'static,
) -> Result<EngineRun, LoadError> {
    let (sender, intervals) = mpsc::channel(INTERVALS_MAX);
    let (outcome_sender, outcome) = oneshot::channel();
    let (begun_sender, begun) = oneshot::channel();
    thread::Builder::new()
        .name("load-intervals".to_owned())
        .spawn(move || run_load(start, begun_sender, outcome_sender, &sender))
        .map_err(LoadError::Thread)?;
    let Handles {
        started_unix_ns,
        started_monotonic,
        stop,
        replace,
    } = begun.await.unwrap_or(Err(LoadError::Lost))?;
    Ok(EngineRun {
        started_unix_ns,
        started_monotonic,
        stop,
        replace,
        intervals,
        outcome,
    })
}

/// Starts the load, and passes on what comes of it.
fn run_load(
    start: impl FnOnce() -> Result<UnderWay, LoadError>,
    begun: oneshot::Sender<Result<Handles, LoadError>>,
    outcome: oneshot::Sender<Result<Outcome, LoadError>>,
    intervals: &mpsc::Sender<Result<Interval, LoadError>>,
) {
    let load = match without_panic(start) {
        Ok(load) => load,
        Err(why) => {
            begun.send(Err(why)).ok();
            return;
        }
    };
    // The receiver is gone if the trial was aborted; dropping the load stops it.
    if begun.send(Ok(load.handles())).is_ok() {
        outcome.send(hand_over(load, intervals)).ok();
    }
}

/// Passes every interval on, then waits for the end. A failure takes the place of the next interval, and then of the outcome.
fn hand_over(
    load: UnderWay,
    to: &mpsc::Sender<Result<Interval, LoadError>>,
) -> Result<Outcome, LoadError> {
    let stop = load.handles().stop;
    match without_panic(|| pass_on(load, &stop, to)) {
        Ok(outcome) => Ok(outcome),
        Err(why) => {
            stop.stop();
            to.blocking_send(Err(why)).ok();
            Err(LoadError::Lost)
        }
    }
}

fn pass_on(
    mut load: UnderWay,
    stop: &StopLoad,
    to: &mpsc::Sender<Result<Interval, LoadError>>,
) -> Result<Outcome, LoadError> {
    loop {
        let Some(interval) = load.next_interval()? else {
            if load.has_ended() {
                return load.join();
            }
            continue;
        };
        if to.blocking_send(Ok(interval)).is_err() {
            stop.stop();
            return load.join();
        }
    }
}

/// A panic of the engine is returned as an error.
fn without_panic<T>(run: impl FnOnce() -> Result<T, LoadError>) -> Result<T, LoadError> {
    let ended = catch_unwind(AssertUnwindSafe(run));
    ended.unwrap_or_else(|panic| {
        Err(LoadError::Panicked {
            message: text_of(&*panic).to_owned(),
        })
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// A run of the engine.
#[derive(Debug)]
pub(crate) struct EngineRun {
    started_unix_ns: u64,
    started_monotonic: Duration,
    stop: StopLoad,
    replace: ReplaceLoad,
    intervals: mpsc::Receiver<Result<Interval, LoadError>>,
    outcome: oneshot::Receiver<Result<Outcome, LoadError>>,
}

impl Drop for EngineRun {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl LoadRun for EngineRun {
    async fn next_interval(&mut self) -> Result<Option<Interval>, LoadError> {
        self.intervals.recv().await.transpose()
    }

    fn started_unix_ns(&self) -> u64 {
        self.started_unix_ns
    }

    fn started_monotonic(&self) -> Duration {
        self.started_monotonic
    }

    fn stop(&self) {
        self.stop.stop();
    }

    fn replacer(&self) -> Replacer {
        let replace = self.replace.clone();
        Box::new(move |what| replace.replace(what))
    }

    async fn join(mut self) -> Result<Outcome, LoadError> {
        self.intervals.close();
        // A failure that was found after the last interval was taken.
        while let Some(interval) = self.intervals.recv().await {
            interval?;
        }
        (&mut self.outcome).await.unwrap_or(Err(LoadError::Lost))
    }
}
