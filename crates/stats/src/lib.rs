//! Statistics on plain values: intervals, steadiness, checks of the load generator, verdicts. No I/O, no serde, no async.
//!
//! `estimate` works over trials; `steady`, `backlog`, `stall` and `recovery` over the time of one trial; `checks` turns the facts
//! of one trial into reasons; `reason` turns reasons into one verdict; `factorial` works over the cells of a grid; `proportion`
//! estimates shares of requests; `search` is the capacity search. Histograms belong to their readers.

mod backlog;
mod checks;
mod estimate;
mod factorial;
mod finding;
mod proportion;
mod quantile;
mod random;
mod reason;
mod recovery;
mod resamples;
mod sample;
mod search;
mod stall;
mod steady;
mod student;
mod trial_facts;
mod verdict;

pub use backlog::{Growth, MIN_BACKLOG_POLLS, backlog_grows};
pub use checks::{ACHIEVED_MIN, Findings, GENERATOR_BUSY, SteadinessTest, check};
pub use estimate::{BOOTSTRAP_FROM, Estimate, estimate, largest, ratio, standard_deviation};
pub use factorial::{Factorial, NoEffects, Source, Variation, crossovers, is_above, side_of};
pub use finding::{
    AccountingFinding, Backlog, Calibrated, CellFinding, Change, Finding, InstrumentFinding, Lag,
    LagAllowed, LatenessFinding, RecordEquation, Stretch, SystemFinding,
};
pub use proportion::{Part, proportion, proportion_difference};
pub use quantile::{MIN_SAMPLES_BEYOND, ThinTail, thin_tail};
pub use reason::{Reason, cell_reasons, verdict_of};
pub use recovery::{AfterDrop, Recovery, recovery};
pub use search::{
    Answer, End, Evidence, HoldingLevel, LevelSummary, Levels, MAX_SILENT_TRIALS, Search,
    SearchTrial, Settings, Step,
};
pub use stall::Stall;
pub use steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, SteadyBins, steady};
pub use trial_facts::{
    Counts, Generator, InjectedFault, Ledger, LoadModel, LoadProfile, Machine, RunningTotals,
    Served, TrialFacts,
};
pub use verdict::Verdict;
