//! Derived levels: how they are computed, and what follows for statements about the factors that they depend on.

use waggle_analysis::Model;
use waggle_results::{DerivedLevelInfo, RunInfo};

/// `n = floor(${traffic} / 45)`, one after the other; empty if the study has none.
pub(crate) fn formulas(info: &RunInfo) -> String {
    let formula = |one: &DerivedLevelInfo| {
        let formula: Vec<&str> = one.formula.split_whitespace().collect();
        format!("{} = {}", one.name, formula.join(" "))
    };
    info.derived
        .iter()
        .map(formula)
        .collect::<Vec<_>>()
        .join("; ")
}

/// A sentence for each derived level that changes with one of these factors.
pub(crate) fn cautions(model: &Model, factors: &[&str]) -> Vec<String> {
    let varies = |factor: &String| {
        let mut factors = model.factors.iter();
        factors.any(|one| one.name == *factor && one.levels.len() > 1)
    };
    let caution = |one: &DerivedLevelInfo| {
        let own = one.factors.iter().filter(|factor| varies(factor));
        let own: Vec<&str> = own.map(String::as_str).collect();
        let is_concerned = own.iter().any(|factor| factors.contains(factor));
        is_concerned.then(|| match &own[..] {
            [factor] => format!(
                "{} is computed from {factor}: what {factor} does includes what {} does.",
                one.name, one.name
            ),
            several => format!(
                "{} is computed from {}: what each of these does includes what {} does.",
                one.name,
                several.join(" and "),
                one.name
            ),
        })
    };
    model.info.derived.iter().filter_map(caution).collect()
}
