//! Starts a job, hands out its intervals and stops it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::Ordering,
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TryRecvError},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::{io::Errno, thread::CpuSet};

use crate::{
    control::{
        replacement::{Replace, ReplaceError},
        shared::Shared,
        validate::{self, StartError},
    },
    job::{
        Job, What,
        partition::{Partition, due_of, partitions},
        share::Share,
    },
    machine::clock::{Clock, whole_nanoseconds},
    recording::{
        merge::Merger,
        outcome::{Counts, Interval, Outcome, StepCounts, first_of, merge_examples},
        recorder::{Exchange, Slice},
    },
    scenario::{
        kept::{Kept, KeptRows, merge_kept},
        mismatch::merge as merge_mismatches,
    },
    worker::{End, Worker},
};

/// Slices that each worker may hand over before they must be taken.
const SLICES_WAITING: usize = 16;

/// A running load. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    collector: Mutex<Collector>,
    threads: Vec<JoinHandle<End>>,
    clock: Clock,
    connections_asked: u64,
    step_names: Vec<String>,
    kept_columns: usize,
    replace: Replace,
}

/// Stops a run from another thread.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Shared>);

#[derive(Debug)]
struct Collector {
    merger: Merger,
    filled: Receiver<Box<Slice>>,
    emptied: Vec<SyncSender<Box<Slice>>>,
}

/// A worker that waits for the run's clock to start.
struct Waiting {
    thread: JoinHandle<End>,
    ready: Receiver<Result<(), StartError>>,
    go: SyncSender<Clock>,
}

/// Starts a job: one thread for each worker, all set up before the clock starts.
///
/// # Errors
/// If the job is impossible, or this machine does not allow it.
pub fn start(job: Job) -> Result<Running, StartError> {
    let whole = Share::of_all(&job);
    Ok(SetUp::new(&job, whole)?.run(Clock::start()))
}

/// Raises the limit of open files if these jobs, all in this process at once, would exceed it. A start does that for its own job,
/// but does not see the connections which those before it have yet to open.
///
/// # Errors
/// If this machine does not allow as many open files.
pub fn reserve_files<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Result<(), StartError> {
    let jobs = jobs.into_iter();
    let files = jobs.map(|job| Share::of_all(job).files(job));
    validate::raise_file_limit(files.sum())
}

/// The workers of a share, all of which wait for the clock.
pub(crate) struct SetUp {
    shared: Arc<Shared>,
    collector: Collector,
    waiting: Vec<Waiting>,
    connections_asked: u64,
    step_names: Vec<String>,
    kept_columns: usize,
    replace: Replace,
}

impl SetUp {
    /// Starts the threads of a share of a job.
    pub(crate) fn new(job: &Job, share: Share) -> Result<Self, StartError> {
        validate::check(job)?;
        // Before anything is made for each connection.
        validate::raise_file_limit(share.files(job))?;
        let partitions = partitions(job, share);
        let shared = Arc::new(Shared::default());
        let replace = Replace::new(job, Arc::clone(&shared), partitions.len());
        let interval = whole_nanoseconds(job.interval);
        let merger = Merger::new(partitions.len(), interval, due_of(job));
        let (filled, taken) = mpsc::sync_channel(SLICES_WAITING * partitions.len());
        let mut emptied = Vec::new();
        let mut waiting = Vec::new();
        for (number, partition) in partitions.into_iter().enumerate() {
            let (give_back, given_back) = mpsc::sync_channel(SLICES_WAITING);
            emptied.push(give_back);
            let exchange = Exchange {
                source: number,
                filled: filled.clone(),
                emptied: given_back,
            };
            waiting.push(spawn(job, partition, exchange, Arc::clone(&shared))?);
        }
        for worker in &waiting {
            // A worker that ends without an answer has panicked; joining it resumes the panic.
            worker.ready.recv().unwrap_or(Ok(()))?;
        }
        Ok(Self {
            shared,
            collector: Collector {
                merger,
                filled: taken,
                emptied,
            },
            waiting,
            connections_asked: u64::from(job.model.connections()),
            step_names: step_names(job),
            kept_columns: kept_columns(job),
            replace,
        })
    }

