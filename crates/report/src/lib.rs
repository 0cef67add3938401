//! Results → one self-contained page, Markdown, CSV, and the rows of the terminal's table.
//!
//! `model` is the analysis: results and statistics joined into what is shown, verdicts included. The writers
//! only lay it out; two writers never compute the same number twice.

mod csv;
mod facts;
mod html;
mod markdown;
mod model;
mod rows;
mod tables;
pub mod text;
pub mod words;
mod write;

pub use csv::{csv, effects as effects_csv};
pub use html::html;
pub use markdown::markdown;
pub use model::{
    Ahead, Answer, Better, Busiest, CellDisturbed, CellModel, CellRecovery, CellSearch, Compared,
    Comparison, ComparisonModel, Counted, CpuSeries, Curve, CurvePoint, CurvesModel, Distribution,
    EffectsModel, Factor, FailedOver, Failure, FindModel, Found, Kill, Line, Measure, Model,
    NamedSeries, NoSuccess, OutcomeEffects, Over, Percentile, PlaceModel, SearchStep, Series,
    SeriesPoint, SessionsModel, Silence, SpectrumPoint, StepModel, ThresholdCell, ThresholdOutcome,
    TrialDisturbed, TrialModel, TrialNumbers, TrialPercentile, TrialPercentiles, TrialPlace,
    TrialRecovery, TrialStep, TrialWatch, WatchModel, Watched, Without, evidence, judge, level,
    model, sentence,
};
pub use rows::{
    CellRow, SEARCH_COLUMNS, STEP_COLUMNS, SearchRow, StepRow, cell_columns, cell_rows,
    search_rows, step_rows,
};
pub use write::{ReportError, Written, write_all};
