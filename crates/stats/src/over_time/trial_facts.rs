//! The facts of one trial that its verdict needs, as plain numbers. `analysis` reads them from the results.

use crate::over_time::steady::SteadyBins;

/// What makes the next request due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadModel {
    #[default]
    Closed,
    Open,
    Users,
    /// Clients with a number of requests each; the load ends with the last of them.
    Clients,
}

/// How the requests of an open load are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    #[default]
    Poisson,
    Uniform,
}

/// One trial. Times are in microseconds or seconds as named. What was not observed is `None` or empty, and then not
/// checked; [`TrialFacts::default`] has nothing observed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialFacts<'a> {
    pub model: LoadModel,
    /// Why the trial did not complete; everything else is then ignored.
    pub failed: Option<String>,
    /// Measured phase.
    pub measured: Counts,
    /// Whole run of the load generator, warm-up and finish included.
    pub totals: Counts,
    pub generator: Generator,
    /// Each of several generators that made the load together; empty if it was one.
    pub generators: Vec<GeneratorPart>,
    /// The agents on other hosts that made the load; empty: it was made on this machine.
    pub agents: Vec<Agent>,
    /// The worker thread of each load that ran beside the measured one, in the same process.
    pub background: Vec<GeneratorPart>,
    /// Who sent the load; of another tool's generator nothing is known.
    pub sender: Sender,
    pub machine: Option<Machine>,
    /// Offered load in requests per second, in the open model.
    pub offered_per_s: Option<f64>,
    pub arrivals: Arrivals,
    /// Requests in flight when the measured phase began.
    pub in_flight_start: f64,
    /// Median response time of the measured phase.
    pub response_p50_us: Option<f64>,
    /// Mean service time of the successes of the measured phase; `None` without any.
    pub service_mean_us: Option<f64>,
    /// The strictest upper bound on times that a search asks for: a generator's lateness far below it cannot change the answer.
    pub time_bound_us: Option<f64>,
    pub ledger: Option<Ledger>,
    /// Records accepted and records visible: running totals at the same instants of the measured phase.
    pub delivery: RunningTotals<'a>,
    /// The longest time that the probe of the store read on without coming to its end.
    pub probe_lag_s: Option<f64>,
    /// CPU time of the system that reading the store took, as a share of what the system used in the measured phase.
    pub probe_cpu_share: Option<f64>,
    /// Records that were seen before they were sent, by the clocks of two hosts, as a share of those seen.
    pub negative_delay_share: Option<f64>,
    /// It had not read all of the store when its time was up.
    pub store_unread: bool,
    /// Open load: requests due and requests answered or failed, likewise.
    pub answers: RunningTotals<'a>,
    /// Measured phase.
    pub bins: SteadyBins<'a>,
    /// Length of a bin, for naming the second of a change.
    pub bin_s: f64,
    /// When the first bin began, in seconds of the measured phase.
    pub bins_from_s: f64,
    /// The intervals of the measured phase, in order.
    pub served: &'a [Served],
    /// Whether the warm-up ended because the system was steady; `None` if that was not required.
    pub warm_up_steady: Option<bool>,
    /// Whether the load kept its level in the measured phase.
    pub profile: LoadProfile,
    /// What was done to components in the measured phase.
    pub faults: &'a [InjectedFault],
}

/// Who sent a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sender {
    #[default]
    Waggle,
    /// Another tool, whose results were imported.
    OtherTool,
}

/// What was done to a replica or a component, and when, in seconds of the measured phase.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectedFault {
    pub name: String,
    /// As the study names it: `kill`.
    pub kind: &'static str,
    pub at_s: f64,
}

/// How the level of a load went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoadProfile {
    /// It was always the same.
    #[default]
    Constant,
    /// It changed by stages: the load neither was steady nor should have been.
    Stages,
}

impl TrialFacts<'_> {
    /// Whether the system was not left to itself.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }
}

/// Counts of requests over a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    pub seconds: f64,
    pub due: u64,
    pub sent: u64,
    pub succeeded: u64,
    pub failed: u64,
    /// Fell due and were never sent.
    pub skipped: u64,
    /// In flight at the end less in flight at the start.
    pub in_flight_change: i64,
    /// Records in succeeded requests.
    pub records_succeeded: u64,
}

