//! Derived levels: how they are computed, and what follows for statements about the factors that they depend on.

use waggle_analysis::Model;
use waggle_results::RunInfo;
use waggle_spec::DerivedLevel;

/// `n = floor(${traffic} / 45)`, one after the other; empty if the study has none.
pub(crate) fn formulas(info: &RunInfo) -> String {
    let formula = |level: &DerivedLevel| {
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
    let mut cautions = Vec::new();
    for DerivedLevel {
        name, factors: all, ..
    } in &model.info.derived
    {
        let dependencies = all.iter().filter(|factor| varies(model, factor));
        let dependencies: Vec<&str> = dependencies.map(String::as_str).collect();
        if !dependencies.iter().any(|factor| factors.contains(factor)) {
            continue;
        }
        cautions.push(match &dependencies[..] {
            [factor] => format!(
                "{name} is computed from {factor}: what {factor} does includes what {name} does."
            ),
            several => format!(
                "{name} is computed from {}: what each of these does includes what {name} does.",
                several.join(" and ")
            ),
        });
    }
    cautions
}

/// Whether the cells differ in this factor.
fn varies(model: &Model, factor: &str) -> bool {
    let mut factors = model.factors.iter();
    factors.any(|variable| variable.name == factor && variable.levels.len() > 1)
}
