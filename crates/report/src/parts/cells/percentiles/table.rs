//! Percentiles of all trials of a cell merged, at the chart's ticks.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place_of_cell,
    words::format::Unit,
};

use waggle_analysis::{CellModel, Model, SPECTRUM_TICKS, SpectrumPoint};

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