/// Measurements of the load generator by itself, over the measured phase.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Generator {
    pub workers: u32,
    /// Share of its CPU that the busiest worker used, 0 to 1.
    pub utilization: f64,
    /// The same plus its wait in the run queue; never less than `utilization`.
    pub utilization_wanted: f64,
    /// Mean time in the run queue before each time slice of a worker.
    pub run_queue_wait_mean_us: f64,
    pub cpu_us_per_request: f64,
    pub lag_p99_us: f64,
    /// Requests per second that the load generator can send with this shape of load, from its calibration.
    pub capacity_per_s: Option<f64>,
    pub connections_asked: u64,
    /// Fewest, and median, open at the end of an interval.
    pub connections_open_min: u64,
    pub connections_open_median: u64,
    /// Mean number in flight, from the sum of their times.
    pub in_flight_mean: f64,
    /// The same over the intervals in which all connections had requests to send; `None`: there was none.
    pub in_flight_sending: Option<f64>,
    /// How many a closed load keeps in flight; `None`: it is not one number, or connections are opened for each request.
    pub in_flight_asked: Option<f64>,
    /// The system takes fewer requests at once over a connection than the load may send.
    pub is_system_narrow: bool,
    /// The most that an open load has in flight, on the same conditions.
    pub in_flight_max: Option<u64>,
    /// The part of it that belongs to no success of the measured phase: failures, and the growing age of requests in flight.
    pub in_flight_unexplained: f64,
}

/// One of the agents of a load, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NthAgent {
    pub number: u32,
    pub of: u32,
    /// Of its host.
    pub name: String,
}

/// An agent during the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    pub nth: NthAgent,
    /// Periods of its cgroup in which it was throttled, and those in which it wanted to run; `None`: not known.
    pub throttled: Option<(u64, u64)>,
    /// The most that an instant of its clock can be wrong.
    pub clock_error_us: f64,
    pub drift_ppm: f64,
    /// The drift may be so much more or less.
    pub drift_bound_ppm: f64,
    /// What of the system was on its node, by name; empty: nothing, or that is not known.
    pub beside: Vec<String>,
}

/// One of several generators, over the measured phase: as in [`Generator`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GeneratorPart {
    pub utilization: f64,
    pub utilization_wanted: f64,
    pub run_queue_wait_mean_us: f64,
    pub lag_p99_us: f64,
}

/// What the CPUs did over the measured phase, as shares of 1. What is neither is work.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Machine {
    /// Taken by the hypervisor although there was work to do.
    pub cpu_steal: f64,
    /// Without work; idle polling does not count as work.
    pub cpu_idle: f64,
    /// Whether idle polling was on.
    pub idle_poll: bool,
    /// How many CPUs these are.
    pub cpus: u32,
    /// Cores that waggle used, its load generators and supervisors included; `None`: not known, as the others.
    pub own_cores: Option<f64>,
    /// Cores that the system used; `None` also if only a part of it is known.
    pub system_cores: Option<f64>,
    /// Cores that all other programs used.
    pub other_cores: Option<f64>,
}

/// Delivery accounting, by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    pub sent: u64,
    pub accepted: u64,
    pub rejected: u64,
    pub unknown: u64,
    pub delivered: u64,
    pub missing: u64,
    /// Rejected and found; they are in `unexpected`, too.
    pub rejected_delivered: u64,
    /// Found although rejected, or without having been sent.
    pub unexpected: u64,
    /// The first few.
    pub missing_keys: Vec<u64>,
}

/// Requests of one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Served {
    pub seconds: f64,
    pub succeeded: u64,
    /// Whether an answer was pending for the whole interval: requests were in flight at its start and at its end; or no
    /// connection was open at its end.
    pub waited: bool,
}

/// Two running totals at the same instants.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunningTotals<'a> {
    pub at_s: &'a [f64],
    pub asked: &'a [f64],
    pub done: &'a [f64],
}
