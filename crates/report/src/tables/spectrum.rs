//! Percentiles of all trials of a cell together, at the chart's ticks.

use super::columns::place_of_cell;
use crate::{
    table::{Column, Field, Table},
    text::Unit,
};
use waggle_analysis::{CellModel, Model, SPECTRUM_TICKS, SpectrumPoint};

pub(crate) fn spectrum(model: &Model) -> Table {
    let mut columns = place_of_cell(model);
    columns.extend(SPECTRUM_TICKS.iter().map(|&(head, quantile)| {
        Column::numbers(head, move |cell: &&CellModel| {
            // The line ends at the slowest sample; beyond it there is nothing to say.
            let mut points = cell.spectrum.iter().rev().skip(1);
            time(points.find(|point| (point.quantile - quantile).abs() < 1e-9))
        })
    }));
    columns.push(Column::numbers("slowest", |cell: &&CellModel| {
        time(cell.spectrum.last())
    }));
    let caption =
        "Response time within which this share of a cell's answers came, all trials together";
    Table::new("spectrum", caption, columns, &model.cells)
}

fn time(point: Option<&SpectrumPoint>) -> Field {
    Field::optional(point.map(|point| Unit::Time.show(point.us)))
}