    /// Lets the clock begin, which may be in the future.
    pub(crate) fn run(self, clock: Clock) -> Running {
        let threads = self.waiting.into_iter().map(|worker| {
            let _ = worker.go.send(clock);
            worker.thread
        });
        Running {
            shared: self.shared,
            collector: Mutex::new(self.collector),
            threads: threads.collect(),
            clock,
            connections_asked: self.connections_asked,
            step_names: self.step_names,
            kept_columns: self.kept_columns,
            replace: self.replace,
        }
    }
}

/// Number of values that each session keeps.
pub(crate) fn kept_columns(job: &Job) -> usize {
    match &job.what {
        What::Requests { .. } => 0,
        What::Scenario(scenario) => {
            let preparation = scenario.preparation.as_ref();
            preparation.map_or(0, |preparation| preparation.keeps.len())
        }
    }
}

/// Names of a scenario's steps; empty without one.
pub(crate) fn step_names(job: &Job) -> Vec<String> {
    match &job.what {
        What::Requests { .. } => Vec::new(),
        What::Scenario(scenario) => scenario.steps.clone(),
    }
}

fn spawn(
    job: &Job,
    partition: Partition,
    exchange: Exchange,
    shared: Arc<Shared>,
) -> Result<Waiting, StartError> {
    let (say_ready, ready) = mpsc::sync_channel(1);
    let (go, start) = mpsc::sync_channel(1);
    let job = job.clone();
    let name = format!("load-{}", partition.worker);
    let set_up = move || {
        pin(job.workers[partition.worker])?;
        Worker::set_up(job, &partition, exchange, shared)
    };
    let thread = std::thread::Builder::new()
        .name(name)
        .spawn(move || run_worker(set_up(), &say_ready, &start))
        .map_err(StartError::Thread)?;
    Ok(Waiting { thread, ready, go })
}

/// Says whether a worker could be set up, and runs it as soon as it gets its clock.
fn run_worker(
    set_up: Result<Worker, StartError>,
    say_ready: &SyncSender<Result<(), StartError>>,
    start: &Receiver<Clock>,
) -> End {
    let worker = match set_up {
        Ok(worker) => worker,
        Err(error) => {
            let _ = say_ready.send(Err(error));
            return End::default();
        }
    };
    let _ = say_ready.send(Ok(()));
    // No clock is sent if another worker could not be set up.
    start
        .recv()
        .map_or_else(|_| End::default(), |clock| worker.run(clock))
}

fn pin(cpu: Option<usize>) -> Result<(), StartError> {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu >= CpuSet::MAX_CPU {
        return Err(StartError::Pin {
            cpu,
            error: Errno::INVAL,
        });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| StartError::Pin { cpu, error })
}

