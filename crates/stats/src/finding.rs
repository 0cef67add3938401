//! What a check can find: a closed set, each with its numbers. How it is said is left to who shows it.

use crate::{Verdict, backlog::Growth, facts::Killed, silence::Silence, steady::Series};

/// One thing that a check found. Times are in microseconds or seconds as named, shares are of 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The trial did not come to its end; why is told by who ended it.
    Ended(String),
    NothingSent,
    Account(AccountFinding),
    Lateness(LatenessFinding),
    Instrument(InstrumentFinding),
    System(SystemFinding),
    Cell(CellFinding),
}

/// Of requests and records whose account does not add up, or which are not where they should be.
#[derive(Debug, Clone, PartialEq)]
pub enum AccountFinding {
    /// Requests sent are not those that succeeded, failed and came to be in flight.
    RequestFates {
        stretch: Stretch,
        sent: u64,
        succeeded: u64,
        failed: u64,
        in_flight: i64,
    },
    /// Requests due over the whole run are not those that were sent and skipped.
    RequestsDue { due: u64, sent: u64, skipped: u64 },
    /// The account of records does not add up.
    Records(RecordEquation),
    /// Records in the store that were never sent.
    NeverSent { records: u64 },
    /// Records in the store whose client was told no.
    RejectedKept { kept: u64, rejected: u64 },
    /// Accepted records that are not in the store.
    Missing {
        missing: u64,
        accepted: u64,
        first_keys: Vec<u64>,
        /// The probe had not read all of the store when the drain's time was up.
        unread: bool,
    },
}

impl From<AccountFinding> for Finding {
    fn from(found: AccountFinding) -> Self {
        Self::Account(found)
    }
}

/// Of a generator that had too little of its CPU, or came late.
#[derive(Debug, Clone, PartialEq)]
pub enum LatenessFinding {
    /// The generator's busiest worker had no more CPU to use: what it used, and what it used or waited for.
    WorkerFull { busy: f64, wanted: f64 },
    /// It had little left; from `limit` on it is [`LatenessFinding::WorkerFull`].
    WorkerBusy { busy: f64, wanted: f64, limit: f64 },
    /// The generator waited too long for its CPU before each turn on it.
    KeptOff {
        wait_us: f64,
        service_us: f64,
        of_service: f64,
        allowed_us: f64,
    },
    /// The generator was too late.
    Late { lag: Lag, allowed_us: f64 },
    /// It was late, and may have been.
    LateWithin { lag: Lag, because: LagAllowed },
    /// What the host of a virtual machine took of the CPUs' time; whether CPUs that are kept awake may help the generator.
    HostTook { share: f64, awake_may_help: bool },
    /// The generator came late although the CPUs were idle; CPUs that are kept awake may help it.
    LateThoughIdle { idle_share: f64 },
}

impl From<LatenessFinding> for Finding {
    fn from(found: LatenessFinding) -> Self {
        Self::Lateness(found)
    }
}

/// Of the instrument otherwise: rates, calibration, probe, connections and Little's law.
#[derive(Debug, Clone, PartialEq)]
pub enum InstrumentFinding {
    /// Other than the requests that were asked for fell due.
    Rate {
        per_s: f64,
        seconds: f64,
        offered: f64,
        due: u64,
    },
    /// What the generator sent beside what it can send by its calibration.
    Calibrated {
        sent_per_s: f64,
        possible_per_s: f64,
        share: f64,
        shows: Calibrated,
    },
    /// The probe read on without coming to the end of the store.
    ProbeBehind { behind_s: f64, allowed_s: f64 },
    /// Connections that were not open in the typical interval.
    ConnectionsMissing { asked: u64, typical: u64 },
    /// Connections that were not open at the least.
    ConnectionsFewest { asked: u64, fewest: u64 },
    /// Mean in flight is not goodput × mean service time + what belongs to no success.
    LittlesLaw {
        in_flight: f64,
        per_s: f64,
        service_us: f64,
        beside: f64,
        expected: f64,
        apart: f64,
        allowed: f64,
    },
}

impl From<InstrumentFinding> for Finding {
    fn from(found: InstrumentFinding) -> Self {
        Self::Instrument(found)
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
    /// A backlog grew.
    Grew { what: Backlog, growth: Growth },
    /// Steadiness and backlogs were not judged: something was killed on purpose.
    NotJudged(Vec<Killed>),
    /// Steadiness was not tested: the load changes by its stages.
    Staged,
    /// Steadiness was not tested: that takes so many intervals.
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
    Silent(Silence),
}

impl From<SystemFinding> for Finding {
    fn from(found: SystemFinding) -> Self {
        Self::System(found)
    }
}

/// Of a cell over its trials.
#[derive(Debug, Clone, PartialEq)]
pub enum CellFinding {
    /// So many of its trials have this verdict.
    OfTrials {
        verdict: Verdict,
        count: usize,
        trials: usize,
    },
    /// Width of the interval of its goodput, as a share of the point, and what is allowed.
    Wide { width: f64, allowed: f64 },
}

impl From<CellFinding> for Finding {
    fn from(found: CellFinding) -> Self {
        Self::Cell(found)
    }
}

/// An equation of the account of records.
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
    /// In requests that succeeded are those that the account has as accepted.
    OfRequests { succeeded: u64, accepted: u64 },
}

/// A stretch of a load whose requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    Measured,
    WholeRun,
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
    /// It is little beside the time that a search asks about.
    BesideBound,
    /// It is one turn over all that is in flight.
    OneTurn,
}

/// What a rate beside a calibration shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Calibrated {
    /// More than possible: the calibration is wrong.
    Disproved,
    /// The generator was the limit.
    Limit,
    /// It was near; above `limit` it is the limit.
    Near { limit: f64 },
}

/// What piles up.
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
