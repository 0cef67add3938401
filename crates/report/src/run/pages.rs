//! The report of a run as a page, as Markdown, and as tables for the terminal.

use waggle_analysis::Model;

use super::{charts::Charts, document::document};
use crate::{
    layout::{document::Document, html, markdown, site::Site, table::Table, terminal},
    parts::{
        capacity::{operating_points, search},
        cells::{best_and_worst, left_out, overview},
        load::{clients, steps},
        over_time::stalls,
    },
};

/// The report as one HTML file.
#[must_use]
pub fn html(model: &Model) -> String {
    page(&document(model), model)
}

/// The same page, served beside others.
#[must_use]
pub fn html_beside(model: &Model, site: Site) -> String {
    let document = Document {
        site,
        ..document(model)
    };
    page(&document, model)
}

/// The same from an existing document.
pub(crate) fn page(document: &Document, model: &Model) -> String {
    html::page(document, &Charts::new(model))
}

/// The report as Markdown.
#[must_use]
pub fn markdown(model: &Model) -> String {
    markdown::text(&document(model))
}

/// The answers of a search, every cell, the cells at operating points, every step of a scenario, the best and the worst trials,
/// and the cells that were left out. Tables are at most `width` characters wide; `None`: as wide as they are.
#[must_use]
pub fn terminal(model: &Model, width: Option<usize>) -> String {
    let laid_out = |table: &Table| terminal::laid_out(table, width);
    let answers = search::table::answers_in_short(model)
        .map(|table| format!("{}\n\nat the highest holding level:", laid_out(&table)));
    let cells = laid_out(&overview::table::cells_in_short(model));
    let steps = steps::table::steps_in_short(model).map(|table| laid_out(&table));
    let clients = clients::table::clients(model).map(|table| laid_out(&table));
    let points = model.operating_points.iter().filter_map(|point| {
        let table = operating_points::table::operating_point_in_short(model, point)?;
        let place = operating_points::words::place(point.share);
        Some(format!("\nat {place}:\n\n{}", laid_out(&table)))
    });
    let ends = [
        stalls::table::stalls(model),
        left_out::table::left_out(model),
        best_and_worst::table::least_and_most_failures(model),
        best_and_worst::table::best_and_worst_successes(model),
    ];
    let ends = ends.into_iter().flatten();
    let ends = ends.map(|table| format!("\n{}:\n\n{}", table.caption, laid_out(&table)));
    let tables = answers.into_iter().chain([cells]).chain(points);
    let tables = tables.chain(clients);
    let all: Vec<String> = tables.chain(steps).chain(ends).collect();
    all.join("\n")
}
