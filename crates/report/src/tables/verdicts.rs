//! Verdicts and thresholds: whether the results are reliable, and whether they are good enough for the study.

use super::columns::{place_of_cell, verdict};
use crate::{
    format::{self, NONE},
    table::{Column, Field, Table},
    wording::{conditions::not_counted, findings::cell_reason},
};
use waggle_analysis::{CellModel, Model, ThresholdCell, ThresholdOutcome, is_recovery};

/// Each cell's verdict with its reasons.
pub(crate) fn verdicts(model: &Model) -> Table {
    let mut columns = place_of_cell(model);
    columns.extend([
        verdict(),
        Column::words("reasons", |cell: &&CellModel| Field::plain(reasons(cell))),
    ]);
    let caption = "Whether each cell is reliable, with the reasons";
    Table::new("verdicts", caption, columns, &model.cells).with_title("Verdicts")
}

fn reasons(cell: &CellModel) -> String {
    if cell.verdict.is_none() {
        return match cell.is_searched {
            true => "no level holds".to_owned(),
            false => "no trial has run".to_owned(),
        };
    }
    if cell.reasons.is_empty() {
        return "every check passed".to_owned();
    }
    let reasons = cell.reasons.iter().map(cell_reason);
    reasons.collect::<Vec<_>>().join("\n")
}

/// Every threshold with the cells in which it fails.
pub(crate) fn thresholds(model: &Model) -> Option<Table> {
    let columns = vec![
        Column::words("threshold", |threshold: &&ThresholdOutcome| {
            Field::plain(&threshold.text)
        }),
        Column::words("holds", |threshold: &&ThresholdOutcome| {
            Field::plain(holding_text(threshold)).bad_if(!threshold.holds)
        }),
        Column::words("fails in", |threshold: &&ThresholdOutcome| {
            let failing =
                failing_cells(threshold).map(|cell| where_it_fails(model, threshold, cell));
            match failing.collect::<Vec<_>>() {
                none if none.is_empty() => Field::plain(NONE),
                failing => Field::plain(failing.join("\n")),
            }
        }),
    ];
    Table::new(
        "thresholds",
        thresholds_caption(model),
        columns,
        &model.thresholds,
    )
    .with_title("Thresholds")
    .unless_empty()
}

fn thresholds_caption(model: &Model) -> String {
    let mut thresholds = model.info.thresholds.iter();
    let more = if thresholds.any(|threshold| is_recovery(&threshold.metric)) {
        ", those on recovery_time on unsteady and overloaded cells, too"
    } else {
        ""
    };
    format!("Thresholds of the study; they hold only in valid and noisy cells{more}")
}

fn failing_cells(threshold: &ThresholdOutcome) -> impl Iterator<Item = &ThresholdCell> {
    threshold.cells.iter().filter(|cell| !cell.holds)
}

fn holding_text(threshold: &ThresholdOutcome) -> String {
    if threshold.holds {
        return "holds in every cell".to_owned();
    }
    let all = threshold.cells.len();
    let holding = all - failing_cells(threshold).count();
    format!("fails: holds in {holding} of {all} cells")
}

fn where_it_fails(model: &Model, threshold: &ThresholdOutcome, outcome: &ThresholdCell) -> String {
    let mut cells = model.cells.iter();
    let cell = cells.find(|cell| cell.cell == outcome.cell);
    let place = cell.map_or_else(
        || format!("cell {}", outcome.cell),
        |cell| format::levels(&cell.levels),
    );
    let seen = outcome
        .observed
        .map(|seen| format!(" is {}", format::in_unit(seen, threshold.unit)))
        .unwrap_or_default();
    let reason = outcome
        .reason
        .as_ref()
        .map(|reason| format!(" ({})", not_counted(reason)))
        .unwrap_or_default();
    format!("{place}{seen}{reason}")
}
