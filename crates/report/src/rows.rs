//! The rows of the terminal's table, as words; the terminal decides widths and colours.

use crate::{
    text::{self, NONE, Unit},
    wording::search,
    words,
};
use waggle_analysis::{CellModel, Counted, Model, Percentile, StepModel};

/// One cell as a row of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRow {
    /// One for each of [`Model::factors`], in that order.
    pub levels: Vec<String>,
    /// Per second, with its interval.
    pub goodput: String,
    pub response_p50: String,
    pub response_p99: String,
    pub response_max: String,
    pub errors: String,
    /// `delivered / missing`, or nothing to say.
    pub delivered: String,
    pub missing: String,
    pub verdict: String,
}

/// The heads of the columns that follow the factors, with their units.
#[must_use]
pub fn cell_columns(model: &Model) -> [&'static str; 8] {
    let goodput = match model.counted {
        Counted::Records => "records/s",
        Counted::Requests => "requests/s",
    };
    [
        goodput,
        "p50",
        "p99",
        "max",
        "errors",
        "delivered",
        "missing",
        "verdict",
    ]
}

/// The answer of one cell's search as a row of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRow {
    /// One for each of [`Model::factors`], in that order.
    pub levels: Vec<String>,
    /// The highest level that holds.
    pub holds: String,
    /// The lowest above it that does not.
    pub fails: String,
    pub trials: String,
    /// How the search ended.
    pub end: String,
}

/// The heads of the columns of a [`SearchRow`] that follow the factors.
pub const SEARCH_COLUMNS: [&str; 4] = ["holds at", "does not at", "trials", "ended"];

/// Every cell's search as a row, in the study's order; `None` where nothing is searched for.
#[must_use]
pub fn search_rows(model: &Model) -> Option<Vec<SearchRow>> {
    let find = model.find.as_ref()?;
    let level =
        |level: Option<f64>| level.map_or_else(none, |level| search::level(find.info.what, level));
    let rows = model.cells.iter().filter_map(|cell| {
        let answer = &find.of_cell(cell.cell)?.answer;
        Some(SearchRow {
            levels: levels(model, cell),
            holds: level(answer.holds.map(|held| held.level)),
            fails: level(answer.fails),
            trials: answer.trials.to_string(),
            end: search::end(answer.end).to_owned(),
        })
    });
    Some(rows.collect())
}

/// Every cell as a row, in the study's order.
#[must_use]
pub fn cell_rows(model: &Model) -> Vec<CellRow> {
    model.cells.iter().map(|cell| row(model, cell)).collect()
}

fn row(model: &Model, cell: &CellModel) -> CellRow {
    CellRow {
        levels: levels(model, cell),
        goodput: text::short(cell.goodput.as_ref(), Unit::Plain),
        response_p50: percentile(&cell.response.p50),
        response_p99: percentile(&cell.response.p99),
        response_max: percentile(&cell.response.max),
        errors: errors(cell.failed, cell.error_share),
        delivered: cell
            .ledger
            .as_ref()
            .map_or_else(none, |ledger| text::count(ledger.delivered)),
        missing: cell
            .ledger
            .as_ref()
            .map_or_else(none, |ledger| text::count(ledger.missing)),
        verdict: verdict(cell),
    }
}

/// One step of a scenario in one cell as a row of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// One for each of [`Model::factors`], in that order.
    pub levels: Vec<String>,
    /// In the order of [`STEP_COLUMNS`].
    pub fields: [String; 6],
}

/// The heads of the columns that follow the factors in the table of steps.
pub const STEP_COLUMNS: [&str; 6] = ["step", "requests/s", "p50", "p99", "max", "errors"];

/// Every step of every cell as a row; none without a scenario.
#[must_use]
pub fn step_rows(model: &Model) -> Vec<StepRow> {
    let steps = |cell: &CellModel| {
        let levels = levels(model, cell);
        let row = |step: &StepModel| StepRow {
            levels: levels.clone(),
            fields: [
                step.name.clone(),
                text::short(step.goodput.as_ref(), Unit::Plain),
                percentile(&step.response.p50),
                percentile(&step.response.p99),
                percentile(&step.response.max),
                errors(step.failed, step.error_share),
            ],
        };
        cell.steps.iter().map(row).collect::<Vec<_>>()
    };
    model.cells.iter().flat_map(steps).collect()
}

/// The cell's level of each factor; a factor it has no level of gets a dash.
pub(crate) fn levels(model: &Model, cell: &CellModel) -> Vec<String> {
    model
        .factors
        .iter()
        .map(|factor| {
            let level = cell.levels.iter().find(|(name, _)| *name == factor.name);
            level.map_or_else(none, |(_, level)| level.clone())
        })
        .collect()
}

/// A percentile from too few samples carries a mark.
fn percentile(percentile: &Percentile) -> String {
    let shown = text::short(percentile.estimate.as_ref(), Unit::Time);
    if percentile.thin.is_some() && percentile.estimate.is_some() {
        format!("{shown} (few)")
    } else {
        shown
    }
}

/// `0`, or `12 (0.03 %)`.
fn errors(failed: u64, share: Option<f64>) -> String {
    match share {
        None => none(),
        Some(_) if failed == 0 => "0".to_owned(),
        Some(share) => format!("{} ({})", text::count(failed), text::share(share)),
    }
}

/// The verdict's word, and how many trials there are where they are not all there.
pub(crate) fn verdict(cell: &CellModel) -> String {
    let none = if cell.is_searched {
        "no level holds"
    } else {
        "not run"
    };
    let word = cell.verdict.map_or(none, words::verdict);
    if cell.ran > 0 && cell.ran < cell.planned as usize {
        format!("{word} ({} of {} trials)", cell.ran, cell.planned)
    } else {
        word.to_owned()
    }
}

fn none() -> String {
    NONE.to_owned()
}
