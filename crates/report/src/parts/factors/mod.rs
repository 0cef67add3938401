//! What the factors do: rankings of levels, A/B comparisons, effects, curves over numeric factors with their laws, reference
//! results.

pub(crate) mod ab_comparisons;
pub(crate) mod curves;
pub(crate) mod effects;
pub(crate) mod growth;
pub(crate) mod laws;
pub(crate) mod level_ratios;
pub(crate) mod ranking;
pub(crate) mod reference;
