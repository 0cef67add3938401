//! Results → what they show: facts, estimates, steadiness, verdicts, thresholds, evidence for a search, effects, comparisons,
//! curves, and the answer. Pure but for one reader: a run in, numbers and verdicts out.
//!
//! It knows neither how a number is laid out nor who asks: the report, the terminal and the search of a running study take
//! the same numbers from here, so that no two of them compute one twice.
//!
//! The rooms, the ground floor first: `info`, `recording`, `trial`, `metric`, `cell`, `factors`, `run`, `runs`. Each imports from those
//! before it only.

mod cell;
mod factors;
mod info;
mod metric;
mod recording;
mod run;
mod runs;
#[cfg(test)]
mod tests;
mod trial;

pub use cell::{
    asked_metrics::{AskedMetric, AskedReading, headline},
    causes::CellCause,
    cell_model::{CellModel, CellReason, failure_kinds},
    cell_number::CellNumber,
    clients::ClientsModel,
    contention::{ContentionModel, OtherCores, is_contended},
    cpu_capacity::CpuCapacity,
    decision::Decision,
    distribution::{Distribution, Percentile},
    outcome::Better,
    pooled::Pooled,
    probe_delays::ProbeModel,
    scenario::{SessionsModel, StepModel},
    streamed_answers::AnswersModel,
    system_over_trials::SystemMetricModel,
    threshold::{Shortcoming, ThresholdCell, ThresholdOutcome, held_in_load, is_recovery},
    time_to_recover::CellRecovery,
};
pub use factors::{
    best_and_worst::{
        BestAndWorst, BestAndWorstModel, FEW_SUCCESSES, FailureRange, OrderMetric, RankedTrial,
        SuccessCount, TableGrid,
    },
    curves::{Curve, CurvePoint, CurvesModel, FailedOver, Panel, PanelLine},
    effects::{self, Comparison, EffectsModel, OutcomeEffects},
    growth::{Bound, BoundCrossing, PairModel},
    laws::{CurveLaws, Law, LineLaw},
    layout::{Line, Over},
    level_comparison::{
        Ahead, Compared, ComparisonModel, Difference, Found, Lead, Measure, NoSuccess, Without,
    },
    level_ratios::{LevelRatiosModel, OutcomeRatios},
    ranking::{RankedLevel, RankedOutcome, RankingModel},
    reference::{ReferenceModel, ReferenceValue, level as reference_level},
    shown::Shown,
};
pub use info::{
    factor::{Counted, Factor},
    instrument::component_of,
    metric_path::{own_unit, unit, unit_of_metric, without_names},
    system_kind::{external_components, is_external, ran_already},
};
pub use metric::{
    known::Known,
    number::Number,
    trial_value::{in_trial, range_in_trial},
    windows::Hidden,
};
pub use recording::{
    course::{Course, Length},
    delays::{DelaySource, Delays, KnownBy},
    histogram::{SPECTRUM_TICKS, SpectrumPoint, TrialPercentile, TrialPercentiles, as_f64},
};
pub use run::{
    account::{Account, Spread},
    answer::{Answer, AnswerOf, AnswerRole, CellValue, Limit, LimitedBy, MetricAnswer, TiedCell},
    asked_before::{AskedBefore, Origin},
    cell_group::{CalledCell, CellGroup, part_of_cells},
    conclusion::{Conclusion, Doubtful, conclusion_of_search, expected_verdict},
    drift::{DriftModel, RepetitionDrift, SentinelModel, SentinelPoint},
    ended_load::EndedLoad,
    faults::{CellFaults, Fault},
    kubelet_readings::{KubeletReadings, kubelet_readings},
    left_out::{LeftOutGroup, left_out_groups, left_out_of_run},
    operating_points::{OperatingCell, OperatingPointModel},
    placement::{NodeUse, Placement, placement},
    power::{Between, MetricPower, PlannedPower, PowerModel, planned_power, power},
    run_model::{Model, model},
    search::{
        CellSearch, SearchModel, SearchStep, Shortfall, evidence, operating_level,
        shortfalls_at_limit,
    },
    so_far::{CellSoFar, TrialSoFar, cell_so_far, trial_so_far},
    stalls::{CellStalls, TwoWeights},
    system_counts::{CellCounts, CountComparisonModel},
    warning::{SharedCpus, Warning},
};
pub use runs::{compare, history};
pub use trial::{
    bottleneck::{Bottleneck, cpus_of_system, of_trial as bottleneck_of_trial},
    judge,
    limits::ComponentLimits,
    memory::Memory,
    outage::{Outage, TrialFaults},
    probe::TrialProbe,
    recovery::TrialRecovery,
    series::{CpuSeries, NamedSeries, Series, SeriesPoint},
    side_load::TrialSideLoad,
    step::TrialStep,
    system_metric::{MetricSummary, TrialSystemMetric},
    trial_model::{Failure, TrialModel, TrialNumbers, TrialRemark},
};
