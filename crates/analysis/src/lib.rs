//! Results → what they show: facts, estimates, steadiness, verdicts, thresholds, evidence for a search, effects, comparisons,
//! curves, and the answer. Pure but for one reader: a run in, numbers and verdicts out.
//!
//! It knows neither how a number is laid out nor who asks: the report, the terminal and the search of a running study take
//! the same numbers from here, so that no two of them compute one twice.

mod accepted;
mod account;
mod answer;
mod answers;
mod asked;
mod asked_before;
mod aspect;
mod background;
mod best_and_worst;
mod biases;
mod bottleneck;
mod causes;
mod cell;
mod cell_group;
mod clients;
pub mod compare;
mod comparisons;
mod conclusion;
mod contention;
mod count_comparison;
mod course;
mod cpu_capacity;
mod curves;
mod decision;
mod delays;
mod distribution;
mod distributions;
mod drift;
pub mod effects;
mod factor;
mod faults;
mod growth;
pub mod history;
mod imported;
mod instrument;
pub mod judge;
mod known;
mod lag;
mod laws;
mod layout;
mod left_out;
mod levels;
mod limits;
mod machine;
mod memory;
mod metric;
mod operating_points;
mod outcome;
mod path;
mod pooled;
mod power;
mod preparation;
mod prepared;
mod probe;
mod probes;
mod ranking;
mod recovered;
mod recovery;
mod reference;
mod run_model;
mod samples;
mod scale;
mod search;
mod series;
mod shown;
mod side_load;
#[cfg(test)]
mod simulated;
mod so_far;
mod stalled;
mod step;
mod steps;
mod system_kind;
mod system_metric;
mod system_metrics;
mod threshold;
mod time_weighted;
mod together;
mod trial;
mod trial_faults;
mod warning;

pub use account::{Account, Spread};
pub use answer::{
    Answer, AnswerOf, AnswerRole, CellValue, Limit, LimitedBy, MetricAnswer, TiedCell,
};
pub use answers::AnswersModel;
pub use asked::{AskedMetric, AskedReading, headline};
pub use asked_before::{AskedBefore, Origin};
pub use background::{TrialBackground, TrialBackgroundLoad};
pub use best_and_worst::{
    BestAndWorst, BestAndWorstModel, FEW_SUCCESSES, FailureRange, OrderMetric, RankedTrial,
    SuccessCount, TableGrid,
};
pub use bottleneck::Bottleneck;
pub use bottleneck::{cpus_of_system, of_trial as bottleneck_of_trial};
pub use causes::CellCause;
pub use cell::failure_kinds;
pub use cell::{CellModel, CellReason};
pub use cell_group::{CalledCell, CellGroup, part_of_cells};
pub use clients::ClientsModel;
pub use comparisons::{
    Ahead, Compared, ComparisonModel, Difference, Found, Lead, Measure, NoSuccess, Without,
};
pub use conclusion::{Conclusion, Doubtful, conclusion_of_search, expected_verdict};
pub use contention::{ContentionModel, OtherCores, is_contended};
pub use count_comparison::{CellCounts, CountComparisonModel};
pub use course::{Course, Length};
pub use cpu_capacity::CpuCapacity;
pub use curves::{Curve, CurvePoint, CurvesModel, FailedOver, Panel, PanelLine};
pub use decision::Decision;
pub use delays::{DelaySource, KnownBy};
pub use distribution::{SPECTRUM_TICKS, SpectrumPoint, TrialPercentile, TrialPercentiles, as_f64};
pub use distributions::{Distribution, Percentile};
pub use drift::{DriftModel, RepetitionDrift, SentinelModel, SentinelPoint};
pub use effects::{Comparison, EffectsModel, OutcomeEffects};
pub use factor::{Counted, Factor};
pub use faults::{CellFaults, Kill};
pub use growth::{Bound, BoundCrossing, PairModel};
pub(crate) use instrument::INSTRUMENT;
pub use known::Known;
pub use laws::{CurveLaws, Law, LineLaw};
pub use layout::{Line, Over};
pub use left_out::{LeftOutGroup, left_out_groups, left_out_of_run};
pub use limits::ComponentLimits;
pub use memory::Memory;
pub use metric::{
    CellNumber, Hidden, Number, in_load, in_trial, range_in_trial, unit, without_names,
};
pub use operating_points::{OperatingCell, OperatingPointModel};
pub use outcome::Better;
pub use path::{own_unit, unit_of_metric};
pub use pooled::Pooled;
pub use power::{Between, MetricPower, PlannedPower, PowerModel, planned_power, power};
pub use preparation::{TrialPreparation, TrialPrepareLoad};
pub use probe::TrialProbe;
pub use probes::ProbeModel;
pub use ranking::{RankedLevel, RankedOutcome, RankingModel};
pub use recovered::CellRecovery;
pub use recovery::TrialRecovery;
pub use reference::{ReferenceModel, ReferenceValue, level as reference_level};
pub use run_model::{Model, model};
pub use search::{
    CellSearch, SearchModel, SearchStep, Shortfall, evidence, operating_level, shortfalls_at_limit,
};
pub use series::{CpuSeries, NamedSeries, Series, SeriesPoint};
pub use shown::Shown;
pub use so_far::{CellSoFar, TrialSoFar, cell_so_far, findings, trial_so_far};
pub use stalled::{CellStalls, TwoWeights};
pub use step::TrialStep;
pub use steps::{SessionsModel, StepModel};
pub use system_kind::{external_components, is_external};
pub use system_metric::{MetricSummary, TrialSystemMetric};
pub use system_metrics::SystemMetricModel;
pub use threshold::is_recovery;
pub use threshold::{Shortcoming, ThresholdCell, ThresholdOutcome, held_in_load};
pub use trial::{Failure, TrialModel, TrialNumbers, TrialRemark};
pub use trial_faults::{Outage, TrialFaults};
pub use warning::{SharedCpus, Warning};
