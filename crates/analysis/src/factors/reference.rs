//! Reference results, row by row next to the study's own.

use waggle_metrics::Unit;
use waggle_results::RunInfo;
use waggle_spec::Reference;
use waggle_stats::Estimate;

use crate::{cell::cell_model::CellModel, info::metric_path::unit, metric::number::Number};

/// A table of reference results next to the study's own.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceModel {
    /// What it says of itself.
    pub info: Reference,
    /// For each column what its numbers are counted in.
    pub units: Vec<Unit>,
    /// In the order of the study's cells.
    pub rows: Vec<ReferenceRow>,
}

/// A cell next to a row of reference results.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceRow {
    /// Number of the cell.
    pub cell: u32,
    /// One for each column.
    pub values: Vec<ReferenceValue>,
}

/// A reference result next to the study's own, in the unit thresholds are written in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReferenceValue {
    pub reference: Option<f64>,
    pub point: Option<f64>,
    /// The own number, where it is one over trials.
    pub estimate: Option<Estimate>,
}

/// The cell's level of a factor, or its derived level of this name.
pub fn level<'a>(cell: &'a CellModel, factor: &str) -> Option<&'a String> {
    let mut levels = cell.levels.iter().chain(&cell.derived);
    let (_, level) = levels.find(|(name, _)| name == factor)?;
    Some(level)
}

pub(crate) fn reference_model(info: &RunInfo, cells: &[CellModel]) -> Option<ReferenceModel> {
    let reference = info.reference.as_ref()?;
    let rows = cells.iter();
    let rows = rows.filter_map(|cell| reference_row(reference, cell));
    Some(ReferenceModel {
        units: reference
            .columns
            .iter()
            .map(|column| unit(&column.metric, &info.metrics))
            .collect(),
        rows: rows.collect(),
        info: reference.clone(),
    })
}

fn reference_row(reference: &Reference, cell: &CellModel) -> Option<ReferenceRow> {
    let row = matching_row(reference, cell)?;
    let values = reference.columns.iter().zip(&row.values);
    Some(ReferenceRow {
        cell: cell.cell,
        values: values
            .map(|(column, value)| reference_value(*value, cell.number(&column.metric)))
            .collect(),
    })
}

fn matching_row<'a>(
    reference: &'a Reference,
    cell: &CellModel,
) -> Option<&'a waggle_spec::ReferenceRow> {
    let levels = reference.match_on.iter().map(|by| level(cell, by));
    let levels: Vec<&String> = levels.collect::<Option<_>>()?;
    let mut rows = reference.rows.iter();
    rows.find(|row| row.levels.iter().eq(levels.iter().copied()))
}

fn reference_value(reference: Option<f64>, number: Option<Number>) -> ReferenceValue {
    ReferenceValue {
        reference,
        point: number.map(Number::point),
        estimate: match number {
            Some(Number::Estimate(estimate)) => Some(estimate),
            _ => None,
        },
    }
}