impl Running {
    /// The next interval of all workers together, in order; `None` if none was complete within `wait`, or if the run has ended
    /// and all were handed out.
    ///
    /// If intervals were not taken for a while, those that the channel had no room for are merged into one, which is longer than
    /// the job's interval. Its start and length show that.
    pub fn next_interval(&self, wait: Duration) -> Option<Interval> {
        let deadline = Instant::now() + wait;
        let mut collector = self.collector();
        loop {
            if let Some(interval) = collector.next() {
                return Some(interval);
            }
            match collector
                .filled
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(slice) => collector.merger.take(slice),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    collector.merger.end();
                    return collector.next();
                }
            }
        }
    }

    /// Names of the scenario's steps, in the order of [`Interval::steps`]; empty without a scenario.
    pub fn step_names(&self) -> &[String] {
        &self.step_names
    }

    /// Nanoseconds since 1970 at the start of the run (interval 0).
    #[must_use]
    pub fn started_unix_ns(&self) -> u64 {
        self.clock.unix(0)
    }

    /// The reading of this machine's monotonic clock at the start of the run.
    #[must_use]
    pub fn started_monotonic(&self) -> Duration {
        self.clock.monotonic_start()
    }

    /// Whether all workers are done and every interval was handed out.
    pub fn has_ended(&self) -> bool {
        let mut collector = self.collector();
        loop {
            match collector.filled.try_recv() {
                Ok(slice) => collector.merger.take(slice),
                Err(TryRecvError::Empty) => return collector.merger.is_done(),
                Err(TryRecvError::Disconnected) => {
                    collector.merger.end();
                    return collector.merger.is_done();
                }
            }
        }
    }

    /// Sends no new requests from now on; waits for pending answers for up to [`crate::Limits::finish`].
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// A handle that stops the run from another thread.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        Stop(Arc::clone(&self.shared))
    }

    /// Sends this from now on: as many requests, or the same steps, with other texts. Requests that were sent are answered, and
    /// sessions under way go on.
    ///
    /// # Errors
    /// It has another shape, or cannot be sent.
    pub fn replace(&self, what: &What) -> Result<(), ReplaceError> {
        self.replace.replace(what)
    }

    /// A handle that replaces what is sent, from another thread.
    #[must_use]
    pub fn replace_handle(&self) -> Replace {
        self.replace.clone()
    }

    /// Waits for the end of the run. Intervals that were not taken are dropped; the totals include them.
    ///
    /// # Panics
    /// If a worker has panicked, which is a bug of the engine.
    #[must_use]
    pub fn join(self) -> Outcome {
        let kept_columns = self.kept_columns;
        let (outcome, kept) = self.join_workers();
        Outcome {
            kept: merge_kept(kept_columns, &kept),
            ..outcome
        }
    }

    /// The same, with what each worker has kept instead of the rows of all.
    pub(crate) fn join_workers(mut self) -> (Outcome, Vec<Kept>) {
        let collector = self.collector();
        while collector.filled.recv().is_ok() {}
        drop(collector);
        let mut outcome = Outcome {
            totals: Counts::default(),
            started_unix_ns: self.clock.unix(0),
            ran_for: Duration::ZERO,
            first_sent: None,
            first_sent_by_each: Vec::new(),
            connections_asked: self.connections_asked,
            request_outcomes: Vec::new(),
            steps: vec![StepCounts::default(); self.step_names.len()],
            feeds_used_up: Vec::new(),
            clients: Vec::new(),
            kept: KeptRows::default(),
            mismatches: Vec::new(),
            examples: Vec::new(),
            request_outcomes_full: self.shared.request_outcomes_full.load(Ordering::Relaxed),
            skipped_under_load: self.shared.skipped_under_load.load(Ordering::Relaxed),
            unconnected_for: match self.shared.unconnected_ns.load(Ordering::Relaxed) {
                0 => None,
                time => Some(Duration::from_nanos(time)),
            },
        };
        let mut kept = Vec::new();
        for thread in std::mem::take(&mut self.threads) {
            let end = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome.totals.join(&end.totals.counts);
            for (sum, step) in outcome.steps.iter_mut().zip(&end.totals.steps) {
                sum.join(step);
            }
            if let Some(feed) = end.feed_used_up
                && !outcome.feeds_used_up.contains(&feed)
            {
                outcome.feeds_used_up.push(feed);
            }
            outcome.ran_for = outcome.ran_for.max(Duration::from_nanos(end.ran_for));
            let first_sent = end.first_sent.map(Duration::from_nanos);
            outcome.first_sent = first_of(outcome.first_sent, first_sent);
            outcome.request_outcomes.extend(end.account);
            outcome.clients.extend(end.clients);
            kept.extend(end.kept);
            merge_mismatches(&mut outcome.mismatches, end.mismatches);
            merge_examples(&mut outcome.examples, end.examples);
        }
        outcome.clients.sort_by_key(|client| client.number);
        (outcome, kept)
    }

    fn collector(&self) -> MutexGuard<'_, Collector> {
        self.collector
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Stop {
    /// No new requests from now on.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Collector {
    fn next(&mut self) -> Option<Interval> {
        let (interval, used) = self.merger.next()?;
        for mut slice in used {
            slice.clear();
            let worker = slice.worker;
            // The worker has ended, or has enough slices.
            let _ = self.emptied[worker].try_send(slice);
        }
        Some(interval)
    }
}
