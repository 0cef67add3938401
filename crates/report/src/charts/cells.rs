//! The numbers of each cell, over the factors and as a spectrum.

use serde::Serialize;

use super::numbers::{estimate, significant};
use crate::{
    text,
    wording::{self, findings},
    words,
};
use waggle_analysis::{CellModel, Model, Percentile, SpectrumPoint};

/// Digits of a quantile.
const QUANTILE_DIGITS: i32 = 8;

#[derive(Serialize)]
pub(super) struct Cell<'a> {
    cell: u32,
    label: String,
    /// Places of its levels in their factors.
    levels: Vec<Option<usize>>,
    verdict: &'static str,
    believed: bool,
    /// The verdict, with how many trials there are where they are not all there.
    shown: String,
    goodput: Option<Vec<f64>>,
    p50: Option<Vec<f64>>,
    p99: Option<Vec<f64>>,
    errors: Option<[f64; 1]>,
    delay: Option<Vec<f64>>,
    thin: Thin,
    spectrum: Vec<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Step<'a>>,
}

/// Why a percentile should not be relied on.
#[derive(Serialize)]
struct Thin {
    p99: Option<String>,
    delay: Option<String>,
}

#[derive(Serialize)]
struct Step<'a> {
    name: &'a str,
    spectrum: Vec<[f64; 2]>,
}

impl<'a> Cell<'a> {
    pub(super) fn new(model: &Model, cell: &'a CellModel) -> Self {
        let level = |factor: &waggle_analysis::Factor| {
            let (_, level) = cell.levels.iter().find(|(name, _)| *name == factor.name)?;
            factor.levels.iter().position(|one| one == level)
        };
        let steps = cell.steps.iter().map(|step| Step {
            name: &step.name,
            spectrum: spectrum(&step.spectrum),
        });
        Self {
            cell: cell.cell,
            label: text::levels(&cell.levels),
            levels: model.factors.iter().map(level).collect(),
            verdict: cell.verdict.map_or("not run", words::verdict),
            believed: cell.is_believed(),
            shown: wording::cell::verdict(cell),
            goodput: cell.goodput.as_ref().map(estimate),
            p50: percentile(&cell.response.p50),
            p99: percentile(&cell.response.p99),
            errors: cell.error_share.map(|share| [share]),
            delay: percentile(&cell.delay.p99),
            thin: Thin {
                p99: cell.response.p99.thin.as_ref().map(findings::thin),
                delay: cell.delay.p99.thin.as_ref().map(findings::thin),
            },
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
