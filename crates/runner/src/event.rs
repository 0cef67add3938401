//! What happens while a study runs, as a closed set; reporters consume it, nothing depends on it.

use std::{sync::Arc, time::Duration};

use waggle_analysis::{SearchStep, Shortfall};
use waggle_load::Interval;
use waggle_results::{MachineInfo, PhaseName, TrialKey};
use waggle_stats::Answer;

/// One thing that happened. Live figures are for the eye only; results come from disk.
#[derive(Debug, Clone)]
pub enum Event {
    RunStarted {
        trials: u32,
        /// Trials that an earlier, interrupted run of the same folder has finished.
        already_done: u32,
        /// For all that is left, by the plan.
        expected: Duration,
    },
    /// The engine is tried against the null server with this shape of load, before the first trial; about a second.
    Calibrating(String),
    TrialStarted {
        position: u32,
        key: TrialKey,
        /// `connections=10 pipelining=50`.
        levels: String,
        /// Of the load, where one is searched for.
        level: Option<f64>,
        /// Threads of the load engine.
        workers: usize,
    },
    Phase {
        phase: PhaseName,
        /// How long it takes, where that is known before it is over.
        expected: Option<Duration>,
        at_most: Duration,
    },
    /// What the engine did in one interval of this phase. A receiver that falls behind gets several of them as one, so
    /// that no count is lost as long as it goes on receiving.
    Interval {
        phase: PhaseName,
        interval: Arc<Interval>,
    },
    /// What the CPUs of this machine have done in the measured phase so far.
    Machine(MachineInfo),
    /// A replica was killed, because the study asks for it.
    Killed { replica: String },
    /// It is ready again, so long after it was killed.
    UpAgain { replica: String, after: Duration },
    /// While the store is behind.
    Draining { visible: u64, accepted: u64 },
    TrialEnded {
        key: TrialKey,
        /// `None`: it came to its end; else why it did not.
        failure: Option<String>,
        goodput_per_s: f64,
    },
    /// What a trial showed of the level it had, where one is searched for.
    Searched(SearchStep),
    /// A cell's search is over.
    Found {
        cell: u32,
        answer: Answer,
        /// Why it went no higher.
        why: Vec<Shortfall>,
        /// Planned trials that it did not need.
        not_needed: u32,
    },
    /// Worth telling, no reason to stop.
    Warning(String),
}
