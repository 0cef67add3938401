//! Stalls: stretches of the measured phase without a success, by cell.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place,
    words::format::{self, Unit},
};

use waggle_analysis::{CellModel, CellStalls, Model};

type Row<'a> = (&'a CellModel, CellStalls);

/// A row for each cell with a stall; `None` if there is none.
pub(crate) fn stalls(model: &Model) -> Option<Table> {
    let cells = model.cells.iter();
    let rows: Vec<Row<'_>> = cells
        .filter_map(|cell| Some((cell, model.stalls_of_cell(cell.cell)?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = place(model, |(cell, _): &&Row<'_>| *cell);
    let p99 = |cell: &CellModel| model.p99_by_weights(cell.cell);
    let time = |number: Option<waggle_analysis::Number>| {
        Field::optional(number.map(|number| Unit::Time.show(number.point())))
    };
    columns.extend([
        Column::numbers("trials", |(_, stalls): &&Row<'_>| {
            Field::plain(format!("{} of {}", stalls.trials, stalls.of))
        }),
        Column::numbers("repetition", |(_, stalls): &&Row<'_>| {
            Field::plain(stalls.repetition.to_string())
        }),
        Column::numbers("longest", |(_, stalls): &&Row<'_>| {
            Field::plain(format::time_s(stalls.largest.longest_s))
        }),
        Column::numbers("from", |(_, stalls): &&Row<'_>| {
            Field::plain(format::time_s(stalls.largest.from_s))
        }),
        Column::numbers("in all", |(_, stalls): &&Row<'_>| {
            Field::share(Some(stalls.largest.ratio()))
        }),
        Column::numbers("p99", move |(cell, _): &&Row<'_>| {
            time(p99(cell).map(|p99| p99.by_request))
        }),
        Column::numbers("time-weighted p99", move |(cell, _): &&Row<'_>| {
            time(p99(cell).map(|p99| p99.by_time))
        }),
    ]);
    let caption = "Stretches without a success although requests were waiting: trials that have one, and those of the repetition that they \
                   take most of, in the measured phase. The p99 of the requests that were sent, and that of arrivals at random instants";
    Some(Table::new("stalls", caption, columns, &rows).with_title("Stalls"))
}
