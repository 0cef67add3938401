//! Results of each cell.

use waggle_results::FailureKind;

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{
        MAX, P50, P90, P99, P999, Quantile, derived_levels, levels, levels_of, per_second,
        percentiles, place_of_cell, verdict,
    },
    words::format::{self, Unit},
};

use waggle_analysis::{CellModel, Factor, Model, as_f64, failure_kinds};

/// Goodput, response time, failed requests, verdict.
pub(crate) fn cells(model: &Model) -> Table {
    let mut columns = place_of_cell(model);
    columns.push(verdict());
    columns.extend(outcome_columns(model, &[P50, P90, P99, P999, MAX]));
    Table::new("cells", caption(model), columns, &model.cells)
}

/// All levels of each cell, if the other tables have a name or a part of them.
pub(crate) fn all_levels(model: &Model) -> Option<Table> {
    let is_named = model.cells.iter().any(|cell| cell.name.is_some());
    let varying = model
        .factors
        .iter()
        .filter(|factor| factor.levels.len() > 1);
    let has_derived = model.cells.iter().any(|cell| !cell.derived.is_empty());
    if !is_named && !has_derived && model.telling.len() >= varying.count() {
        return None;
    }
    let mut columns = levels(model, |cell: &&CellModel| *cell);
    let is_shown = |factor: &Factor| !is_named && model.telling.contains(factor);
    for factor in model.factors.iter().filter(|factor| !is_shown(factor)) {
        columns.extend(levels_of(
            std::slice::from_ref(factor),
            |cell: &&CellModel| *cell,
        ));
    }
    columns.extend(derived_levels(model));
    let table = Table::new("levels", "All levels of each cell", columns, &model.cells);
    Some(table.with_title("Levels of the cells"))
}

/// The same for a terminal, with delivered and missing records of a study that has records.
pub(crate) fn cells_in_short(model: &Model) -> Table {
    let of_ledger = |field: fn(&waggle_results::LedgerInfo) -> u64| {
        move |cell: &&CellModel| Field::optional(cell.ledger.as_ref().map(field).map(format::count))
    };
    let mut columns = levels(model, |cell: &&CellModel| *cell);
    columns.extend(outcome_columns(model, &[P50, P99, MAX]));
    if model.cells.iter().any(|cell| cell.ledger.is_some()) {
        columns.extend([
            Column::numbers("delivered", of_ledger(|ledger| ledger.delivered)),
            Column::numbers("missing", of_ledger(|ledger| ledger.missing)),
        ]);
    }
    columns.push(verdict());
    Table::new("cells", caption(model), columns, &model.cells)
}

fn caption(model: &Model) -> String {
    let certainty = match model.info.schedule.max_repetitions() {
        1 => "one trial each, so without intervals",
        _ => {
            "of a typical trial (geometric means over trials), with 95 % intervals over trials; max is that of all trials"
        }
    };
    format!("Goodput and response time of each cell, {certainty}")
}

/// Goodput, response time, errors.
fn outcome_columns<'a>(model: &'a Model, quantiles: &[Quantile]) -> Vec<Column<'a, &'a CellModel>> {
    let mut columns = vec![Column::numbers(
        per_second(model.counted),
        |cell: &&CellModel| Field::estimate(cell.goodput.as_ref(), Unit::Plain),
    )];
    columns.extend(percentiles(quantiles, |cell: &&CellModel| &cell.response));
    // Beside the other where it says something else in some cell.
    let p99 = |cell: &CellModel| model.p99_by_weights(cell.cell);
    let differ = |cell: &CellModel| p99(cell).is_some_and(|p99| p99.differ());
    if model.cells.iter().any(differ) {
        columns.push(Column::numbers(
            "time-weighted p99",
            move |cell: &&CellModel| {
                let p99 = p99(cell).map(|p99| p99.by_time);
                Field::optional(p99.map(|p99| Unit::Time.show(p99.point())))
            },
        ));
    }
    columns.push(Column::numbers("errors", |cell: &&CellModel| {
        Field::errors(cell.failed, cell.error_rate)
    }));
    columns
}

/// Failures by kind, a row for each cell with failures; `None` if no request failed.
pub(crate) fn failures(model: &Model) -> Option<Table> {
    let kinds = failure_kinds(&model.cells, |cell| &cell.failures);
    if kinds.is_empty() {
        return None;
    }
    let caption = "Failed requests by kind, summed over trials, with the error rate";
    let mut columns = place_of_cell(model);
    columns.extend(kinds.into_iter().map(|kind| {
        Column::numbers(kind.in_words(), move |cell: &&CellModel| {
            failure_field(cell, &kind)
        })
    }));
    let failing = model.cells.iter().filter(|cell| !cell.failures.is_empty());
    let table = Table::new("failures", caption, columns, failing);
    Some(table.with_title("Failed requests"))
}

fn failure_field(cell: &CellModel, kind: &FailureKind) -> Field {
    let count = count_of(&cell.failures, kind);
    let answered = as_f64(cell.succeeded + cell.failed);
    Field::errors(count, Some(as_f64(count) / answered))
}

fn count_of(failures: &[(FailureKind, u64)], kind: &FailureKind) -> u64 {
    let entry = failures.iter().find(|(name, _)| name == kind);
    entry.map_or(0, |(_, count)| *count)
}

/// Failures that are none of a request by kind, a row for each cell that has any; `None` if there are none.
pub(crate) fn other_failures(model: &Model) -> Option<Table> {
    let kinds = failure_kinds(&model.cells, |cell| &cell.other_failures);
    if kinds.is_empty() {
        return None;
    }
    let mut caption =
        "Attempts to connect that failed, and connections that ended wrongly without a request, by kind, \
         summed over trials; they are not requests and have no error rate"
            .to_owned();
    if kinds.iter().any(|kind| kind.is_of_session()) {
        caption += "; too many rounds counts sessions whose loop reached max_rounds";
    }
    let mut columns = place_of_cell(model);
    columns.extend(kinds.into_iter().map(|kind| {
        Column::numbers(kind.in_words(), move |cell: &&CellModel| {
            Field::nothing_expected(count_of(&cell.other_failures, &kind))
        })
    }));
    let cells = model.cells.iter();
    let failing = cells.filter(|cell| !cell.other_failures.is_empty());
    let table = Table::new("failed-connections", caption, columns, failing);
    Some(table.with_title("Failed connections"))
}
