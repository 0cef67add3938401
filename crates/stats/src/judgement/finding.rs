//! What a check can find: a closed set, each with its numbers. `report::wording` makes the sentences.

use crate::{
    judgement::verdict::Verdict,
    over_time::{
        backlog::Growth,
        stall::Stall,
        steady::Series,
        trial_facts::{InjectedFault, NthAgent},
    },
};

/// One thing that a check found. Times are in microseconds or seconds as named, shares are of 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The trial did not complete; the reason is a text from the runner.
    Ended(String),
    NothingSent,
    Accounting(AccountingFinding),
    Lateness(LatenessFinding),
    Instrument(InstrumentFinding),
    System(SystemFinding),
    Contention(Contention),
    Cell(CellFinding),
}

/// Of requests and records: an equation that does not hold, or records that are missing or unexpected.
#[derive(Debug, Clone, PartialEq)]
pub enum AccountingFinding {
    /// Requests sent ≠ succeeded + failed + change of those in flight.
    RequestFates {
        stretch: Stretch,
        sent: u64,
        succeeded: u64,
        failed: u64,
        in_flight: i64,
    },
    /// Requests due over the whole run are not those that were sent and skipped.
    RequestsDue { due: u64, sent: u64, skipped: u64 },
    /// An equation of the delivery accounting does not hold.
    Records(RecordEquation),
    /// Records in the store that were never sent.
    NeverSent { records: u64 },
    /// Records in the store although they were rejected.
    RejectedDelivered { kept: u64, rejected: u64 },
    /// Accepted records that are not in the store.
    Missing {
        missing: u64,
        accepted: u64,
        first_keys: Vec<u64>,
        /// The probe had not read all of the store when the drain's time was up.
        unread: bool,
    },
}

impl From<AccountingFinding> for Finding {
    fn from(finding: AccountingFinding) -> Self {
        Self::Accounting(finding)
    }
}

/// The load generator had too little CPU, or was late. Of several generators the worst is judged, and named.
#[derive(Debug, Clone, PartialEq)]
pub enum LatenessFinding {
    /// The busiest worker had no more CPU to use: its utilization, and utilization plus its wait in the run queue.
    WorkerFull {
        busy: f64,
        wanted: f64,
        generator: Option<NthGenerator>,
    },
    /// It had little left; from `limit` on it is [`LatenessFinding::WorkerFull`].
    WorkerBusy {
        busy: f64,
        wanted: f64,
        limit: f64,
        generator: Option<NthGenerator>,
    },
    /// The load generator waited too long in the run queue before each time slice.
    RunQueueWait {
        wait_us: f64,
        service_us: f64,
        of_service: f64,
        allowed_us: f64,
        generator: Option<NthGenerator>,
    },
    /// The generator was too late.
    Late {
        lag: Lag,
        allowed_us: f64,
        generator: Option<NthGenerator>,
    },
    /// It was late, and may have been.
    LateWithin {
        lag: Lag,
        because: LagAllowed,
        generator: Option<NthGenerator>,
    },
    /// The load generator was late although the CPUs were idle; idle polling may help it.
    LateThoughIdle { cpu_idle: f64 },
}

impl From<LatenessFinding> for Finding {
    fn from(finding: LatenessFinding) -> Self {
        Self::Lateness(finding)
    }
}

/// Of the instrument otherwise: rates, calibration, probe, connections and Little's law.
#[derive(Debug, Clone, PartialEq)]
pub enum InstrumentFinding {
    /// Another tool sent the load: nothing of its generator was checked.
    NotKnown,
    /// The number of requests that fell due is not that of the offered load.
    Rate {
        per_s: f64,
        seconds: f64,
        offered: f64,
        due: u64,
    },
    /// The rate sent, compared with the calibrated capacity.
    Calibrated {
        sent_per_s: f64,
        capacity_per_s: f64,
        share: f64,
        shows: Calibrated,
    },
    /// The probe read on without coming to the end of the store.
    ProbeLag { lag_s: f64, allowed_s: f64 },
    /// CPU time of the system that the probe caused, as a share of all that the system used; from `limit` on it is a reason.
    ProbeCpu { share: f64, limit: f64 },
    /// Records that were seen before they were sent: the clocks of two hosts differ.
    NegativeDelays { share: f64, limit: f64 },
    /// Of an agent on another host.
    Agent(AgentFinding),
    /// Mean number of requests in flight in closed load, and how many were asked for.
    InFlightMissing { asked: f64, mean: f64 },
    /// Connections that were not open in the typical interval.
    ConnectionsMissing { asked: u64, typical: u64 },
    /// Connections that were not open at the least.
    ConnectionsFewest { asked: u64, fewest: u64 },
    /// Mean in flight ≠ goodput × mean service time + time that belongs to no success.
    LittlesLaw {
        in_flight: f64,
        per_s: f64,
        service_us: f64,
        unexplained: f64,
        expected: f64,
        apart: f64,
        allowed: f64,
    },
}

impl From<InstrumentFinding> for Finding {
    fn from(finding: InstrumentFinding) -> Self {
        Self::Instrument(finding)
    }
}

/// CPU of the machine that neither the system nor waggle had in the measured phase, by other programs or by CPU steal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contention {
    /// Cores that other programs used; `None`: not known, so steal alone is meant.
    pub other_cores: Option<f64>,
    /// CPUs of the machine that waggle may use.
    pub cpus: u32,
    /// CPU steal, as a share of the time of these CPUs.
    pub cpu_steal: f64,
    /// Whether other programs alone are enough for the verdict; else steal is.
    pub by_programs: bool,
}

