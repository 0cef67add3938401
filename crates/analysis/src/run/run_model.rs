//! Everything that a run shows, as one value. Puts the parts together; each part is computed in a module of its own.

use std::borrow::Cow;

use waggle_metrics::NamedMetric;
use waggle_results::{CellInfo, Note, Run, RunInfo, Trial, parallel_map};
use waggle_stats::Verdict;

use crate::{
    cell::{
        cell_model::{self, CellModel},
        contention::{self, ContentionModel},
        outcome::{CellTrials, trials_of_cell},
        threshold::{self, ThresholdOutcome},
    },
    factors::{
        best_and_worst::{self, BestAndWorstModel},
        curves::{self, CurvesModel},
        effects::{self, EffectsModel},
        level_comparison::{self, ComparisonModel},
        level_ratios::{self, Already, LevelRatiosModel},
        ranking::{self, RankingModel},
        reference::{self, ReferenceModel},
        together::hold_together,
    },
    info::factor::{Counted, Factor, counted_unit, factors, telling_factors},
    metric::{aggregate, number::Number},
    run::{
        account::{self, Account},
        answer::{self, Answer},
        asked_before::AskedBefore,
        drift::{self, DriftModel},
        faults::{self, CellFaults},
        operating_points::{self, OperatingPointModel},
        search::{self, SearchModel},
        system_counts::{self, CountComparisonModel},
        warning::{self, Warning},
    },
    trial::{
        limits,
        trial_model::{self, TrialModel},
    },
};

/// Everything a report says.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was planned, on which machine, with which versions.
    pub info: RunInfo,
    pub study_text: String,
    pub system_text: String,
    /// Whether a waggle wrote to it when it was read: trials may follow.
    pub is_being_written: bool,
    /// What people have noted on the run, the oldest first.
    pub notes: Vec<Note>,
    /// What goodput counts.
    pub counted: Counted,
    /// Whether what the study asks was noted before the first trial.
    pub asked_before: AskedBefore,
    /// In the study's order.
    pub factors: Vec<Factor>,
    /// Those that tell the cells apart.
    pub telling: Vec<Factor>,
    /// In the study's order.
    pub cells: Vec<CellModel>,
    /// By cell, then by repetition; only trials that have run.
    pub trials: Vec<TrialModel>,
    pub thresholds: Vec<ThresholdOutcome>,
    /// Cells whose trials have faults; none in most studies.
    pub faults: Vec<CellFaults>,
    /// Where a level is searched for; the cells then rest on the trials at the highest level that holds.
    pub search: Option<SearchModel>,
    /// The cells at each share of the capacity that the study names; none in most studies.
    pub operating_points: Vec<OperatingPointModel>,
    /// What each factor does, where the cells form a complete grid of two factors and more, and nothing is searched for.
    pub effects: Option<EffectsModel>,
    /// Outcomes over a factor whose levels are numbers; nothing where something is searched for.
    pub curves: Option<CurvesModel>,
    /// Two levels of a factor against each other, at each level of another; none where something is searched for.
    pub comparisons: Vec<ComparisonModel>,
    /// Levels of a factor as ratios to its first, cell by cell; none where something is searched for.
    pub level_ratios: Vec<LevelRatiosModel>,
    /// The levels of each factor that are no numbers from the best to the worst; none where something is searched for.
    pub rankings: Vec<RankingModel>,
    /// Reference results next to the study's own.
    pub reference: Option<ReferenceModel>,
    /// The best and the worst trial of each cell, if the study asks for them.
    pub best_and_worst: Option<BestAndWorstModel>,
    pub answer: Answer,
    /// Metrics of the system next to counts of the load generator, where the system asks for that.
    pub count_comparisons: Vec<CountComparisonModel>,
    /// What became of records; `None` where no account was kept.
    pub account: Option<Account>,
    /// Whether the machine drifted; `None`: nothing shows it.
    pub drift: Option<DriftModel>,
    /// What other programs and the host of the machine used over all trials; `None`: not known.
    pub contention: Option<ContentionModel>,
    /// What a reader must know before believing a number.
    pub warnings: Vec<Warning>,
}

impl Model {
    /// A cell by its number.
    #[must_use]
    pub fn cell(&self, number: u32) -> Option<&CellModel> {
        self.cells.iter().find(|cell| cell.cell == number)
    }

    /// The levels of a cell that tell it apart.
    #[must_use]
    pub fn telling_levels(&self, cell: &CellModel) -> Vec<(String, String)> {
        let is_telling =
            |(name, _): &&(String, String)| self.telling.iter().any(|factor| factor.name == *name);
        cell.levels.iter().filter(is_telling).cloned().collect()
    }

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

    /// A number of a cell over the trials that it rests on; `None` where they do not have it.
    #[must_use]
    pub fn number_of_cell(&self, named: &NamedMetric<'_>, cell: u32) -> Option<Number> {
        let rests_on = |trial: &&TrialModel| {
            let is_found = |search: &SearchModel| search.is_at_answer(trial.info.key);
            trial.counts().is_some() && self.search.as_ref().is_none_or(is_found)
        };
        let trials: Vec<&TrialModel> = self.trials_of(cell).filter(rests_on).collect();
        aggregate::over_trials(named, &trials)
    }

    /// The trials of one cell, by repetition.
    pub fn trials_of(&self, cell: u32) -> impl Iterator<Item = &TrialModel> {
        trials_of_cell(cell, &self.trials).iter()
    }
}

/// A run's results → everything the report says of them.
#[must_use]
pub fn model(run: &Run) -> Model {
    Model {
        is_being_written: run.is_being_written,
        notes: run.notes.clone(),
        ..model_of_all(run)
    }
}

