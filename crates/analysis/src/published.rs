//! Figures that somebody published, row by row beside the study's own.

use waggle_metrics::Unit;
use waggle_results::{PublishedInfo, PublishedRowInfo, RunInfo};
use waggle_stats::Estimate;

use crate::{
    CellModel,
    metric::{Number, unit},
};

/// A table of published figures beside the study's own.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedModel {
    /// What it says of itself.
    pub info: PublishedInfo,
    /// For each column what its numbers are counted in.
    pub units: Vec<Unit>,
    /// In the order of the study's cells.
    pub rows: Vec<PublishedRow>,
}

/// A cell beside a published row.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Number of the cell.
    pub cell: u32,
    /// One for each column.
    pub values: Vec<PublishedValue>,
}

/// A published figure beside the study's own, in the unit thresholds are written in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedValue {
    pub published: Option<f64>,
    pub point: Option<f64>,
    /// The own number, where it is one over trials.
    pub estimate: Option<Estimate>,
}

/// The cell's level of a factor.
pub fn level<'a>(cell: &'a CellModel, factor: &str) -> Option<&'a String> {
    let (_, level) = cell.levels.iter().find(|(name, _)| name == factor)?;
    Some(level)
}

pub(crate) fn reference_model(info: &RunInfo, cells: &[CellModel]) -> Option<PublishedModel> {
    let published = info.published.as_ref()?;
    let row_of = |cell: &CellModel| -> Option<&PublishedRowInfo> {
        let levels: Vec<&String> = published
            .by
            .iter()
            .map(|by| level(cell, by))
            .collect::<Option<_>>()?;
        let mut rows = published.rows.iter();
        rows.find(|row| row.levels.iter().eq(levels.iter().copied()))
    };
    let rows = cells.iter().filter_map(|cell| {
        let values = published.columns.iter().zip(&row_of(cell)?.values);
        let values = values.map(|(column, value)| {
            let own = cell.number(&column.number);
            PublishedValue {
                published: *value,
                point: own.map(Number::point),
                estimate: match own {
                    Some(Number::Estimate(estimate)) => Some(estimate),
                    _ => None,
                },
            }
        });
        Some(PublishedRow {
            cell: cell.cell,
            values: values.collect(),
        })
    });
    Some(PublishedModel {
        units: published
            .columns
            .iter()
            .map(|column| unit(&column.number))
            .collect(),
        rows: rows.collect(),
        info: published.clone(),
    })
}
