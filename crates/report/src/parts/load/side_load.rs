//! A load of a trial that is not the measured one, as the row of a table.

use crate::{
    layout::table::{Column, Field},
    parts::columns::place,
    words::format::Unit,
};

use waggle_analysis::{CellModel, Model, TrialModel, TrialSideLoad};
use waggle_spec::LoadRole;

/// A load of one trial.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    cell: &'a CellModel,
    pub(crate) trial: &'a TrialModel,
    pub(crate) load: &'a TrialSideLoad,
}

/// A row for each load of a role in each trial in which it ran.
pub(crate) fn rows(model: &Model, role: LoadRole) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for trial in &model.trials {
        let Some(cell) = model.cell(trial.info.key.cell) else {
            continue;
        };
        let loads = trial.loads_of(role);
        rows.extend(loads.map(|load| Row { cell, trial, load }));
    }
    rows
}

/// Which load of which trial a row is of.
pub(crate) fn identity<'a, T: 'a>(
    model: &'a Model,
    row: impl Fn(&T) -> Row<'a> + Copy + 'a,
) -> Vec<Column<'a, T>> {
    let mut columns = place(model, move |entry: &T| row(entry).cell);
    columns.extend([
        Column::numbers("repetition", move |entry: &T| {
            Field::plain(row(entry).trial.info.key.repetition.to_string())
        }),
        Column::words("load", move |entry: &T| {
            Field::plain(&row(entry).load.info.name)
        }),
    ]);
    columns
}

/// Succeeded requests per second.
pub(crate) fn goodput<'a>() -> Column<'a, Row<'a>> {
    Column::numbers("requests/s", |row: &Row<'_>| {
        let rate = row.load.goodput_per_s();
        Field::optional(rate.map(|rate| Unit::Plain.show(rate)))
    })
}
