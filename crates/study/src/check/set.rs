//! Values for the system's parameters: set by the study, by a factor of the same name, or the default.

use std::collections::BTreeMap;

use waggle_units::{format_duration, format_size, parse_duration, parse_number, parse_size};

use super::Checker;
use crate::{
    Level, NO_LIMIT, Parameter, ParameterKind, System,
    at::Entries,
    mistake::{Finding, Position},
    nearest::{list, nearest_word},
};

/// Longest text of a parameter.
const TEXT_MAX_BYTES: usize = 64;

/// Every parameter with its value. `factors` are the factors with level and position.
pub(crate) fn parameters(
    checker: &mut Checker<'_>,
    set: Option<&Entries<Level>>,
    factors: &[(String, Level, Position)],
    system: &System,
) -> BTreeMap<String, Level> {
    refuse_unknown(checker, set, system);
    let mut values = BTreeMap::new();
    for parameter in &system.parameters {
        let by_set = set
            .and_then(|set| set.get(&parameter.name))
            .map(|level| (&level.value, level.place.value));
        let by_factor = || {
            let (_, level, position) = factors.iter().find(|(name, ..)| *name == parameter.name)?;
            Some((level, *position))
        };
        let given = if set.is_some_and(|set| set.is_invalid(&parameter.name)) {
            None
        } else {
            by_set.or_else(by_factor)
        };
        if let Some((level, position)) = given {
            check_level(checker, parameter, system, level, position);
        }
        let level = given.map_or(&parameter.default, |(level, _)| level);
        values.insert(parameter.name.clone(), level.clone());
    }
    values
}

/// The values that a mapping sets, each checked against its parameter; `None`: one has a mistake.
pub(crate) fn check_set(
    checker: &mut Checker<'_>,
    set: &Entries<Level>,
    system: &System,
) -> Option<BTreeMap<String, Level>> {
    let mut is_complete = refuse_unknown(checker, Some(set), system).is_some();
    let mut values = BTreeMap::new();
    for parameter in &system.parameters {
        is_complete &= !set.is_invalid(&parameter.name);
        if let Some(given) = set.get(&parameter.name) {
            let position = given.place.value;
            let checked = check_level(checker, parameter, system, &given.value, position);
            is_complete &= checked.is_some();
            values.insert(parameter.name.clone(), given.value.clone());
        }
    }
    is_complete.then_some(values)
}

/// Reports names that are no parameter; `None`: there are some.
fn refuse_unknown(
    checker: &mut Checker<'_>,
    set: Option<&Entries<Level>>,
    system: &System,
) -> Option<()> {
    let mut is_complete = true;
    for (name, level) in set.into_iter().flat_map(Entries::iter) {
        let names = || {
            system
                .parameters
                .iter()
                .map(|parameter| parameter.name.as_str())
        };
        if !names().any(|known| known == name) {
            is_complete = false;
            let what = format!("system {} has no parameter {name:?}", system.name);
            let position = level.place.key;
            checker.report(
                Finding::new(position, what)
                    .with_expected(list(names()))
                    .with_suggestion(nearest_word(name, names())),
            );
        }
    }
    is_complete.then_some(())
}

/// Reports a level that a parameter does not accept.
fn check_level(
    checker: &mut Checker<'_>,
    parameter: &Parameter,
    system: &System,
    level: &Level,
    position: Position,
) -> Option<()> {
    let Some((expected, near)) = refusal(parameter, level) else {
        return Some(());
    };
    let what = format!(
        "parameter {} of system {} is {}",
        parameter.name,
        system.name,
        level_text(level)
    );
    checker.report(
        Finding::new(position, what)
            .with_expected(expected)
            .with_suggestion(near),
    );
    None
}

fn level_text(level: &Level) -> String {
    if let Level::Text(text) = level {
        crate::tree::quote(text)
    } else {
        level.to_string()
    }
}

impl Parameter {
    /// What it accepts: `a whole number from 1 to 8 or none`.
    #[must_use]
    pub fn accepted_values(&self) -> String {
        let accepted = match &self.kind {
            ParameterKind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            ParameterKind::Number { min, max } => format!("a number from {min} to {max}"),
            ParameterKind::Duration { min, max } => {
                let [min, max] = [min, max].map(|time| format_duration(*time));
                format!("a duration from {min} to {max}")
            }
            ParameterKind::Size { min, max } => {
                let [min, max] = [min, max].map(|size| format_size(*size));
                format!("a size from {min} to {max}")
            }
            ParameterKind::Boolean => "true or false".to_owned(),
            ParameterKind::Text => {
                format!("letters, digits, -, _ and ., at most {TEXT_MAX_BYTES}")
            }
            ParameterKind::OneOf(words) => list(words.iter().map(String::as_str)),
        };
        let or_none = if self.is_optional { " or none" } else { "" };
        accepted + or_none
    }

    fn accepts(&self, level: &Level) -> bool {
        let written = level.to_string();
        if self.is_optional && written == NO_LIMIT {
            return true;
        }
        match &self.kind {
            ParameterKind::Integer { min, max } => {
                matches!(level, Level::Integer(number) if (min..=max).contains(&number))
            }
            ParameterKind::Number { min, max } => {
                parse_number(&written).is_some_and(|number| (*min..=*max).contains(&number))
            }
            ParameterKind::Duration { min, max } => {
                parse_duration(&written).is_some_and(|time| (*min..=*max).contains(&time))
            }
            ParameterKind::Size { min, max } => {
                parse_size(&written).is_some_and(|bytes| (*min..=*max).contains(&bytes))
            }
            ParameterKind::Boolean => matches!(level, Level::Boolean(_)),
            ParameterKind::Text => !matches!(level, Level::Float(_)) && is_word(&written),
            ParameterKind::OneOf(words) => words.contains(&written),
        }
    }
}

/// What the parameter accepts, and the nearest accepted word; `None` if it accepts this level.
pub(crate) fn refusal<'a>(
    parameter: &'a Parameter,
    level: &Level,
) -> Option<(String, Option<&'a str>)> {
    if parameter.accepts(level) {
        return None;
    }
    let near = match &parameter.kind {
        ParameterKind::OneOf(words) => {
            nearest_word(&level.to_string(), words.iter().map(String::as_str))
        }
        _ => None,
    };
    Some((parameter.accepted_values(), near))
}

/// Fit for a URL, a name in a configuration and a text in quotes.
fn is_word(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= TEXT_MAX_BYTES && text.bytes().all(is_letter)
}
