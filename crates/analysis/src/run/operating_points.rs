//! The cells at shares of the capacity that their searches found. Each share is analysed as a run of its own, without a search, in which
//! each cell has its own load: estimates, verdicts, rankings and the answer are computed as for any other run.

use waggle_results::{RunInfo, ScheduleInfo, Trial, TrialKey};

use crate::{
    run::{
        run_model::{Model, of_trials},
        search::{SearchModel, operating_level},
        warning::Warning,
    },
    trial::trial_model::TrialModel,
};

/// All cells at one share of their capacities.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatingPointModel {
    /// Of the capacity: above 0, at most 1.
    pub share: f64,
    /// In the order of the run's cells.
    pub cells: Vec<OperatingCell>,
    /// What the trials there show, as of a run without a search and without thresholds. Its cells are those that have an operating point.
    pub model: Model,
}

/// The operating point of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatingCell {
    pub cell: u32,
    /// Of the load; `None`: the search of the cell found no capacity.
    pub level: Option<f64>,
}

/// One for each share; none if the search has no operating points.
pub(crate) fn operating_points(
    info: &RunInfo,
    search: &SearchModel,
    trials: &[TrialModel],
    raw: &[Trial],
) -> Vec<OperatingPointModel> {
    let Some(points) = &search.info.operating_points else {
        return Vec::new();
    };
    let mut models = Vec::new();
    for (place, share) in points.shares.iter().enumerate() {
        let is_own = |key: TrialKey| search.info.operating_point(key.repetition) == Some(place);
        let point_trials = trials.iter().filter(|trial| is_own(trial.info.key));
        let point_trials: Vec<TrialModel> = point_trials.cloned().collect();
        let cells = search.cells.iter().map(|search_cell| OperatingCell {
            cell: search_cell.cell,
            level: point_trials
                .iter()
                .find(|trial| trial.info.key.cell == search_cell.cell)
                .and_then(|trial| trial.info.level)
                .or_else(|| operating_level(&search.info, &search_cell.answer, *share)),
        });
        let cells: Vec<OperatingCell> = cells.collect();
        let info = info_of_point(info, points.repeat, &cells, &is_own);
        models.push(OperatingPointModel {
            share: *share,
            model: of_trials(&info, ["", ""], point_trials, raw),
            cells,
        });
    }
    models
}

/// The plan of the trials at one operating point of each cell.
fn info_of_point(
    info: &RunInfo,
    repeat: u32,
    points: &[OperatingCell],
    is_own: &dyn Fn(TrialKey) -> bool,
) -> RunInfo {
    let has_point = |cell: u32| {
        let mut points = points.iter();
        points.any(|point| point.cell == cell && point.level.is_some())
    };
    let cells = info.cells.iter().filter(|cell| has_point(cell.cell));
    let order = info.order.iter().copied();
    let order = order.filter(|key| is_own(*key) && has_point(key.cell));
    RunInfo {
        cells: cells.cloned().collect(),
        order: order.collect(),
        added: Vec::new(),
        schedule: ScheduleInfo {
            repeat,
            repeat_max: None,
            ..info.schedule.clone()
        },
        thresholds: Vec::new(),
        search: None,
        reference: None,
        ..info.clone()
    }
}

/// The shares of the capacity at which trials are missing.
pub(crate) fn warnings(points: &[OperatingPointModel]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for point in points {
        let (ran, planned) = (point.model.trials.len(), point.model.info.order.len());
        if ran < planned {
            warnings.push(Warning::PartialPoint {
                share: point.share,
                ran,
                planned,
            });
        }
    }
    warnings
}
