//! Each level of a factor as a ratio to its first, cell by cell, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{LevelRatiosModel, Model};

use crate::layout::json_values::Value;

/// A level of a factor as a ratio to its first, where all other factors have the same levels.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CellRatio<'a> {
    /// As in the columns of `tables.csv`.
    metric: &'a str,
    factor: &'a str,
    level: &'a str,
    instead_of: &'a str,
    /// The levels of the other factors; empty without others.
    at: &'a str,
    ratio: Option<Value>,
}

/// Of the factors that neither effects of a single factor nor comparisons show level by level.
pub(crate) fn level_ratios(model: &Model) -> Vec<CellRatio<'_>> {
    model.level_ratios.iter().flat_map(of_factor).collect()
}

fn of_factor(model: &LevelRatiosModel) -> Vec<CellRatio<'_>> {
    let mut all = Vec::new();
    for outcome in &model.outcomes {
        for (line, ratios) in model.lines.iter().zip(&outcome.ratios) {
            let levels = model.levels.iter().skip(1).zip(ratios);
            all.extend(levels.filter_map(|(level, ratio)| {
                Some(CellRatio {
                    metric: &outcome.column,
                    factor: &model.factor,
                    level,
                    instead_of: &model.levels[0],
                    at: &line.name,
                    ratio: Value::of_ratio(ratio.as_ref()?),
                })
            }));
        }
    }
    all
}
