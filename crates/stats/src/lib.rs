//! Statistics on plain values: intervals, steadiness, checks of the load generator, verdicts. No I/O, no serde, no async.
//!
//! The rooms, the ground floor first: `arithmetic`, `intervals`, `over_time`, `judgement`, `factorial`, `scaling_law`, `search`,
//! `history`. Each imports from those before it only. Histograms belong to their readers.

mod arithmetic;
mod factorial;
mod history;
mod intervals;
mod judgement;
mod over_time;
mod scaling_law;
mod search;

pub use arithmetic::{holm::rejection_limit, sample::median as sample_median};
pub use factorial::{Factorial, NoEffects, Source, Variation, crossovers, is_above, side_of};
pub use history::{
    change_point::{
        ChangeLimits, ChangePoint, HistoryRun, MAX_HISTORY, MIN_HISTORY, change_points,
        smallest_change,
    },
    over_runs::{MIN_RUNS, OverRuns, over_runs},
};
pub use intervals::{
    blocks::Blocks,
    contrast::Sample,
    equivalence::{
        ChangeOverTrials, MAX_EQUIVALENT_BINS, MIN_EQUIVALENT_BINS, change_over_trials,
        half_change, hold_changes, is_equivalent,
    },
    estimate::{
        Bounded, Estimate, MEDIAN_FROM, Scale, TestedEstimate, estimate, estimate_bounded, largest,
        median, median_of_bounded, ratio, standard_deviation,
    },
    margin::{MarginTest, compare_with_margin},
    power::{Design, POWER, TrialScatter},
    proportion::{Part, proportion, proportion_difference},
    quantile::{Drawn, MIN_SAMPLES_BEYOND, ThinTail, thin_tail, thin_tail_of_windows},
    range::{Bias, MetricVerdict, Range},
    trend::{MIN_TREND_POINTS, trend},
    trials_needed::{MAX_TRIALS_NEEDED, TrialsNeeded, trials_to_differ},
};
pub use judgement::{
    cause::{Cause, CpuUse, Remedy, causes},
    checks::{
        ACHIEVED_MIN, CPU_STEAL_MAX, Findings, GENERATOR_BUSY, OTHER_CPU_MAX, SteadinessTest, check,
    },
    doubt::{Aspect, Doubt},
    finding::{
        AccountingFinding, AgentFinding, Backlog, Calibrated, CellFinding, Change, Contention,
        Finding, FullInFlight, InstrumentFinding, Lag, LagAllowed, LatenessFinding, NthGenerator,
        RecordEquation, Stretch, SystemFinding,
    },
    level_change::LevelChange,
    reason::{Asked, CLEAN_TRIALS_MIN, Reason, cell_reasons, verdict_of},
    verdict::Verdict,
};
pub use over_time::{
    backlog::{Growth, MIN_BACKLOG_POLLS, backlog_grows},
    closed_load::{ClosedLoad, SendingIntervals, closed_load},
    recovery::{AfterDrop, Control, Recovery, recovery},
    stall::{Stall, StallSpan, stalls},
    steady::{MIN_STEADY_BINS, Series, Shape, Steadiness, SteadyBins, steady},
    trial_facts::{
        Agent, Arrivals, Counts, Generator, GeneratorPart, InjectedFault, Ledger, LoadModel,
        LoadProfile, Machine, NthAgent, RunningTotals, Sender, Served, TrialFacts,
    },
};
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
