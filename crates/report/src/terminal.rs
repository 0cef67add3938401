//! The tables for a terminal, at the end of a run.

use comfy_table::{CellAlignment, ContentArrangement, TableComponent, presets};

use crate::{
    table::{Align, Field, Mark, Table},
    tables,
    wording::operating_points,
};
use waggle_analysis::Model;

/// The answers of a search, every cell, the cells at operating points, every step of a scenario, the best and the worst trials, and the
/// cells that were left out.
#[must_use]
pub fn terminal(model: &Model) -> String {
    let answers = tables::answers_in_short(model)
        .map(|table| format!("{}\n\nat the highest holding level:", laid_out(&table)));
    let cells = laid_out(&tables::cells_in_short(model));
    let steps = tables::steps_in_short(model).map(|table| laid_out(&table));
    let clients = tables::clients(model).map(|table| laid_out(&table));
    let points = model.operating_points.iter().filter_map(|point| {
        let table = tables::operating_point_in_short(model, point)?;
        let place = operating_points::place(point.share);
        Some(format!("\nat {place}:\n\n{}", laid_out(&table)))
    });
    let ends = [
        tables::left_out(model),
        tables::least_and_most_failures(model),
        tables::best_and_worst_successes(model),
    ];
    let ends = ends.into_iter().flatten();
    let ends = ends.map(|table| format!("\n{}:\n\n{}", table.caption, laid_out(&table)));
    let tables = answers.into_iter().chain([cells]).chain(points);
    let tables = tables.chain(clients);
    let all: Vec<String> = tables.chain(steps).chain(ends).collect();
    all.join("\n")
}

pub(crate) fn laid_out(table: &Table) -> String {
    let mut out = comfy_table::Table::new();
    out.load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(table.heads.iter().map(|head| &head.text));
    for row in &table.rows {
        out.add_row(row.iter().map(field_text));
    }
    for (column, head) in out.column_iter_mut().zip(&table.heads) {
        column.set_cell_alignment(match head.align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    out.to_string()
}

/// A percentile from too few samples carries a mark.
fn field_text(field: &Field) -> String {
    match field.mark {
        Mark::Thin(_) => format!("{} (few)", field.short()),
        _ => field.short(),
    }
}
