//! A run as a child process: `waggle run` below a supervisor, so that nothing of it is left, however this process ends.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{mpsc, watch},
    time::{Instant as Moment, sleep_until},
};
use waggle_system::components::supervise::{
    ENDED, NOT_STARTED, ORDER_KILL, ORDER_STOP, redaction::to_message,
};

use crate::inputs::runs;

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

/// A run that was started here.
#[derive(Debug)]
pub(super) struct ChildRun {
    pub(super) begun: Instant,
    pub(super) max_duration: Duration,
    phase: watch::Receiver<Phase>,
    stop: mpsc::Sender<StopReason>,
    /// The runs that there were before.
    before: BTreeSet<PathBuf>,
    runs: PathBuf,
    log: tempfile::NamedTempFile,
}

impl ChildRun {
    /// Starts `waggle run` with these arguments; `runs`: the folder of the run folders.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(super) async fn start(
        arguments: &[OsString],
        runs: &Path,
        max_duration: Duration,
    ) -> Result<Self> {
        let program =
            std::env::current_exe().context("cannot determine the path of this program")?;
        let log = tempfile::NamedTempFile::new().context("cannot make the log of the run")?;
        let before = runs::runs_in(runs).unwrap_or_default();
        let mut command = Command::new(&program);
        command
            .arg("__supervise")
            .arg(log.path())
            // On all CPUs, in no cgroup.
            .args(["", ""])
            .arg(&program)
            .arg("run")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A Ctrl-C is for this process, which then stops the run.
            .process_group(0);
        let mut child = command.spawn().context("cannot start the run")?;
        let mut orders = child.stdin.take().context("the run has no input")?;
        let lines = child.stdout.take().context("the run has no output")?;
        orders.write_all(&to_message(&[])?).await?;
        let begun = Instant::now();
        let (phase, phases) = watch::channel(Phase::default());
        let (stop, stops) = mpsc::channel(1);
        let attended = Attended {
            child,
            orders,
            lines: BufReader::new(lines).lines(),
            phase,
            stops,
        };
        tokio::spawn(attended.until_end(Moment::from_std(begun + max_duration)));
        Ok(Self {
            begun,
            max_duration,
            phase: phases,
            stop,
            before: before.into_iter().collect(),
            runs: runs.to_path_buf(),
            log,
        })
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
        let mut phase = self.phase.clone();
        let ended = phase.wait_for(|phase| phase.ended.is_some());
        tokio::time::timeout(at_most, ended).await.ok();
    }

    /// Stops the run as Ctrl-C does, and waits until it has ended.
    pub(super) async fn stop(&self) {
        // A request that waits already is enough.
        self.stop.try_send(StopReason::Client).ok();
        self.wait(2 * STOP_TIMEOUT).await;
    }

    /// The last lines of what the run has printed.
    pub(super) fn log_end(&self) -> Vec<String> {
        let bytes = fs::read(self.log.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LOG_LINES_MAX)..];
        let cut = |line: &&str| line.chars().take(LOG_LINE_MAX).collect();
        shown.iter().map(cut).collect()
    }
}

/// The process, as its task has it.
struct Attended {
    child: Child,
    orders: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    phase: watch::Sender<Phase>,
    stops: mpsc::Receiver<StopReason>,
}

impl Attended {
    /// Waits for the end of the run, which it stops at its limit or when it is asked to, and kills if it does not stop.
    async fn until_end(mut self, limit: Moment) {
        let mut limit = limit;
        let ended = loop {
            tokio::select! {
                line = self.lines.next_line() => match line {
                    Ok(Some(line)) => if let Some(end) = end(&line) { break end },
                    Ok(None) | Err(_) => break "in a way that is not known".to_owned(),
                },
                () = sleep_until(limit) => limit = self.stop(StopReason::MaxDuration, limit).await,
                Some(why) = self.stops.recv() => limit = self.stop(why, limit).await,
            }
        };
        drop(self.orders);
        self.child.wait().await.ok();
        self.phase.send_modify(|phase| phase.ended = Some(ended));
    }

    /// Asks the run to end; at its limit it is killed if it was asked before. Returns the next limit.
    async fn stop(&mut self, why: StopReason, limit: Moment) -> Moment {
        let is_asked = self.phase.borrow().stopping.is_some();
        let order = match (is_asked, why) {
            (false, _) => ORDER_STOP,
            (true, StopReason::MaxDuration) => ORDER_KILL,
            // It stops already.
            (true, StopReason::Client) => return limit,
        };
        // Without a supervisor the run has ended.
        self.orders.write_all(&[order]).await.ok();
        if !is_asked {
            self.phase.send_modify(|phase| phase.stopping = Some(why));
        }
        Moment::now() + STOP_TIMEOUT
    }
}

/// How the run ended, by a line of its supervisor.
fn end(line: &str) -> Option<String> {
    let words = line.strip_prefix(ENDED).map(str::trim);
    let failed = || line.strip_prefix(NOT_STARTED).map(str::trim);
    words.or_else(failed).map(str::to_owned)
}
