//! Levels that a search tried.

use serde::Serialize;
use waggle_analysis::{CellSearch, Model, SearchModel, SearchStep, unit};
use waggle_spec::LevelKind;

use crate::words::{labels, names::cell_name};

#[derive(Serialize)]
pub(crate) struct Search<'a> {
    maximize: LevelKind,
    conditions: Vec<Condition<'a>>,
    cells: Vec<CellOf<'a>>,
}

#[derive(Serialize)]
struct Condition<'a> {
    text: &'a str,
    name: String,
    limit: f64,
    kind: &'static str,
}

#[derive(Serialize)]
struct CellOf<'a> {
    cell: u32,
    label: Option<String>,
    holds: Option<f64>,
    /// The system may hold more.
    is_lower_bound: bool,
    /// The level that half of the trials hold, with its 95 % interval.
    fitted: Option<[f64; 3]>,
    fails: Option<f64>,
    steps: Vec<Step<'a>>,
}

/// Trial, level, the metric of each condition, the evidence, the connections of the load.
type Step<'a> = (u32, f64, &'a [Option<f64>], &'static str, Option<u32>);

impl<'a> Search<'a> {
    pub(crate) fn new(search_model: &'a SearchModel, model: &Model) -> Self {
        let conditions = search_model
            .info
            .conditions
            .iter()
            .map(|condition| Condition {
                text: &condition.text,
                name: condition.metric.join("."),
                limit: condition.value,
                kind: labels::unit(unit(&condition.metric, &model.info.metrics)),
            });
        let cells = search_model.cells.iter();
        Self {
            maximize: search_model.info.maximize,
            conditions: conditions.collect(),
            cells: cells.map(|search| CellOf::new(search, model)).collect(),
        }
    }
}

impl<'a> CellOf<'a> {
    fn new(search: &'a CellSearch, model: &Model) -> Self {
        let cell = model.cells.iter().find(|cell| cell.cell == search.cell);
        Self {
            cell: search.cell,
            label: cell.map(|cell| cell_name(model, cell)),
            holds: search.answer.holds.map(|held| held.level),
            is_lower_bound: search.answer.is_lower_bound(),
            fitted: (search.answer.fitted_level())
                .map(|fitted| [fitted.level, fitted.low, fitted.high]),
            fails: search.answer.fails,
            steps: search.steps.iter().map(step).collect(),
        }
    }
}

fn step(step: &SearchStep) -> Step<'_> {
    (
        step.key.repetition,
        step.level,
        &step.numbers,
        labels::evidence(step.evidence),
        step.tried.connections,
    )
}
