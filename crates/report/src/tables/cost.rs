//! What a request cost, how busy everything was, and what was watched.

use super::columns::place_of_cell;
use crate::{
    table::{Column, Field, Table},
    text::{self, NONE, Unit},
};
use waggle_analysis::{CellModel, Model, WatchModel};

/// A row for each cell.
pub(crate) fn cost(model: &Model) -> Table {
    let mut columns = place_of_cell(model);
    columns.extend([
        Column::numbers("system CPU per request", |cell: &&CellModel| {
            Field::estimate(cell.system_cpu_us_per_request.as_ref(), Unit::Time)
        }),
        Column::numbers("load CPU per request", |cell: &&CellModel| {
            Field::estimate(cell.engine_cpu_us_per_request.as_ref(), Unit::Time)
        }),
        Column::numbers("system memory, highest", |cell: &&CellModel| {
            Field::estimate(cell.system_rss_max_bytes.as_ref(), Unit::Bytes)
        }),
        Column::numbers("busiest load worker", |cell: &&CellModel| {
            Field::share(cell.engine_busy_share)
        }),
        Column::numbers("sent, of what the load could send", |cell: &&CellModel| {
            Field::share(cell.engine_possible_share)
        }),
    ]);
    // Runs of older versions did not note it.
    if model.cells.iter().any(|cell| cell.stolen_share.is_some()) {
        columns.extend([
            Column::numbers("lag of the load, p99", |cell: &&CellModel| {
                Field::optional(cell.engine_lag_p99_us.map(|lag| Unit::Time.show(lag)))
            }),
            Column::numbers("CPU time taken by the host", |cell: &&CellModel| {
                Field::share(cell.stolen_share)
            }),
        ]);
    }
    let components = names(model, |cell| {
        cell.component_cores.iter().map(|(name, _)| name.as_str())
    });
    columns.extend(components.into_iter().map(|name| {
        Column::numbers(format!("{name}, cores"), move |cell: &&CellModel| {
            let mut used = cell.component_cores.iter();
            let used = used.find(|(component, _)| component == name);
            Field::estimate(used.map(|(_, cores)| cores), Unit::Plain)
        })
    }));
    let caption =
        "Cost: CPU time per request, memory, and CPU used by each component while measured";
    Table::new("cost", caption, columns, &model.cells).with_title("Cost")
}

/// What was watched, a column for each; `None` where nothing was.
pub(crate) fn watches(model: &Model) -> Option<Table> {
    let names = names(model, |cell| {
        cell.watches.iter().map(|watch| watch.name.as_str())
    });
    if names.is_empty() {
        return None;
    }
    let meanings: Vec<String> = model
        .info
        .watches
        .iter()
        .map(|watch| format!("{}: {}", watch.name, watch.summary))
        .collect();
    let caption = format!(
        "What was watched: mean over the measured phases, the most at one look of them, and what was read last, when \
         load and drain were over (the largest of the trials'). {}",
        meanings.join("; ")
    );
    let mut columns = place_of_cell(model);
    columns.extend(names.into_iter().map(|name| {
        Column::numbers(name, move |cell: &&CellModel| {
            let mut watches = cell.watches.iter();
            watches
                .find(|watch| watch.name == name)
                .map_or_else(Field::empty, metric_field)
        })
    }));
    let table = Table::new("watches", caption, columns, &model.cells);
    Some(table.with_title("Watches"))
}

fn metric_field(watch: &WatchModel) -> Field {
    let shown = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), text::amount);
    Field::plain(shown(watch.mean.map(|mean| mean.point))).with_aside(format!(
        "most {}, at the end {}",
        shown(watch.max),
        text::amount(watch.end)
    ))
}

/// Every name of any cell, as they first come.
fn names<'a, I: Iterator<Item = &'a str>>(
    model: &'a Model,
    of_cell: impl Fn(&'a CellModel) -> I,
) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in model.cells.iter().flat_map(of_cell) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
