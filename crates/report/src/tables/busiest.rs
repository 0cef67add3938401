//! Which component used most CPU in each cell: where to look for a reason.

use super::columns::place_of_cell;
use crate::{
    table::{Column, Field, Table},
    text::{self, Unit},
};
use waggle_analysis::{Busiest, CellModel, Model, cpus_of_system};

/// A row for each cell; `None` where no component's CPU is known.
pub(crate) fn busiest(model: &Model) -> Option<Table> {
    let mut cells = model.cells.iter();
    cells.find(|cell| cell.busiest.is_some())?;
    let of_cpus = match cpus_of_system(&model.info) {
        1 => "of the 1 CPU it could use".to_owned(),
        more => format!("of the {more} CPUs it could use"),
    };
    let next = |of: &Busiest| Field::optional(of.next.as_ref().map(|(name, _)| name.clone()));
    let its_cores = |of: &Busiest| {
        let cores = of.next.as_ref().map(|(_, cores)| cores);
        Field::estimate(cores, Unit::Plain)
    };
    let mut columns = place_of_cell(model);
    columns.extend([
        Column::words(
            "used most CPU",
            busiest_field(|of| Field::plain(&of.component)),
        ),
        Column::numbers(
            "cores",
            busiest_field(|of| Field::estimate(Some(&of.cores), Unit::Plain)),
        ),
        Column::numbers(
            of_cpus,
            busiest_field(|of| Field::plain(text::share(of.share))),
        ),
        Column::numbers(
            "of the CPU of all components",
            busiest_field(|of| Field::plain(text::share(of.of_all))),
        ),
        Column::numbers("in trials", |cell: &&CellModel| {
            let trials = |of: &Busiest| format!("{} of {}", of.trials, cell.counted);
            Field::optional(cell.busiest.as_ref().map(trials))
        }),
        Column::words("next", busiest_field(next)),
        Column::numbers("cores of that", busiest_field(its_cores)),
    ]);
    let caption = "The component that used most CPU while measured, all its replicas together, and the one that used most of the \
                   others; that it used most does not make it what limits";
    let table = Table::new("busiest", caption, columns, &model.cells);
    Some(table.with_title("Busiest component"))
}

/// A field of a cell whose busiest component is known.
fn busiest_field(field: impl Fn(&Busiest) -> Field) -> impl Fn(&&CellModel) -> Field {
    move |cell| cell.busiest.as_ref().map_or_else(Field::empty, &field)
}
