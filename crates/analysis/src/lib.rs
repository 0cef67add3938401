//! Results → what they show: facts, estimates, steadiness, verdicts, thresholds, evidence for a search, effects, comparisons,
//! curves, and the answer. Pure but for one reader: a run in, numbers and verdicts out.
//!
//! It knows neither how a number is laid out nor who asks: the report, the terminal and the search of a running study take
//! the same numbers from here, so that no two of them compute one twice.

mod accepted;
mod account;
mod answer;
mod busiest;
mod cell;
mod comparisons;
mod course;
mod curves;
mod distribution;
mod disturbances;
mod disturbed;
pub mod effects;
mod factor;
mod find;
mod instrument;
pub mod judge;
mod layout;
mod levels;
mod memory;
mod metric;
mod outcome;
mod path;
mod place;
mod prepared;
mod published;
mod recovered;
mod recovery;
mod run_model;
mod samples;
mod series;
mod so_far;
mod step;
mod threshold;
mod trial;
mod warning;
mod watch;

pub use account::{Account, Spread};
pub use answer::{Answer, AnswerOf, Highest, Limit, LimitedBy};
pub use busiest::Busiest;
pub use busiest::{cpus_of_system, of_trial as busiest_of_trial};
pub use cell::failure_kinds;
pub use cell::{CellModel, CellReason};
pub use comparisons::{Ahead, Compared, ComparisonModel, Found, Lead, Measure, NoSuccess, Without};
pub use course::{Course, Length};
pub use curves::{Curve, CurvePoint, CurvesModel, FailedOver};
pub use distribution::{
    Distribution, Percentile, SpectrumPoint, TrialPercentile, TrialPercentiles,
};
pub use distribution::{SPECTRUM_TICKS, as_f64};
pub use disturbances::{CellDisturbed, Kill};
pub use disturbed::{Silence, TrialDisturbed};
pub use effects::{Comparison, EffectsModel, OutcomeEffects};
pub use factor::{Counted, Factor};
pub use find::{CellSearch, FindModel, SearchStep, Shortfall, evidence, why};
pub(crate) use instrument::INSTRUMENT;
pub use layout::{Line, Over};
pub use memory::Memory;
pub use metric::{CellNumber, Number, in_load, in_trial, unit};
pub use outcome::Better;
pub use place::{PlaceModel, TrialPlace, TrialWatch, Watched};
pub use published::{PublishedModel, PublishedValue, level as published_level};
pub use recovered::CellRecovery;
pub use recovery::TrialRecovery;
pub use run_model::{Model, model};
pub use series::{CpuSeries, NamedSeries, Series, SeriesPoint};
pub use so_far::{CellSoFar, TrialSoFar, cell_so_far, trial_so_far};
pub use step::{SessionsModel, StepModel, TrialStep};
pub use threshold::is_recovery;
pub use threshold::{NotCounted, ThresholdCell, ThresholdOutcome};
pub use trial::{Failure, TrialModel, TrialNumbers, TrialRemark};
pub use warning::{SharedCpus, Warning, external_components, is_external};
pub use watch::WatchModel;
