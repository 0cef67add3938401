//! The cells at a share of their capacities.

use waggle_analysis::{CellModel, CellSearch, Model, OperatingCell, OperatingPointModel, headline};
use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_spec::{LevelKind, TimeKind};

use super::words::{self, capacity};
use crate::{
    layout::table::{Column, Field, Table},
    parts::{
        capacity::search::words::level,
        cells::overview::asked,
        columns::{P50, P99, levels, percentiles, place},
    },
    words::{cell, format::Unit, sentence::uncapitalise},
};

/// A cell, its search, its operating point, and what its trials there show.
struct Row<'a> {
    cell: &'a CellModel,
    found: &'a CellSearch,
    point: &'a OperatingCell,
    /// `None`: the cell has no operating point.
    at_point: Option<&'a CellModel>,
}

/// A row for each cell; `None` if nothing was searched for.
pub(crate) fn operating_point<'a>(
    model: &'a Model,
    point: &'a OperatingPointModel,
) -> Option<Table> {
    table(model, point, place(model, |row: &Row<'_>| row.cell))
}

/// The same for a terminal.
pub(crate) fn operating_point_in_short<'a>(
    model: &'a Model,
    point: &'a OperatingPointModel,
) -> Option<Table> {
    table(model, point, levels(model, |row: &Row<'_>| row.cell))
}

fn table<'a>(
    model: &'a Model,
    point: &'a OperatingPointModel,
    mut columns: Vec<Column<'a, Row<'a>>>,
) -> Option<Table> {
    let search = model.search.as_ref()?;
    let what = search.info.maximize;
    columns.extend([
        Column::numbers("capacity", move |row: &Row<'_>| {
            match capacity(search, row.found) {
                Some((capacity, aside)) => Field::plain(capacity).with_aside(aside),
                None => Field::empty(),
            }
        }),
        Column::numbers(
            match what {
                LevelKind::Rate => "rate",
                LevelKind::Users => "users",
                LevelKind::Connections => "connections",
            },
            move |row: &Row<'_>| Field::optional(row.point.level.map(|value| level(what, value))),
        ),
    ]);
    columns.extend(outcomes(point));
    columns.push(Column::words("verdict", |row: &Row<'_>| {
        Field::verdict(match row.at_point {
            Some(cell) => cell::verdict(cell),
            None => words::missing_reason(row.found),
        })
    }));
    let rows = point.cells.iter().filter_map(|operating_cell| {
        Some(Row {
            cell: model.cell(operating_cell.cell)?,
            found: search.of_cell(operating_cell.cell)?,
            point: operating_cell,
            at_point: point.model.cell(operating_cell.cell),
        })
    });
    let caption = format!(
        "Each cell at {}, with 95 % intervals over trials",
        words::place(point.share)
    );
    Some(Table::new("operating-point", caption, columns, rows).without_heading())
}

/// Response time, cost and memory, what else the study asks about, and failures.
fn outcomes<'a>(point: &'a OperatingPointModel) -> Vec<Column<'a, Row<'a>>> {
    let mut columns = at_point(percentiles(&[P50, P99], |cell: &&CellModel| &cell.response));
    columns.extend(at_point(vec![
        Column::numbers("system CPU per request", |cell: &&CellModel| {
            Field::estimate(cell.system_cpu_us_per_request.as_ref(), Unit::Time)
        }),
        Column::numbers("system memory, peak", |cell: &&CellModel| {
            Field::estimate(cell.system_rss_max_bytes.as_ref(), Unit::Bytes)
        }),
    ]));
    let further = further_asked(point).into_iter();
    columns.extend(at_point(
        further
            .map(|(place, name)| {
                Column::numbers(uncapitalise(&name), move |cell: &&CellModel| {
                    let asked = cell.asked.get(place);
                    asked.map_or_else(Field::empty, |asked| asked::number(asked, asked.number))
                })
            })
            .collect(),
    ));
    columns.extend(at_point(vec![Column::numbers(
        "errors",
        |cell: &&CellModel| Field::errors(cell.failed, cell.error_rate),
    )]));
    columns
}

/// Columns of a cell as columns of its operating point; empty where there is none.
fn at_point<'a>(columns: Vec<Column<'a, &'a CellModel>>) -> Vec<Column<'a, Row<'a>>> {
    let columns = columns.into_iter();
    columns
        .map(|column| column.map_row(|row: &Row<'a>| row.at_point))
        .collect()
}

/// Whether the table has a column for it in any case.
fn has_column(named: &NamedMetric<'_>) -> bool {
    let shown = match named.row.metric {
        Metric::Time(TimeKind::Response) => {
            matches!(named.statistic, Some(Statistic::P50 | Statistic::P99))
        }
        Metric::SystemCpuPerRequest => true,
        Metric::SystemRss => named.statistic == Some(Statistic::Max),
        _ => false,
    };
    shown && named.of.is_none()
}

/// What the study asks about and has no column of its own: its place among the metrics asked about, and its name.
pub(crate) fn further_asked(point: &OperatingPointModel) -> Vec<(usize, String)> {
    let asked = headline(&point.model.info).into_iter().enumerate();
    let further = asked.filter(|(_, named)| !has_column(named));
    further
        .map(|(place, named)| (place, named.heading()))
        .collect()
}
