//! The metrics of each cell, and its response time distribution.

use std::collections::BTreeMap;

use serde::Serialize;

use super::map::{self, Mapped};
use crate::{
    layout::chart_numbers::{estimate, significant},
    words::{cell, labels, names},
};

use waggle_analysis::{CellModel, Factor, Model, Percentile, SpectrumPoint};

/// Digits of a quantile.
const QUANTILE_DIGITS: i32 = 8;

#[derive(Serialize)]
pub(crate) struct Cell<'a> {
    cell: u32,
    label: String,
    /// Places of its levels in their factors.
    levels: Vec<Option<usize>>,
    verdict: &'static str,
    believed: bool,
    /// The verdict, with the number of trials if some are missing.
    shown: String,
    goodput: Option<Vec<f64>>,
    p99: Option<Vec<f64>>,
    /// Of each metric.
    numbers: Vec<Option<Vec<f64>>>,
    /// Why a percentile is not reliable, by its metric's place.
    thin: BTreeMap<usize, String>,
    spectrum: Vec<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Step<'a> {
    name: &'a str,
    spectrum: Vec<[f64; 2]>,
}

impl<'a> Cell<'a> {
    pub(crate) fn new(model: &Model, cell: &'a CellModel, mapped: &[Mapped<'_>]) -> Self {
        let (numbers, thin) = map::numbers(mapped, cell);
        let level = |factor: &Factor| {
            let (_, level) = cell.levels.iter().find(|(name, _)| *name == factor.name)?;
            let mut levels = factor.levels.iter();
            levels.position(|candidate| candidate == level)
        };
        let steps = cell.steps.iter().map(|step| Step {
            name: &step.name,
            spectrum: spectrum(&step.spectrum),
        });
        Self {
            cell: cell.cell,
            label: names::cell_name(model, cell),
            levels: model.factors.iter().map(level).collect(),
            verdict: cell.verdict.map_or("not run", labels::verdict),
            believed: cell.is_free_of_doubt(),
            shown: cell::verdict(cell),
            goodput: cell.goodput.as_ref().map(estimate),
            p99: percentile(&cell.response.p99),
            numbers,
            thin,
            spectrum: spectrum(&cell.spectrum),
            steps: steps.collect(),
        }
    }
}

fn percentile(percentile: &Percentile) -> Option<Vec<f64>> {
    percentile.estimate.as_ref().map(estimate)
}

/// Points of (quantile, µs).
fn spectrum(points: &[SpectrumPoint]) -> Vec<[f64; 2]> {
    let point = |point: &SpectrumPoint| [significant(point.quantile, QUANTILE_DIGITS), point.us];
    points.iter().map(point).collect()
}
