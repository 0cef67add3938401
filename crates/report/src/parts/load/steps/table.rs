//! Steps and sessions of a scenario. None of these tables exists without one.

use waggle_results::FailureKind;

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{MAX, P50, P90, P99, P999, Quantile, levels, percentiles, place},
    words::format::Unit,
};

use waggle_analysis::{CellModel, Model, SessionsModel, StepModel};

/// One step of one cell.
type Row<'a> = (&'a CellModel, &'a StepModel);

/// Each step of each cell.
pub(crate) fn steps(model: &Model) -> Option<Table> {
    let columns = place(model, |(cell, _): &Row<'_>| *cell);
    steps_table(model, columns, &[P50, P90, P99, P999, MAX])
}

/// The same for a terminal.
pub(crate) fn steps_in_short(model: &Model) -> Option<Table> {
    let columns = levels(model, |(cell, _): &Row<'_>| *cell);
    steps_table(model, columns, &[P50, P99, MAX])
}

fn steps_table<'a>(
    model: &'a Model,
    mut columns: Vec<Column<'a, Row<'a>>>,
    quantiles: &[Quantile],
) -> Option<Table> {
    columns.extend([
        Column::words("step", |(_, step): &Row<'_>| Field::plain(&step.name)),
        Column::numbers("requests/s", |(_, step): &Row<'_>| {
            Field::estimate(step.goodput.as_ref(), Unit::Plain)
        }),
    ]);
    columns.extend(percentiles(quantiles, |(_, step): &Row<'_>| &step.response));
    columns.push(Column::numbers("errors", |(_, step): &Row<'_>| {
        Field::errors(step.failed, step.error_rate)
    }));
    let caption = "Goodput and response time of each step of the scenario";
    Table::new("steps", caption, columns, all_rows(model)).unless_empty()
}

/// Sessions by outcome.
pub(crate) fn sessions(model: &Model) -> Option<Table> {
    type Row<'a> = (&'a CellModel, &'a SessionsModel);
    let mut columns = place(model, |(cell, _): &Row<'_>| *cell);
    columns.extend([
        Column::numbers("sessions/s", |(_, sessions): &Row<'_>| {
            Field::estimate(sessions.goodput.as_ref(), Unit::Plain)
        }),
        Column::numbers("started", |(_, sessions): &Row<'_>| {
            Field::count(sessions.counts.started)
        }),
        Column::numbers("completed", |(_, sessions): &Row<'_>| {
            Field::count(sessions.counts.completed)
        }),
        Column::numbers("failed", |(_, sessions): &Row<'_>| {
            Field::nothing_expected(sessions.counts.failed)
        }),
    ]);
    let quantiles = [P50, P90, P99, MAX];
    columns.extend(percentiles(&quantiles, |(_, sessions): &Row<'_>| {
        &sessions.duration
    }));
    let cells = model.cells.iter();
    let rows = cells.filter_map(|cell| Some((cell, cell.sessions.as_ref()?)));
    let caption = "Completed sessions per second, counts of sessions summed over trials, and how long completed sessions lasted, from due \
                   to the end of the flow, pauses included";
    Table::new("sessions", caption, columns, rows)
        .with_title("Sessions")
        .unless_empty()
}

/// Failed requests of each step by kind.
pub(crate) fn step_failures(model: &Model) -> Option<Table> {
    type Failed<'a> = (Row<'a>, &'a (FailureKind, u64));
    let mut columns = place(model, |((cell, _), _): &Failed<'_>| *cell);
    columns.extend([
        Column::words("step", |((_, step), _): &Failed<'_>| {
            Field::plain(&step.name)
        }),
        Column::words("kind", |(_, (kind, _)): &Failed<'_>| {
            Field::plain(kind.in_words())
        }),
        Column::numbers("requests", |(_, (_, count)): &Failed<'_>| {
            Field::nothing_expected(*count)
        }),
    ]);
    let rows =
        all_rows(model).flat_map(|row| row.1.failures.iter().map(move |failed| (row, failed)));
    let caption = "Failed requests by step and kind, summed over trials";
    Table::new("step-failures", caption, columns, rows)
        .with_title("Failed requests by step")
        .unless_empty()
}

fn all_rows(model: &Model) -> impl Iterator<Item = Row<'_>> {
    let cells = model.cells.iter();
    cells.flat_map(|cell| cell.steps.iter().map(move |step| (cell, step)))
}