fn model_of_all(run: &Run) -> Model {
    let counted = counted_unit(&run.info);
    let mut trials = parallel_map(&run.trials, |raw_trial| {
        trial_model::trial(raw_trial, &run.info, counted)
    });
    limits::note_unthrottled(&mut trials);
    let texts = [&run.study_text, &run.system_text].map(String::as_str);
    let sentinel = run.info.cells.iter().find(|cell| cell.is_sentinel);
    let Some(sentinel) = sentinel.map(|cell| cell.cell) else {
        return of_trials(&run.info, texts, trials, &run.trials);
    };
    // The sentinel's trials are in no other result.
    let mut info = run.info.clone();
    info.cells.retain(|cell| cell.cell != sentinel);
    info.order.retain(|key| key.cell != sentinel);
    info.added.retain(|added| added.key.cell != sentinel);
    let (of_sentinel, trials): (Vec<TrialModel>, Vec<TrialModel>) = trials
        .into_iter()
        .partition(|trial| trial.info.key.cell == sentinel);
    let mut model = of_trials(&info, texts, trials, &run.trials);
    model.drift = drift::drift(&info, &model.trials, &of_sentinel);
    model
}

/// Everything the report says of these trials; `raw`: their results, for what is merged over trials.
pub(crate) fn of_trials(
    info: &RunInfo,
    [study_text, system_text]: [&str; 2],
    mut trials: Vec<TrialModel>,
    raw: &[Trial],
) -> Model {
    let counted = counted_unit(info);
    trials.sort_by_key(|trial| trial.info.key);
    let search = search::searches(info, &trials, raw);
    let rests_on = |cell: &CellInfo| match &search {
        Some(search) => Cow::Owned(search.trials_at_highest_level(cell.cell, &trials)),
        None => Cow::Borrowed(trials_of_cell(cell.cell, &trials)),
    };
    let cell_trials: Vec<(&CellInfo, Cow<'_, [TrialModel]>)> = info
        .cells
        .iter()
        .map(|cell| (cell, rests_on(cell)))
        .collect();
    let changes = cell_model::changes(cell_trials.iter().map(|(_, trials)| &**trials));
    let cell_trials: Vec<_> = cell_trials.into_iter().zip(changes).collect();
    let cells = parallel_map(&cell_trials, |((cell, trials), change)| {
        cell_model::cell(cell, *change, info, trials, raw)
    });
    let operating_points = match &search {
        Some(search) => operating_points::operating_points(info, search, &trials, raw),
        None => Vec::new(),
    };
    let thresholds = info
        .thresholds
        .iter()
        .map(|text| threshold::outcome(text, &cells, info))
        .collect();
    let factors = factors(info);
    let count_comparisons = system_counts::count_comparisons(info, &cells, &trials);
    let reference = reference::reference_model(info, &cells);
    let over = match search {
        // Cells at levels that were found differ by more than their factors.
        Some(_) => OverFactors::default(),
        None => over_factors(info, &factors, &cells, &trials, reference.as_ref()),
    };
    Model {
        study_text: study_text.to_owned(),
        system_text: system_text.to_owned(),
        is_being_written: false,
        notes: Vec::new(),
        counted,
        asked_before: AskedBefore::new(info, study_text),
        best_and_worst: best_and_worst::best_and_worst(info, &factors, &cells, &trials),
        telling: telling_factors(&factors, info),
        factors,
        effects: over.effects,
        curves: over.curves,
        comparisons: over.comparisons,
        level_ratios: over.level_ratios,
        rankings: over.rankings,
        faults: faults::cells(&trials, search.as_ref()),
        answer: answer::answer(info, &cells, &trials, search.as_ref()),
        account: account::account(&cells),
        drift: drift::drift(info, &trials, &[]),
        contention: contention::over_trials(&trials, info),
        warnings: [
            warning::warnings(info, &trials, search.as_ref()),
            warning::few_windows(&cells, info),
            operating_points::warnings(&operating_points),
            warning::counts_differ(&count_comparisons),
        ]
        .concat(),
        count_comparisons,
        operating_points,
        info: info.clone(),
        reference,
        cells,
        trials,
        thresholds,
        search,
    }
}

/// What the factors do to the outcomes.
#[derive(Default)]
struct OverFactors {
    effects: Option<EffectsModel>,
    curves: Option<CurvesModel>,
    comparisons: Vec<ComparisonModel>,
    level_ratios: Vec<LevelRatiosModel>,
    rankings: Vec<RankingModel>,
}

fn over_factors(
    info: &RunInfo,
    factors: &[Factor],
    cells: &[CellModel],
    trials: &[TrialModel],
    reference: Option<&ReferenceModel>,
) -> OverFactors {
    let curves = curves::curves(info, factors, cells, trials, reference);
    let axis = curves.as_ref().map(|curves| curves.over.factor.as_str());
    let mut effects = effects::effects(factors, cells, trials, info);
    let mut comparisons = level_comparison::comparisons(info, factors, cells, trials, axis);
    let mut rankings = ranking::rankings(info, factors, cells, trials);
    hold_together(effects.as_mut(), &mut comparisons, &mut rankings);
    let already = Already {
        comparisons: &comparisons,
        effects: effects.as_ref(),
    };
    let data = CellTrials { cells, trials };
    let level_ratios = level_ratios::level_ratios(info, factors, data, already);
    OverFactors {
        level_ratios,
        effects,
        curves,
        comparisons,
        rankings,
    }
}
