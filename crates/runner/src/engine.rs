//! The load engine for the trial: its blocking calls run on their own thread, results arrive as messages.

use std::{any::Any, thread, time::Duration};

use tokio::sync::{mpsc, oneshot};
use waggle_load::{Interval, Job, Outcome, Running, Stop};

use crate::load::{Load, LoadError, LoadRun};

/// Intervals that may wait for the trial; the engine itself buffers more.
const INTERVALS_MAX: usize = 64;
/// How long the thread waits for an interval before it checks whether the run has ended.
const WAIT: Duration = Duration::from_millis(100);

/// The real load.
#[derive(Debug)]
pub(crate) struct Engine;

impl Load for Engine {
    type Run = EngineRun;

    fn start(&mut self, job: Job) -> Result<EngineRun, LoadError> {
        let running = waggle_load::start(job)?;
        let stop = running.stop_handle();
        let started_unix_ns = running.started_unix_ns();
        let (sender, intervals) = mpsc::channel(INTERVALS_MAX);
        let (outcome_sender, outcome) = oneshot::channel();
        thread::Builder::new()
            .name("load-intervals".to_owned())
            .spawn(move || {
                // The receiver is gone if the trial was aborted.
                outcome_sender.send(hand_over(running, &sender)).ok();
            })
            .map_err(LoadError::Thread)?;
        Ok(EngineRun {
            started_unix_ns,
            stop,
            intervals,
            outcome,
        })
    }
}

/// Passes every interval on, then waits for the end. A panic of the engine is returned as an error.
fn hand_over(running: Running, to: &mpsc::Sender<Interval>) -> Result<Outcome, LoadError> {
    let stop = running.stop_handle();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        loop {
            let Some(interval) = running.next_interval(WAIT) else {
                if running.has_ended() {
                    return running.join();
                }
                continue;
            };
            if to.blocking_send(interval).is_err() {
                running.stop();
                return running.join();
            }
        }
    }));
    ended.map_err(|panic| {
        stop.stop();
        LoadError::Panicked {
            message: text_of(&*panic).to_owned(),
        }
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
    stop: Stop,
    intervals: mpsc::Receiver<Interval>,
    outcome: oneshot::Receiver<Result<Outcome, LoadError>>,
}

impl Drop for EngineRun {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl LoadRun for EngineRun {
    async fn next_interval(&mut self) -> Option<Interval> {
        self.intervals.recv().await
    }

    fn started_unix_ns(&self) -> u64 {
        self.started_unix_ns
    }

    fn stop(&self) {
        self.stop.stop();
    }

    async fn join(mut self) -> Result<Outcome, LoadError> {
        self.intervals.close();
        (&mut self.outcome).await.unwrap_or(Err(LoadError::Lost))
    }
}
