//! Bottlenecks: the component that used most CPU in each cell.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place_of_cell,
    words::format::{self, Unit},
};

use waggle_analysis::{Bottleneck, CellModel, Model, cpus_of_system};

/// A row for each cell; `None` if no component's CPU is known.
pub(crate) fn bottlenecks(model: &Model) -> Option<Table> {
    let mut cells = model.cells.iter();
    cells.find(|cell| cell.bottleneck.is_some())?;
    let of_cpus = match cpus_of_system(&model.info) {
        Some(1) => "utilization of 1 CPU".to_owned(),
        Some(more) => format!("utilization of {more} CPUs"),
        None => "utilization".to_owned(),
    };
    let next = |bottleneck: &Bottleneck| {
        Field::optional(bottleneck.next.as_ref().map(|(name, _)| name.clone()))
    };
    let its_cores = |bottleneck: &Bottleneck| {
        let cores = bottleneck.next.as_ref().map(|(_, cores)| cores);
        Field::estimate(cores, Unit::Plain)
    };
    let mut columns = place_of_cell(model);
    columns.extend([
        Column::words(
            "busiest component",
            busiest_field(|bottleneck| Field::plain(&bottleneck.component)),
        ),
        Column::numbers(
            "cores",
            busiest_field(|bottleneck| Field::estimate(Some(&bottleneck.cores), Unit::Plain)),
        ),
        Column::numbers(
            of_cpus,
            busiest_field(|bottleneck| Field::optional(bottleneck.share.map(format::share))),
        ),
        Column::numbers(
            "share of system CPU",
            busiest_field(|bottleneck| Field::plain(format::share(bottleneck.of_all))),
        ),
        Column::numbers("busiest in", |cell: &&CellModel| {
            let bottleneck = cell.bottleneck.as_ref();
            let trials = bottleneck.map(|bottleneck| bottleneck.trials);
            Field::optional(trials.map(|trials| format!("{trials} of {} trials", cell.counted)))
        }),
        Column::words("second", busiest_field(next)),
        Column::numbers("its cores", busiest_field(its_cores)),
    ]);
    let caption = "The component that used most CPU in the measured phase (all replicas together), and the second; the busiest component \
                   is not always the bottleneck";
    let table = Table::new("bottlenecks", caption, columns, &model.cells);
    Some(table.with_title("Bottlenecks"))
}

/// A field of a cell whose busiest component is known.
fn busiest_field(field: impl Fn(&Bottleneck) -> Field) -> impl Fn(&&CellModel) -> Field {
    move |cell| cell.bottleneck.as_ref().map_or_else(Field::empty, &field)
}
