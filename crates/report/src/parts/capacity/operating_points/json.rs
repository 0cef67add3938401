//! The cells at shares of the capacity that their searches found.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{Model, OperatingCell, OperatingPointModel};
use waggle_metrics::NamedMetric;

use crate::{
    metric_columns::numbers,
    parts::cells::overview::json::{Cell, cell},
};

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OperatingPoint<'a> {
    /// Of the capacity: above 0, at most 1.
    share: f64,
    /// All cells.
    cells: Vec<CellAtPoint<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CellAtPoint<'a> {
    cell: u32,
    /// The highest level that held; `null`: none did, or the search has not ended.
    capacity: Option<f64>,
    /// Whether the system may hold more.
    is_lower_bound: bool,
    /// The lowest level above it that failed; `null`: none did, so the capacity may be higher.
    fails: Option<f64>,
    /// `found`, or why the search ended otherwise.
    search_ended: &'static str,
    /// Of the load at the operating point: requests per second, or users; `null`: there is none.
    level: Option<f64>,
    /// `null`: there is no operating point.
    result: Option<Cell<'a>>,
}

pub(crate) fn operating_points(model: &Model) -> Vec<OperatingPoint<'_>> {
    let points = model.operating_points.iter();
    points.map(|point| operating_point(model, point)).collect()
}

fn operating_point<'a>(model: &'a Model, point: &'a OperatingPointModel) -> OperatingPoint<'a> {
    let all = numbers(&point.model);
    let cells = point.cells.iter();
    let cells = cells.filter_map(|cell| cell_at_point(model, &point.model, cell, &all));
    OperatingPoint {
        share: point.share,
        cells: cells.collect(),
    }
}

/// `at_point`: the trials there; `all`: their metrics. `None` if nothing was searched for in the cell.
fn cell_at_point<'a>(
    model: &Model,
    at_point: &'a Model,
    operating_cell: &OperatingCell,
    all: &[NamedMetric<'_>],
) -> Option<CellAtPoint<'a>> {
    let answer = &model.search.as_ref()?.of_cell(operating_cell.cell)?.answer;
    let result = at_point.cell(operating_cell.cell);
    Some(CellAtPoint {
        cell: operating_cell.cell,
        capacity: answer.capacity(),
        is_lower_bound: answer.is_lower_bound(),
        fails: answer.fails,
        search_ended: answer.end.name(),
        level: operating_cell.level,
        result: result.map(|result| cell(at_point, result, all)),
    })
}
