//! The report of a run as a page, as Markdown, and as tables for the terminal.

use waggle_analysis::Model;

use crate::{
    charts::Charts, document::Document, html as layout, markdown as lines, sections::document,
    table::Table, tables, terminal as grid, wording::operating_points,
};

/// The report as one HTML file.
#[must_use]
pub fn html(model: &Model) -> String {
    page(&document(model), model)
}

/// The same from an existing document.
pub(crate) fn page(document: &Document, model: &Model) -> String {
    layout::page(document, &Charts::new(model))
}

/// The report as Markdown.
#[must_use]
pub fn markdown(model: &Model) -> String {
    lines::text(&document(model))
}

/// The answers of a search, every cell, the cells at operating points, every step of a scenario, the best and the worst trials,
/// and the cells that were left out. Tables are at most `width` characters wide; `None`: as wide as they are.
#[must_use]
pub fn terminal(model: &Model, width: Option<usize>) -> String {
    let laid_out = |table: &Table| grid::laid_out(table, width);
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
        tables::stalls(model),
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
