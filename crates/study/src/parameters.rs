//! Levels of a system's parameters outside a study: as a command line gives them.

use std::collections::BTreeMap;

use crate::{
    Level, Problem, System,
    check::refusal,
    nearest::{list, nearest_word},
};

/// A level for every parameter of a system: those given as `(name, text)`, the default of each other.
///
/// # Errors
/// A name is no parameter of the system, or a parameter does not accept its level.
pub fn parameter_levels(
    system: &System,
    given: &[(String, String)],
) -> Result<BTreeMap<String, Level>, Problem> {
    let names = || {
        system
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
    };
    if let Some((name, _)) = given
        .iter()
        .find(|(name, _)| !names().any(|known| known == name))
    {
        let near = nearest_word(name, names())
            .map(|near| format!("; did you mean \"{near}\"?"))
            .unwrap_or_default();
        let (system, known) = (&system.name, list(names()));
        return Err(Problem(format!(
            "system {system} has no parameter {name:?}; expected {known}{near}"
        )));
    }
    let mut levels = BTreeMap::new();
    for parameter in &system.parameters {
        let text = given.iter().find(|(name, _)| *name == parameter.name);
        let level = text.map_or_else(|| parameter.default.clone(), |(_, text)| level_of(text));
        if let Some((expected, near)) = refusal(parameter, &level) {
            let name = &parameter.name;
            let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
            return Err(Problem(format!(
                "parameter {name} is \"{level}\"; expected {expected}{near}"
            )));
        }
        levels.insert(parameter.name.clone(), level);
    }
    Ok(levels)
}

/// A level as a command line has it.
fn level_of(text: &str) -> Level {
    let truth = text.parse().map(Level::Boolean);
    let number = || text.parse().map(Level::Integer);
    truth
        .or_else(|_| number())
        .unwrap_or_else(|_| Level::Text(text.to_owned()))
}
