//! The loads that ran beside the measured one, trial by trial.

use crate::{
    layout::table::{Column, Field, Table},
    parts::{
        columns::time_quantiles,
        load::side_load::{Row, goodput, identity, rows},
    },
    words::format::{self, Unit},
};

use waggle_analysis::{Model, TrialSideLoad};
use waggle_spec::LoadRole;

/// A row for each background load of each trial in which it ran. `None`: there is none.
pub(crate) fn background_loads(model: &Model) -> Option<Table> {
    let mut columns = identity(model, |row: &Row<'_>| *row);
    columns.extend([
        Column::words("sends", |row: &Row<'_>| Field::plain(sends(row.load))),
        goodput(),
    ]);
    columns.extend(time_quantiles(|row: &Row<'_>| row.load.response.as_ref()));
    columns.extend([
        Column::numbers("bytes/answer", |row: &Row<'_>| {
            let bytes = row.load.bytes_per_answer();
            Field::optional(bytes.map(|bytes| Unit::Bytes.show(bytes)))
        }),
        Column::numbers("errors", |row: &Row<'_>| {
            Field::nothing_expected(row.load.info.counts.failed)
        }),
        Column::numbers("worker CPU", |row: &Row<'_>| {
            Field::share(Some(row.load.info.generator.utilization))
        }),
    ]);
    let caption = "Each load that ran beside the measured one, in the measured phase: succeeded requests per second, and their response \
                   times";
    Table::new(
        "background",
        caption,
        columns,
        rows(model, LoadRole::Background),
    )
    .unless_empty()
}

/// `4 connections`, or `2/s`.
fn sends(load: &TrialSideLoad) -> String {
    let generator = &load.info.generator;
    match (generator.offered_per_s, generator.connections_asked) {
        (Some(rate), _) => format!("{}/s", format::plain(rate)),
        (None, connections) => format::plural(connections, "connection"),
    }
}
