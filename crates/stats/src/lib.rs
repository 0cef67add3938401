//! Slices in, numbers out: intervals, steadiness, checks of the instrument, verdicts. No I/O, no serde, no async.
//!
//! `estimate` over trials; `steady`, `backlog`, `silence` and `recovery` over the time of one trial; `checks` from the facts of
//! one trial to its reasons; `reason` from those to one verdict; `factorial` over the cells of a grid; `share` for
//! what is a share of requests. Histograms stay with who reads them.

mod backlog;
mod chance;
mod checks;
mod draws;
mod estimate;
mod factorial;
mod facts;
mod finding;
mod quantile;
mod reason;
mod recovery;
mod sample;
mod search;
mod share;
mod silence;
mod steady;
mod student;
mod verdict;

pub use backlog::{Growth, MIN_BACKLOG_LOOKS, backlog_grows};
pub use checks::{ACHIEVED_MIN, Findings, GENERATOR_BUSY, SteadinessTest, check};
pub use estimate::{BOOTSTRAP_FROM, Estimate, estimate, largest, ratio, standard_deviation};
pub use factorial::{Factorial, NoEffects, Source, Variation, is_above, side_of, turns};
pub use facts::{
    Counts, Engine, Killed, Ledger, LoadCourse, LoadModel, Machine, RunningTotals, Served,
    TrialFacts,
};
pub use finding::{
    AccountFinding, Backlog, Calibrated, CellFinding, Change, Finding, InstrumentFinding, Lag,
    LagAllowed, LatenessFinding, RecordEquation, Stretch, SystemFinding,
};
pub use quantile::{MIN_SAMPLES_BEYOND, ThinTail, thin_tail};
pub use reason::{Reason, cell_reasons, verdict_of};
pub use recovery::{AfterFall, Recovery, recovery};
pub use search::{
    Answer, End, Evidence, Held, LevelSummary, Levels, SILENT_AT_MOST, Search, Settings, Step,
    Tried,
};
pub use share::{Part, share, share_difference};
pub use silence::Silence;
pub use steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, SteadyBins, steady};
pub use verdict::Verdict;
