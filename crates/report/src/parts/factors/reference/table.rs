//! Reference results and the study's own.

use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::are_numbers,
    words::{cell, format},
};
use waggle_analysis::{CellModel, Model, ReferenceValue, reference_level};
use waggle_metrics::Unit;

/// Reference results, one for each column of the study, and their cell.
type Row<'a> = (&'a [ReferenceValue], &'a CellModel);

/// `None` if the study names none.
pub(crate) fn reference(model: &Model) -> Option<Table> {
    let reference = model.reference.as_ref()?;
    let info = &reference.info;
    let mut columns: Vec<Column<'_, Row<'_>>> = Vec::new();
    for by in &info.match_on {
        let field = move |(_, cell): &Row<'_>| Field::optional(reference_level(cell, by).cloned());
        let cells = model.cells.iter();
        let levels = cells.filter_map(|cell| reference_level(cell, by));
        columns.push(match are_numbers(levels) {
            true => Column::numbers(by, field),
            false => Column::words(by, field),
        });
    }
    for (place, (column, &unit)) in info.columns.iter().zip(&reference.units).enumerate() {
        columns.extend([
            Column::numbers(
                format!("{}, reference", column.name),
                move |(values, _): &Row<'_>| value_field(values[place].reference, unit),
            ),
            Column::numbers(
                format!("{}, this study", column.name),
                move |(values, _): &Row<'_>| own_value_field(&values[place], unit),
            ),
        ]);
    }
    columns.push(Column::words("verdict", |(_, cell): &Row<'_>| {
        Field::verdict(cell::verdict(cell))
    }));
    let rows = reference.rows.iter();
    let rows = rows.filter_map(|row| Some((row.values.as_slice(), model.cell(row.cell)?)));
    // Each writer adds the full stop of captions.
    let source = info.source.trim_end().trim_end_matches('.');
    let caption = format!("{}, and this study. {source}", info.title);
    Some(Table::new("reference", caption, columns, rows))
}

fn value_field(value: Option<f64>, unit: Unit) -> Field {
    Field::optional(value.map(|value| format::in_unit(value, unit)))
}

/// The study's own value, with its interval if it has one.
fn own_value_field(value: &ReferenceValue, unit: Unit) -> Field {
    let ends = |ends: (f64, f64)| format::ends_in_unit(ends, unit);
    let interval = value.estimate.and_then(|estimate| estimate.interval);
    let least = value.estimate.and_then(|estimate| estimate.shown_least());
    let shown = |point| format::value_with_bound(format::in_unit(point, unit), least);
    Field::optional(value.point.map(shown)).with_aside(interval.map(ends))
}
