//! Clients that send a number of requests each: how many came to their end.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place,
    words::format::{self, Unit},
};

use waggle_analysis::{CellModel, ClientsModel, Model};

type Row<'a> = (&'a CellModel, &'a ClientsModel);

/// A row for each cell; `None` if the load is another one.
pub(crate) fn clients(model: &Model) -> Option<Table> {
    let mut columns = place(model, |(cell, _): &Row<'_>| *cell);
    columns.extend([
        Column::numbers("clients", |(_, clients): &Row<'_>| {
            Field::count(clients.clients)
        }),
        Column::numbers("finished", |(_, clients): &Row<'_>| {
            Field::count(clients.finished)
        }),
        Column::numbers("ended early", |(_, clients): &Row<'_>| {
            let failed = clients.failed.iter().map(|(_, count)| count);
            Field::nothing_expected(failed.sum::<u64>() + clients.stopped)
        }),
        Column::words("why", |(_, clients): &Row<'_>| reasons(clients)),
        Column::numbers("completed", |(_, clients): &Row<'_>| {
            Field::count(clients.completed_requests)
        }),
        Column::numbers("succeeded", |(_, clients): &Row<'_>| {
            Field::count(clients.succeeded_requests)
        }),
        Column::numbers("requests/s", |(_, clients): &Row<'_>| {
            Field::estimate(clients.throughput.as_ref(), Unit::Plain)
        }),
    ]);
    let cells = model.cells.iter();
    let rows = cells.filter_map(|cell| Some((cell, cell.clients.as_ref()?)));
    let caption = "Clients, and their requests with a complete answer and with the expected one, summed over trials. A client that ended early has \
                   no rate; requests/s is the median over the others";
    Table::new("clients", caption, columns, rows).unless_empty()
}

/// `timed out 3, reset 1`.
fn reasons(clients: &ClientsModel) -> Field {
    let failed = clients.failed.iter();
    let mut words: Vec<String> = failed
        .map(|(kind, count)| format!("{} {}", kind.in_words(), format::count(*count)))
        .collect();
    if clients.stopped > 0 {
        words.push(format!(
            "not done in the longest time {}",
            format::count(clients.stopped)
        ));
    }
    match words.is_empty() {
        true => Field::empty(),
        false => Field::plain(words.join(", ")),
    }
}
