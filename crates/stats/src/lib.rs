//! Statistics on plain values: intervals, steadiness, checks of the load generator, verdicts. No I/O, no serde, no async.
//!
//! `estimate` works over trials; `steady`, `backlog`, `stall` and `recovery` over the time of one trial; `closed_load` over that of single requests; `checks` turns the facts
//! of one trial into reasons; `reason` turns reasons into one verdict; `factorial` works over the cells of a grid; `proportion`
//! estimates shares of requests; `scaling_law` fits laws over the levels of a factor; `search` is the capacity search. Histograms
//! belong to their readers.

mod backlog;
mod blocks;
mod cause;
mod change_point;
mod checks;
mod closed_load;
mod contrast;
mod doubt;
mod equivalence;
mod estimate;
mod factorial;
mod finding;
mod holm;
mod level_change;
mod margin;
mod over_runs;
mod pairing;
mod power;
mod proportion;
mod quantile;
mod random;
mod reason;
mod recovery;
mod sample;
mod scaling_law;
mod search;
mod stall;
mod steady;
mod student;
mod trend;
mod trial_facts;
mod trials_needed;
mod verdict;

pub use backlog::{Growth, MIN_BACKLOG_POLLS, backlog_grows};
pub use blocks::Blocks;
pub use cause::{Cause, CpuUse, Remedy, causes};
pub use change_point::{
    ChangeLimits, ChangePoint, HistoryRun, MAX_HISTORY, MIN_HISTORY, change_points, smallest_change,
};
pub use checks::{
    ACHIEVED_MIN, CPU_STEAL_MAX, Findings, GENERATOR_BUSY, OTHER_CPU_MAX, SteadinessTest, check,
};
pub use closed_load::{ClosedLoad, SendingIntervals, closed_load};
pub use contrast::Sample;
pub use doubt::{Aspect, Bias, Doubt, MetricVerdict, Range};
pub use equivalence::{
    ChangeOverTrials, MAX_EQUIVALENT_BINS, MIN_EQUIVALENT_BINS, change_over_trials, half_change,
    hold_changes, is_equivalent,
};
pub use estimate::{
    Bounded, Estimate, MEDIAN_FROM, Scale, TestedEstimate, estimate, estimate_bounded, largest,
    median, median_of_bounded, ratio, standard_deviation,
};
pub use factorial::{Factorial, NoEffects, Source, Variation, crossovers, is_above, side_of};
pub use finding::{
    AccountingFinding, Backlog, Calibrated, CellFinding, Change, Contention, Finding, FullInFlight,
    InstrumentFinding, Lag, LagAllowed, LatenessFinding, NthGenerator, RecordEquation, Stretch,
    SystemFinding,
};
pub use holm::rejection_limit;
pub use level_change::LevelChange;
pub use margin::{MarginTest, compare_with_margin};
pub use over_runs::{MIN_RUNS, OverRuns, over_runs};
pub use power::{Design, POWER, TrialScatter};
pub use proportion::{Part, proportion, proportion_difference};
pub use quantile::{Drawn, MIN_SAMPLES_BEYOND, ThinTail, thin_tail, thin_tail_of_windows};
pub use reason::{Asked, CLEAN_TRIALS_MIN, Reason, cell_reasons, verdict_of};
pub use recovery::{AfterDrop, Control, Recovery, recovery};
pub use sample::median as sample_median;
pub use scaling_law::{
    BandPoint, BreakPoint, Coefficient, Crossing, DifferenceSlope, Errors, FitQuality,
    HighEfficiency, LAW_REACH, LAW_RESAMPLES, LawBound, LawGrowth, LawSettings, LawTrial,
    LevelCurve, MIN_BREAK_LEVELS, MIN_EXACT_LEVELS, MIN_LAW_LEVELS, NotFitted, Peak, PowerLaw,
    UniversalScalability, difference_slope, fit_power_law, fit_universal_scalability,
};
pub use search::{
    Answer, End, Evidence, FittedLevel, HoldingLevel, LevelSummary, Levels, MAX_SILENT_TRIALS,
    PoolLimit, PoolUse, Search, SearchTrial, Settings, Step,
};
pub use stall::{Stall, StallSpan, stalls};
pub use steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, SteadyBins, steady};
pub use trend::{MIN_TREND_POINTS, trend};
pub use trial_facts::{
    Arrivals, Counts, Generator, GeneratorPart, InjectedFault, Ledger, LoadModel, LoadProfile,
    Machine, RunningTotals, Sender, Served, TrialFacts,
};
pub use trials_needed::{MAX_TRIALS_NEEDED, TrialsNeeded, trials_to_differ};
pub use verdict::Verdict;
