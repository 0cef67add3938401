//! Derived levels: how they are computed, and what follows for statements about the factors that they depend on.

use waggle_analysis::Model;
use waggle_results::{DerivedLevelInfo, RunInfo};

/// `n = floor(${traffic} / 45)`, one after the other; empty if the study has none.
pub(crate) fn formulas(info: &RunInfo) -> String {
    let formula = |level: &DerivedLevelInfo| {
        let formula: Vec<&str> = level.formula.split_whitespace().collect();
        format!("{} = {}", level.name, formula.join(" "))
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
        factors.any(|variable| variable.name == *factor && variable.levels.len() > 1)
    };
    let caution = |variable: &DerivedLevelInfo| {
        let dependencies = variable.factors.iter().filter(|factor| varies(factor));
        let dependencies: Vec<&str> = dependencies.map(String::as_str).collect();
        let is_concerned = dependencies.iter().any(|factor| factors.contains(factor));
        is_concerned.then(|| match &dependencies[..] {
            [factor] => format!(
                "{} is computed from {factor}: what {factor} does includes what {} does.",
                variable.name, variable.name
            ),
            several => format!(
                "{} is computed from {}: what each of these does includes what {} does.",
                variable.name,
                several.join(" and "),
                variable.name
            ),
        })
    };
    model.info.derived.iter().filter_map(caution).collect()
}
