//! Main effects.

use serde::Serialize;

use super::words;
use crate::{layout::chart_numbers::estimate, words::format};

use waggle_analysis::{EffectsModel, OutcomeEffects};

/// A factor and its levels.
#[derive(Serialize)]
pub(crate) struct Factor<'a> {
    pub(crate) name: &'a str,
    pub(crate) levels: &'a [String],
}

#[derive(Serialize)]
pub(crate) struct Effects<'a> {
    factors: Vec<Factor<'a>>,
    outcomes: Vec<Outcome>,
    /// Place of the outcome that is shown first.
    first: usize,
}

#[derive(Serialize)]
struct Outcome {
    name: String,
    /// Of each factor, of each of its levels but the first.
    ratios: Vec<Vec<Vec<f64>>>,
    /// Of each factor, as text.
    shares: Vec<String>,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(effects: &'a EffectsModel) -> Self {
        let factors = effects.factors.iter().map(|factor| Factor {
            name: &factor.name,
            levels: &factor.levels,
        });
        Self {
            factors: factors.collect(),
            outcomes: effects.outcomes.iter().map(Outcome::new).collect(),
            first: effects.first,
        }
    }
}

impl Outcome {
    fn new(outcome: &OutcomeEffects) -> Self {
        let of_factors = outcome.ratios.iter();
        let ratios = of_factors.map(|ratios| ratios.iter().map(estimate).collect());
        let shares = outcome.parts.iter().take(outcome.ratios.len());
        Self {
            name: words::heading(outcome),
            ratios: ratios.collect(),
            shares: shares.map(|part| format::share(part.share)).collect(),
        }
    }
}
