//! What the cells of a study are.

use crate::words::derived;
use waggle_analysis::Model;

/// The design, if it is no complete grid, and derived levels; empty if there is nothing to say.
pub(crate) fn cells(model: &Model) -> String {
    let varying = model
        .factors
        .iter()
        .filter(|candidate| candidate.levels.len() > 1);
    let combinations = varying.clone().fold(1_usize, |all, factor| {
        all.saturating_mul(factor.levels.len())
    });
    let mut all = Vec::new();
    if varying.count() > 1 && model.cells.len() < combinations {
        all.push(format!(
            "{} of the {combinations} combinations of levels, so there are no main effects; only cells that differ in one factor are \
             compared",
            model.cells.len()
        ));
    }
    let formulas = derived::formulas(&model.info);
    if !formulas.is_empty() {
        all.push(format!("derived levels: {formulas}"));
    }
    all.join("; ")
}
