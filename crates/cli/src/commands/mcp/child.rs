//! The run that a client has started: its limit of time, its folder, how it ended and what it printed.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::sync::watch;

use crate::{
    inputs::runs,
    process::supervised_run::{RunStart, SupervisedRun},
};

/// A run that was asked to stop, and has not after this time, is killed with all that it started.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a new run may take until it has its folder or ends.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(30);
const BEGIN_INTERVAL: Duration = Duration::from_millis(50);
/// Lines of the log of a run that are shown.
const LOG_LINES_MAX: usize = 20;
const LOG_LINE_MAX: usize = 500;

/// Why a run was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Client,
    MaxDuration,
}

/// What is known of the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Phase {
    pub(super) stopping: Option<StopReason>,
    /// How it ended: `with exit code 0`; `None`: it goes on.
    pub(super) ended: Option<String>,
}

impl Phase {
    /// Whether it is to be interrupted now: it goes on, and nobody has asked before.
    fn ask_to_stop(&mut self, why: StopReason) -> bool {
        let is_first = self.stopping.is_none() && self.ended.is_none();
        if is_first {
            self.stopping = Some(why);
        }
        is_first
    }
}

/// A run that was started here.
#[derive(Debug)]
pub(super) struct ChildRun {
    pub(super) begun: Instant,
    pub(super) max_duration: Duration,
    run: SupervisedRun,
    phase: watch::Sender<Phase>,
    /// The runs that there were before.
    before: BTreeSet<PathBuf>,
    runs: PathBuf,
}

impl ChildRun {
    /// Starts `waggle run` with these arguments; `runs`: the folder of the run folders.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(super) async fn start(
        arguments: Vec<OsString>,
        runs: &Path,
        max_duration: Duration,
    ) -> Result<Arc<Self>> {
        let before = runs::runs_in(runs).unwrap_or_default();
        let start = RunStart {
            arguments,
            stop_timeout: STOP_TIMEOUT,
            withheld_variable: None,
        };
        let phase = watch::Sender::new(Phase::default());
        let ended = phase.clone();
        let on_end = move |how| ended.send_modify(|phase| phase.ended = Some(how));
        let run = tokio::task::spawn_blocking(move || SupervisedRun::start(&start, on_end));
        let run = run.await.context("a bug in waggle")?;
        let run = Arc::new(Self {
            begun: Instant::now(),
            max_duration,
            run: run.context("cannot start the run")?,
            phase,
            before: before.into_iter().collect(),
            runs: runs.to_path_buf(),
        });
        tokio::spawn(Arc::clone(&run).keep_limit());
        Ok(run)
    }

    /// Interrupts the run at its limit of time.
    async fn keep_limit(self: Arc<Self>) {
        self.wait(self.max_duration.saturating_sub(self.begun.elapsed()))
            .await;
        self.interrupt(StopReason::MaxDuration);
    }

    /// Once; whoever is first says why. One that has ended is not asked.
    fn interrupt(&self, why: StopReason) {
        let is_first = self.phase.send_if_modified(|phase| phase.ask_to_stop(why));
        if is_first {
            self.run.interrupt();
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    /// The folder of the run; `None`: it has none yet, or never had one.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        let runs = runs::runs_in(&self.runs).unwrap_or_default();
        runs.into_iter().find(|run| !self.before.contains(run))
    }

    /// Waits until the run has its folder, or has ended.
    pub(super) async fn begin(&self) {
        let until = Instant::now() + BEGIN_TIMEOUT;
        while self.folder().is_none() && self.phase().ended.is_none() && Instant::now() < until {
            tokio::time::sleep(BEGIN_INTERVAL).await;
        }
    }

    /// Waits until the run has ended, or for this time.
    pub(super) async fn wait(&self, at_most: Duration) {
        let mut phase = self.phase.subscribe();
        let ended = phase.wait_for(|phase| phase.ended.is_some());
        tokio::time::timeout(at_most, ended).await.ok();
    }

    /// Stops the run as Ctrl-C does, and waits until it has ended.
    pub(super) async fn stop(&self) {
        self.interrupt(StopReason::Client);
        self.wait(2 * STOP_TIMEOUT).await;
    }

    /// The last lines of what the run has printed.
    pub(super) fn log_end(&self) -> Vec<String> {
        let text = self.run.output();
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LOG_LINES_MAX)..];
        let cut = |line: &&str| line.chars().take(LOG_LINE_MAX).collect();
        shown.iter().map(cut).collect()
    }
}
