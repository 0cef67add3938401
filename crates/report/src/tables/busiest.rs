//! Which component used most CPU in each cell: where to look for a reason.

use super::{Field, Table, by_cell, heads};
use crate::text::{self, NONE, Unit};
use waggle_analysis::{Busiest, Model, cpus_of_system};

/// A row for each cell; `None` where no component's CPU is known.
pub(crate) fn busiest(model: &Model) -> Option<Table> {
    let cpus = cpus_of_system(&model.info);
    let of_cpus = match cpus {
        1 => "of the 1 CPU it could use".to_owned(),
        more => format!("of the {more} CPUs it could use"),
    };
    let columns = [
        "used most CPU",
        "cores",
        &of_cpus,
        "of the CPU of all components",
        "in trials",
        "next",
        "cores of that",
    ];
    let mut cells = model.cells.iter();
    cells.any(|cell| cell.busiest.is_some()).then(|| Table {
        id: Some("busiest"),
        title: Some("Busiest component"),
        caption: "The component that used most CPU while measured, all its replicas together, and the one that used most of the others; \
                  that it used most does not make it what limits"
            .to_owned(),
        heads: heads(model, &columns),
        rows: by_cell(model, |cell| match &cell.busiest {
            Some(busiest) => fields(busiest, cell.counted),
            None => vec![Field::plain(NONE); columns.len()],
        }),
    })
}

fn fields(busiest: &Busiest, counted: usize) -> Vec<Field> {
    let (next, cores) = busiest.next.as_ref().map_or_else(
        || (Field::plain(NONE), Field::plain(NONE)),
        |(name, cores)| {
            (
                Field::plain(name),
                Field::estimate(Some(cores), Unit::Plain),
            )
        },
    );
    vec![
        Field::plain(&busiest.component),
        Field::estimate(Some(&busiest.cores), Unit::Plain),
        Field::plain(text::share(busiest.share)),
        Field::plain(text::share(busiest.of_all)),
        Field::plain(format!("{} of {counted}", busiest.trials)),
        next,
        cores,
    ]
}
