//! What the system counts next to what the load generator counts.

use waggle_analysis::{CellCounts, CellModel, CountComparisonModel, Model};
use waggle_spec::ComparedCount;

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place,
    words::format,
};

type Row<'a> = (&'a CellModel, &'a CountComparisonModel, &'a CellCounts);

/// A row for each cell and compared metric; `None` if nothing is compared.
pub(crate) fn count_comparison(model: &Model) -> Option<Table> {
    let rows = model.count_comparisons.iter().flat_map(|compared| {
        let cells = model.cells.iter().zip(&compared.cells);
        cells.map(move |(cell, counts)| (cell, compared, counts))
    });
    let mut columns = place(model, |(cell, ..): &Row<'_>| *cell);
    let count = |value: f64, row: &Row<'_>| match row.2.trials {
        0 => Field::empty(),
        _ => Field::plain(format::amount(value)),
    };
    columns.extend([
        Column::words("metric", |(_, compared, _): &Row<'_>| {
            Field::plain(&compared.metric)
        }),
        Column::words("compared with", |(_, compared, _): &Row<'_>| {
            Field::plain(name(compared.info.count))
        }),
        Column::numbers("load generator", move |row: &Row<'_>| {
            count(row.2.client, row)
        }),
        Column::numbers("system", move |row: &Row<'_>| count(row.2.server, row)),
        Column::numbers("difference", move |row: &Row<'_>| {
            let difference = row.2.server - row.2.client;
            count(difference, row).bad_if(row.2.different > 0)
        }),
        Column::numbers("largest in a trial", move |row: &Row<'_>| {
            count(row.2.largest, row).bad_if(row.2.different > 0)
        }),
        Column::numbers("trials that differ", |(_, _, counts): &Row<'_>| {
            let text = format!("{} of {}", counts.different, counts.trials);
            Field::plain(text).bad_if(counts.different > 0)
        }),
        Column::numbers("not compared", |(_, _, counts): &Row<'_>| {
            Field::count((counts.of_trials - counts.trials) as u64)
        }),
    ]);
    let caption = "Requests of the whole load, warm-up included, as the load generator and the system count them, summed over trials; \
                   marked: a trial differs by more than the tolerance";
    Table::new("count-comparison", caption, columns, rows)
        .with_title("Counts of the system")
        .unless_empty()
}

pub(crate) fn name(count: ComparedCount) -> &'static str {
    match count {
        ComparedCount::Sent => "sent requests",
        ComparedCount::Answered => "answered requests",
        ComparedCount::Succeeded => "succeeded requests",
        ComparedCount::Failed => "failed requests",
    }
}
