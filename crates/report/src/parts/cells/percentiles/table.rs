//! Percentiles of all trials of a cell merged, at the chart's ticks.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place_of_cell,
    words::format::Unit,
};

use waggle_analysis::{
    CellModel, Distribution, Model, Pooled, SPECTRUM_TICKS, SpectrumPoint, TrialPercentiles,
};
use waggle_metrics::Statistic;

/// What stands side by side.
const BOTH: [(&str, Statistic); 3] = [
    ("p50", Statistic::P50),
    ("p99", Statistic::P99),
    ("p99.9", Statistic::P999),
];

/// A distribution of a cell: over its trials, and of all of them together.
#[derive(Clone, Copy)]
struct Side {
    before: &'static str,
    typical: fn(&CellModel) -> &Distribution,
    together: fn(&Pooled) -> Option<&TrialPercentiles>,
}

const RESPONSE: Side = Side {
    before: "",
    typical: |cell| &cell.response,
    together: |pooled| pooled.response.as_ref(),
};

const DELAY: Side = Side {
    before: "delay ",
    typical: |cell| &cell.delay,
    together: |pooled| pooled.delay.as_ref(),
};

/// Percentiles of a typical trial beside those of all requests together; `None` if no cell has two trials with both.
pub(crate) fn typical_and_together(model: &Model) -> Option<Table> {
    let sides = [RESPONSE, DELAY].into_iter().filter(|side| {
        let mut cells = model.cells.iter();
        cells.any(|cell| cell.counted > 1 && (side.together)(&cell.pooled).is_some())
    });
    let sides: Vec<Side> = sides.collect();
    if sides.is_empty() {
        return None;
    }
    let mut columns = place_of_cell(model);
    for side in &sides {
        columns.extend(
            BOTH.iter()
                .flat_map(|(name, statistic)| two_columns(*side, name, *statistic)),
        );
    }
    let delay = match sides.len() {
        1 => "",
        _ => "; delay is from sent until visible at the last probe",
    };
    let caption = format!(
        "Response time percentiles of a typical trial (the geometric mean over trials, with its 95 % interval), each beside that of all \
         requests of the cell together (all): the second is higher where some trials are slower than the others{delay}"
    );
    let cells = model.cells.iter().filter(|cell| cell.counted > 1);
    let table = Table::new("typical-and-together", caption, columns, cells);
    Some(table.with_title("Percentiles: typical trial, and all together"))
}

fn two_columns<'a>(side: Side, name: &str, statistic: Statistic) -> [Column<'a, &'a CellModel>; 2] {
    [
        Column::numbers(
            format!("{}{name}", side.before),
            move |cell: &&CellModel| {
                let percentile = (side.typical)(cell).percentile(statistic);
                percentile.map_or_else(Field::empty, Field::percentile)
            },
        ),
        Column::numbers(
            format!("{}{name}, all", side.before),
            move |cell: &&CellModel| {
                let together = (side.together)(&cell.pooled);
                let us = together.and_then(|all| all.statistic(statistic));
                Field::optional(us.map(|us| Unit::Time.show(us)))
            },
        ),
    ]
}

pub(crate) fn spectrum(model: &Model) -> Table {
    let mut columns = place_of_cell(model);
    columns.extend(SPECTRUM_TICKS.iter().map(|&(head, quantile)| {
        Column::numbers(head, move |cell: &&CellModel| {
            // The line ends at the slowest sample.
            let mut points = cell.spectrum.iter().rev().skip(1);
            time(points.find(|point| (point.quantile - quantile).abs() < 1e-9))
        })
    }));
    columns.push(Column::numbers("max", |cell: &&CellModel| {
        time(cell.spectrum.last())
    }));
    let caption = "Response time at each percentile of all requests of a cell together, its trials merged (other tables: of a typical trial)";
    Table::new("spectrum", caption, columns, &model.cells)
}

fn time(point: Option<&SpectrumPoint>) -> Field {
    Field::optional(point.map(|point| Unit::Time.show(point.us)))
}
