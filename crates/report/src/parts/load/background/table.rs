//! The loads that ran beside the measured one, trial by trial.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{place, time_quantiles},
    words::format::{self, Unit},
};

use waggle_analysis::{CellModel, Model, TrialBackgroundLoad, TrialModel};

/// A background load of one trial.
struct Row<'a> {
    cell: &'a CellModel,
    trial: &'a TrialModel,
    name: &'a str,
    load: &'a TrialBackgroundLoad,
}

/// A row for each background load of each trial in which it ran. `None`: there is none.
pub(crate) fn background_loads(model: &Model) -> Option<Table> {
    let mut columns = place(model, |row: &Row<'_>| row.cell);
    columns.extend([
        Column::numbers("repetition", |row: &Row<'_>| {
            Field::plain(row.trial.info.key.repetition.to_string())
        }),
        Column::words("load", |row: &Row<'_>| Field::plain(row.name)),
        Column::words("sends", |row: &Row<'_>| Field::plain(sends(row.load))),
        Column::numbers("requests/s", |row: &Row<'_>| {
            let rate = row.load.goodput_per_s();
            Field::optional(rate.map(|rate| Unit::Plain.show(rate)))
        }),
    ]);
    columns.extend(time_quantiles(|row: &Row<'_>| row.load.response.as_ref()));
    columns.extend([
        Column::numbers("bytes/answer", |row: &Row<'_>| {
            let bytes = row.load.bytes_per_answer();
            Field::optional(bytes.map(|bytes| Unit::Bytes.show(bytes)))
        }),
        Column::numbers("errors", |row: &Row<'_>| {
            Field::nothing_expected(row.load.info.measured.failed)
        }),
        Column::numbers("worker CPU", |row: &Row<'_>| {
            Field::share(Some(row.load.info.generator.utilization))
        }),
    ]);
    let caption = "Each load that ran beside the measured one, in the measured phase: succeeded requests per second, and their response \
                   times";
    Table::new("background", caption, columns, all_rows(model)).unless_empty()
}

fn all_rows(model: &Model) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for trial in &model.trials {
        let Some(cell) = model.cell(trial.info.key.cell) else {
            continue;
        };
        rows.extend(trial.background.iter().filter_map(|activity| {
            Some(Row {
                cell,
                trial,
                name: &activity.name,
                load: activity.load.as_ref()?,
            })
        }));
    }
    rows
}

/// `4 connections`, or `2/s`.
fn sends(load: &TrialBackgroundLoad) -> String {
    let generator = &load.info.generator;
    match (generator.offered_per_s, generator.connections_asked) {
        (Some(rate), _) => format!("{}/s", format::plain(rate)),
        (None, connections) => format::plural(connections, "connection"),
    }
}
