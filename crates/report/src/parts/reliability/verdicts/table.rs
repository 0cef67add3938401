//! Verdicts and thresholds: whether the results are reliable, and whether they are good enough for the study.

use super::causes;
use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{place_of_cell, verdict},
    words::{
        conditions,
        findings::cell_reason,
        format::{self, NONE},
        imported,
        names::cell_name,
    },
};

use waggle_analysis::{CellModel, Decision, Model, ThresholdCell, ThresholdOutcome};

/// Each cell's verdict with its reasons.
pub(crate) fn verdicts(model: &Model) -> Table {
    let is_imported = model.info.imported.is_some();
    let mut columns = place_of_cell(model);
    columns.extend([
        verdict(),
        Column::numbers("second half ÷ first half", |cell: &&CellModel| {
            change(cell)
        }),
        Column::words("reasons", move |cell: &&CellModel| {
            Field::plain(reasons(cell, is_imported))
        }),
    ]);
    let caption = "Whether each cell is reliable, with the reasons, and its throughput in the second half of the measured phase to that in the first";
    Table::new("verdicts", caption, columns, &model.cells).with_title("Verdicts")
}

/// Second half of the measured phase to the first: what it is shown to be, and what cannot be excluded.
fn change(cell: &CellModel) -> Field {
    let Some(change) = &cell.change else {
        return Field::empty();
    };
    Field::plain(format::times(change.ratio.point))
        .with_aside(change.ratio.interval.map(format::ratio_ends))
        .bad_if(change.is_shown)
}

fn reasons(cell: &CellModel, is_imported: bool) -> String {
    if cell.verdict.is_none() {
        return match cell.is_searched {
            true => "no level holds".to_owned(),
            false => "no trial has run".to_owned(),
        };
    }
    if cell.reasons.is_empty() {
        return match is_imported {
            true => imported::VALID.to_owned(),
            false => "every check passed".to_owned(),
        };
    }
    let causes = cell.causes.iter();
    let causes = causes.map(|cause| causes::of_cell(cause, cell.ran));
    let reasons = cell.reasons.iter().map(cell_reason).chain(causes);
    reasons.collect::<Vec<_>>().join("\n")
}

/// Every threshold with the cells in which it does not hold.
pub(crate) fn thresholds(model: &Model) -> Option<Table> {
    let columns = vec![
        Column::words("threshold", |threshold: &&ThresholdOutcome| {
            Field::plain(&threshold.text)
        }),
        Column::words("result", |threshold: &&ThresholdOutcome| {
            Field::plain(holding_text(threshold)).bad_if(threshold.held == Decision::Fails)
        }),
        Column::words("cells", |threshold: &&ThresholdOutcome| {
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
        "Thresholds of the study, by the 95 % interval and by doubts about the metric",
        columns,
        &model.thresholds,
    )
    .with_title("Thresholds")
    .unless_empty()
}

/// Cells in which it is not shown to hold, those in which it fails first.
fn failing_cells(threshold: &ThresholdOutcome) -> impl Iterator<Item = &ThresholdCell> {
    let with = |held: Decision| {
        let cells = threshold.cells.iter();
        cells.filter(move |cell| cell.held == held)
    };
    with(Decision::Fails).chain(with(Decision::Undecided))
}

fn holding_text(threshold: &ThresholdOutcome) -> String {
    let count = |held: Decision| {
        let cells = threshold.cells.iter();
        cells.filter(|cell| cell.held == held).count()
    };
    let all = threshold.cells.len();
    let undecided = match count(Decision::Undecided) {
        0 => String::new(),
        some => format!("undecided in {some} of {all} cells"),
    };
    match (threshold.held, count(Decision::Fails)) {
        (Decision::Holds, _) => "holds in every cell".to_owned(),
        (_, 0) => undecided,
        (_, some) => {
            let more = match undecided.as_str() {
                "" => "",
                _ => ", ",
            };
            format!("does not hold in {some} of {all} cells{more}{undecided}")
        }
    }
}

fn where_it_fails(model: &Model, threshold: &ThresholdOutcome, outcome: &ThresholdCell) -> String {
    let mut cells = model.cells.iter();
    let cell = cells.find(|cell| cell.cell == outcome.cell);
    let place = cell.map_or_else(
        || format!("cell {}", outcome.cell),
        |cell| cell_name(model, cell),
    );
    let seen = outcome
        .observed
        .map(|seen| format!(" is {}", format::in_unit(seen, threshold.unit)))
        .unwrap_or_default();
    let reason = outcome
        .reason
        .as_ref()
        .map(|reason| format!(" ({})", conditions::shortcoming(reason, threshold.unit)))
        .unwrap_or_default();
    let undecided = match outcome.held {
        Decision::Undecided => "undecided: ",
        Decision::Holds | Decision::Fails => "",
    };
    format!("{undecided}{place}{seen}{reason}")
}
