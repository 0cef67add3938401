//! Each level of each factor as a ratio to its first, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{EffectsModel, Model, OutcomeEffects, Shown};

use crate::layout::json_values::Value;

/// A level of a factor as a ratio to its first, over all cells.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Effect<'a> {
    /// As in the columns of `tables.csv`.
    metric: &'a str,
    factor: &'a str,
    level: &'a str,
    instead_of: &'a str,
    ratio: Option<Value>,
    /// `together` with all other statements, `alone`, `no`, or `no interval`.
    shown: &'static str,
    /// It is of what was measured: doubts about the trials leave the ratio of the system itself open on both sides.
    as_measured: bool,
}

/// Of every outcome; empty if the cells form no complete grid.
pub(crate) fn effects(model: &Model) -> Vec<Effect<'_>> {
    let Some(effects) = &model.effects else {
        return Vec::new();
    };
    let outcomes = effects.outcomes.iter();
    outcomes
        .flat_map(|outcome| of_outcome(effects, outcome))
        .collect()
}

fn of_outcome<'a>(effects: &'a EffectsModel, outcome: &'a OutcomeEffects) -> Vec<Effect<'a>> {
    let mut all = Vec::new();
    for (place, factor) in effects.factors.iter().enumerate() {
        let ratios = outcome.ratios[place].iter().zip(&outcome.shown[place]);
        for (level, (ratio, shown)) in factor.levels.iter().skip(1).zip(ratios) {
            all.push(Effect {
                metric: &outcome.column,
                factor: &factor.name,
                level,
                instead_of: &factor.levels[0],
                ratio: Value::of_ratio(ratio),
                shown: match shown {
                    Shown::Together => "together",
                    Shown::Alone => "alone",
                    Shown::Nothing => "no",
                    Shown::Unknown => "no interval",
                },
                as_measured: outcome.is_as_measured,
            });
        }
    }
    all
}