impl From<Contention> for Finding {
    fn from(contention: Contention) -> Self {
        Self::Contention(contention)
    }
}

/// Of the system: whether it kept up and had one level.
#[derive(Debug, Clone, PartialEq)]
pub enum SystemFinding {
    /// Too few of the requests that fell due were answered.
    Unanswered {
        due: u64,
        answered: u64,
        answered_share: f64,
        least_share: f64,
        skipped: u64,
    },
    /// All requests that may be in flight were, and too few were answered.
    FullInFlight(FullInFlight),
    /// So many more requests were answered than fell due: the warm-up had left them.
    LeftFromWarmUp {
        requests: u64,
        /// More succeeded than fell due, so goodput is above the offered load.
        succeeded_more: bool,
    },
    /// A backlog grew.
    Grew { what: Backlog, growth: Growth },
    /// Steadiness and backlogs were not judged: a fault was injected.
    NotJudged(Vec<InjectedFault>),
    /// Steadiness was not tested: the load changes by its stages.
    Staged,
    /// Steadiness was not tested: each client ends with the last of its requests.
    Ending,
    /// Steadiness was not tested: the test needs `needed` intervals.
    TooFewIntervals { needed: usize },
    /// The level changed within the measured phase.
    Changed {
        what: Series,
        from: f64,
        to: f64,
        how: Change,
    },
    /// The warm-up ended at its limit before the system was steady; the measured phase was.
    WarmUpUnsteady,
    /// The same, and the measured phase is too short to test.
    NeverSteady,
    /// Nothing succeeded for a while, though answers were waited for.
    Stalled(Stall),
    /// The same for a smaller part of the phase, in a load whose next request waits for an answer: nobody arrived meanwhile, so that no
    /// percentile shows the stall (coordinated omission).
    Omitted(Stall),
}

/// An open load that had as many requests in flight as it may have, so that their number and the time of an answer were its limit
/// (Little's law).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FullInFlight {
    pub max: u64,
    /// Mean number in flight.
    pub mean: f64,
    pub answered_per_s: f64,
}

impl From<SystemFinding> for Finding {
    fn from(finding: SystemFinding) -> Self {
        Self::System(finding)
    }
}

/// Of a cell over its trials.
#[derive(Debug, Clone, PartialEq)]
pub enum CellFinding {
    /// `count` of its trials have this verdict.
    Trials {
        verdict: Verdict,
        count: usize,
        trials: usize,
    },
    /// Its trials have a change of the level within the measured phase in common: second half ÷ first half.
    Changed { ratio: f64 },
}

impl From<CellFinding> for Finding {
    fn from(finding: CellFinding) -> Self {
        Self::Cell(finding)
    }
}

/// An equation of the delivery accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEquation {
    /// Sent are those accepted, rejected and unknown.
    Sent {
        sent: u64,
        accepted: u64,
        rejected: u64,
        unknown: u64,
    },
    /// Accepted are those delivered and missing.
    Accepted {
        accepted: u64,
        delivered: u64,
        missing: u64,
    },
    /// Records in succeeded requests = accepted.
    Requests { succeeded: u64, accepted: u64 },
}

/// A stretch of a load whose requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    Measured,
    WholeRun,
}

/// Of an agent on another host: its CPUs and its clock.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentFinding {
    /// Its cgroup was throttled in so many periods of those in which it wanted to run; at `limit` as a share it is a reason.
    Throttled {
        agent: NthAgent,
        throttled: u64,
        periods: u64,
        limit: f64,
    },
    /// Its clock certainly went faster (or slower) than the runner's; beyond `limit_ppm` it is a reason.
    Drift {
        agent: NthAgent,
        ppm: f64,
        error_us: f64,
        limit_ppm: f64,
    },
    /// It was on one node with these parts of the system, whose CPUs, memory and kernel it shared.
    NodeShared { agent: NthAgent, with: Vec<String> },
}

impl From<AgentFinding> for Finding {
    fn from(finding: AgentFinding) -> Self {
        Self::Instrument(InstrumentFinding::Agent(finding))
    }
}

/// One of several generators, counted from 1: the one that a finding is about, if the load had several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NthGenerator {
    pub number: u32,
    pub of: u32,
}

/// How late a generator was: p99, and that as a share of the median response time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lag {
    pub p99_us: f64,
    pub median_us: f64,
    pub of_median: f64,
}

/// Why a lag is none of the generator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LagAllowed {
    /// It is as fine as timers go.
    Timers,
    /// It is small compared with the time in the conditions of the search.
    BelowSearchBound,
    /// It is one cycle over all requests in flight.
    OneTurn,
}

/// What the comparison of a rate with the calibration shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Calibrated {
    /// More than possible: the calibration is wrong.
    Disproved,
    /// The generator was the limit.
    Limit,
    /// It was near; above `limit` it is the limit.
    Near { limit: f64 },
}

/// What grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// Requests that wait for their answer.
    Requests,
    /// Records that are accepted and not yet in the store.
    Records,
}

/// How a level changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// At once, in seconds of the measured phase.
    Step { at_s: f64 },
    /// Over the whole phase.
    Drift,
}
