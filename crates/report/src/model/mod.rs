//! The analysis: results and statistics joined into what is shown. Pure: a run in, numbers and verdicts out.
//!
//! Every number a writer shows stands here, so that two writers never compute the same one twice.

mod account;
mod answer;
mod busiest;
mod cell;
mod comparisons;
mod curves;
mod distribution;
mod disturbed;
pub(crate) mod effects;
mod find;
pub(crate) mod found;
pub mod judge;
mod layout;
mod levels;
mod outcome;
mod place;
mod published;
mod recovery;
mod remark;
mod series;
mod step;
mod threshold;
mod trial;

use waggle_results::{Run, RunInfo};
use waggle_stats::Verdict;

pub(crate) use account::TOLD_APART_FROM;
pub use answer::Answer;
pub use busiest::Busiest;
pub(crate) use busiest::{cpus_of_system, of_trial as busiest_of_trial};
pub use cell::CellModel;
pub(crate) use cell::failure_kinds;
pub(crate) use comparisons::caution as comparison_caution;
pub use comparisons::{Ahead, Compared, ComparisonModel, Found, Measure, NoSuccess, Without};
pub use curves::{Curve, CurvePoint, CurvesModel, FailedOver};
pub use distribution::{
    Distribution, Percentile, SpectrumPoint, TrialPercentile, TrialPercentiles,
};
pub(crate) use distribution::{SPECTRUM_TICKS, as_f64};
pub use disturbed::{CellDisturbed, Kill, Silence, TrialDisturbed};
pub use effects::{Comparison, EffectsModel, OutcomeEffects};
pub use find::{CellSearch, FindModel, SearchStep, evidence, level};
pub use found::sentence;
pub use layout::{Line, Over};
pub use outcome::Better;
pub use place::{PlaceModel, TrialPlace, TrialWatch, WatchModel, Watched};
pub(crate) use published::{PublishedModel, PublishedValue, level as published_level};
pub use recovery::{CellRecovery, TrialRecovery};
pub(crate) use remark::{external_components, is_external};
pub use series::{CpuSeries, NamedSeries, Series, SeriesPoint};
pub use step::{SessionsModel, StepModel, TrialStep};
pub(crate) use threshold::{Kind, is_recovery, kind_of};
pub use threshold::{ThresholdCell, ThresholdOutcome};
pub use trial::{Failure, TrialModel, TrialNumbers};

/// Everything a report says.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was planned, on which machine, with which versions.
    pub info: RunInfo,
    pub study_text: String,
    /// What goodput counts.
    pub counted: Counted,
    /// In the study's order.
    pub factors: Vec<Factor>,
    /// In the study's order.
    pub cells: Vec<CellModel>,
    /// By cell, then by repetition; only trials that have run.
    pub trials: Vec<TrialModel>,
    pub thresholds: Vec<ThresholdOutcome>,
    /// Cells in whose trials something was killed on purpose; none in most studies.
    pub disturbed: Vec<CellDisturbed>,
    /// Where a level is searched for; the cells then rest on the trials at the highest level that holds.
    pub find: Option<FindModel>,
    /// What each factor does, where the cells form a complete grid of two factors and more, and nothing is searched for.
    pub effects: Option<EffectsModel>,
    /// Outcomes over a factor whose levels are numbers; nothing where something is searched for.
    pub curves: Option<CurvesModel>,
    /// Two levels of a factor against each other, at each level of another; none where something is searched for.
    pub comparisons: Vec<ComparisonModel>,
    /// Figures that somebody published beside the study's own.
    pub published: Option<PublishedModel>,
    pub answer: Answer,
    /// What became of records, a sentence each; none where no account was kept.
    pub account: Vec<String>,
    /// What a reader must know before believing a number.
    pub warnings: Vec<String>,
}

/// What goodput counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Records,
    Requests,
}

impl Counted {
    /// `records` or `requests`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Requests => "requests",
        }
    }
}

/// Something that varied, with its values in the order of their first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

impl Model {
    /// How many cells have each verdict, mildest first; a verdict no cell has is left out.
    #[must_use]
    pub fn verdict_counts(&self) -> Vec<(Verdict, usize)> {
        let mut verdicts: Vec<Verdict> =
            self.cells.iter().filter_map(|cell| cell.verdict).collect();
        verdicts.sort_unstable();
        verdicts
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len()))
            .collect()
    }

    /// The trials of one cell, by repetition.
    pub fn trials_of(&self, cell: u32) -> impl Iterator<Item = &TrialModel> {
        self.trials
            .iter()
            .filter(move |trial| trial.key.cell == cell)
    }
}

/// A run's results → everything the report says of them.
#[must_use]
pub fn model(run: &Run) -> Model {
    let info = &run.info;
    let counted = counted(info);
    let mut trials: Vec<TrialModel> = run
        .trials
        .iter()
        .map(|trial| trial::trial(trial, info, counted))
        .collect();
    trials.sort_by_key(|trial| trial.key);
    let find = find::find(info, &trials, &run.trials);
    let cells: Vec<CellModel> = info
        .cells
        .iter()
        .map(|of| match &find {
            Some(find) => cell::cell(of, info, &find.holding(of.cell, &trials), &run.trials),
            None => cell::cell(of, info, &trials, &run.trials),
        })
        .collect();
    let thresholds = info
        .thresholds
        .iter()
        .map(|text| threshold::outcome(text, &cells))
        .collect();
    let factors = factors(info);
    let published = published::published(info, &cells);
    let over = match find {
        // Cells at levels that were found differ by more than their factors.
        Some(_) => OverFactors::default(),
        None => over_factors(info, &factors, &cells, &trials, published.as_ref()),
    };
    Model {
        study_text: run.study_text.clone(),
        counted,
        factors,
        effects: over.effects,
        curves: over.curves,
        comparisons: over.comparisons,
        disturbed: disturbed::cells(&trials, find.as_ref()),
        answer: answer::answer(info, counted, &cells, find.as_ref()),
        account: account::sentences(info, &cells),
        warnings: remark::warnings(info, &trials, find.as_ref()),
        info: info.clone(),
        published,
        cells,
        trials,
        thresholds,
        find,
    }
}

/// What the factors do to the outcomes.
#[derive(Default)]
struct OverFactors {
    effects: Option<EffectsModel>,
    curves: Option<CurvesModel>,
    comparisons: Vec<ComparisonModel>,
}

fn over_factors(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    published: Option<&PublishedModel>,
) -> OverFactors {
    let curves = curves::curves(info, factors, cells, trials, published);
    let axis = curves.as_ref().map(|curves| curves.over.factor.as_str());
    OverFactors {
        effects: effects::effects(factors, cells, trials, info.delivery_at.as_deref()),
        comparisons: comparisons::comparisons(info, factors, cells, trials, axis),
        curves,
    }
}

fn counted(info: &RunInfo) -> Counted {
    if info.records_from.is_some() {
        Counted::Records
    } else {
        Counted::Requests
    }
}

fn factors(info: &RunInfo) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for (name, level) in info.cells.iter().flat_map(|cell| &cell.levels) {
        match factors.iter_mut().find(|factor| factor.name == *name) {
            Some(factor) if factor.levels.contains(level) => {}
            Some(factor) => factor.levels.push(level.clone()),
            None => factors.push(Factor {
                name: name.clone(),
                levels: vec![level.clone()],
            }),
        }
    }
    factors
}
