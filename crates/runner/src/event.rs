//! Events while a study runs, as a closed set. Reporters consume them; no result depends on them.

use std::{sync::Arc, time::Duration};

use waggle_analysis::{SearchStep, Shortfall};
use waggle_load::Interval;
use waggle_results::{AddedTrial, MachineInfo, PhaseName, TrialKey};
use waggle_spec::FaultKind;
use waggle_stats::Answer;

/// One event. Live figures are for display only; results come from disk.
#[derive(Debug, Clone)]
pub enum Event {
    RunStarted {
        trials: u32,
        /// Trials that an earlier, interrupted run finished in the same folder.
        already_done: u32,
        /// Expected time for the rest of the plan.
        expected: Duration,
    },
    /// Calibration of the engine with this shape of load, before the first trial; takes about a second.
    Calibrating(String),
    TrialStarted {
        position: u32,
        key: TrialKey,
        /// `connections=10 pipelining=50`.
        levels: String,
        /// The load level, if the study searches for one.
        level: Option<f64>,
        /// The share of its cell's capacity; `None`: it is not at an operating point.
        operating_share: Option<f64>,
        /// Threads of the load engine.
        workers: usize,
    },
    /// The server that a study names by its URL does not accept connections, and the run waits for it: at most so long.
    WaitingForServer {
        url: String,
        why: String,
        at_most: Duration,
    },
    /// Other programs use so many cores of the CPUs, and the trial waits until they do not: at most so long.
    WaitingForQuiet {
        other_cores: f64,
        cpus: u32,
        at_most: Duration,
    },
    Phase {
        phase: PhaseName,
        /// Length of the phase, if it is known in advance.
        expected: Option<Duration>,
        at_most: Duration,
    },
    /// What the engine did in one interval of this phase. A slow receiver gets several of them merged into one, so that no count
    /// is lost as long as it keeps receiving.
    Interval {
        phase: PhaseName,
        interval: Arc<Interval>,
    },
    /// Use of this machine's CPUs in the measured phase so far, and how many waggle may use.
    Machine { used: MachineInfo, cpus: u32 },
    /// A replica was killed because the study asks for it.
    FaultBegan { kind: FaultKind, name: String },
    /// A killed replica is ready again; `after` counts from the kill.
    UpAgain { name: String, after: Duration },
    /// What a load of the preparation has done so far.
    Preparing {
        load: String,
        /// Sessions that have ended, with those of an earlier trial on the same system.
        done: u64,
        /// Sessions that it has to do.
        sessions: u64,
        /// Requests that were sent again.
        retries: u64,
    },
    /// The store has not shown all records yet.
    Draining { visible: u64, accepted: u64 },
    TrialEnded {
        key: TrialKey,
        /// `None`: the trial was completed; else the reason of its failure.
        failure: Option<String>,
        goodput_per_s: f64,
    },
    /// Trials that are added to the run, in the order of execution.
    TrialsAdded(Vec<AddedTrial>),
    /// What a trial showed about its level in a search.
    Searched(SearchStep),
    /// A cell's search is over.
    Found {
        cell: u32,
        answer: Answer,
        /// Why the level is not higher.
        why: Vec<Shortfall>,
        /// Planned trials that the search did not need, and those at operating points of a cell that has none.
        not_needed: u32,
    },
    /// An event of the second of two trials that run at the same time; those of the first come as they are.
    Partner(Box<Event>),
    /// Something to know, or to do, that is no problem.
    Notice(String),
    /// A problem that is no reason to stop.
    Warning(String),
}
