//! Limits of components: in a system's file, and in a study for a component of its system.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_template::placeholder::single_name;

use crate::{
    Level, LimitTexts, Parameter, ParameterKind,
    at::{At, Entries, Key},
    check::Checker,
    configure::Configured,
    levels::Levels,
    limits::{LIMIT_CPUS, MAX_LIMIT_MEMORY, MIN_LIMIT_MEMORY, parse_cpus, parse_memory},
    mistake::Finding,
    nearest::{list, nearest_word},
    tree::quote,
};

/// How much CPU and memory each replica of a component may use.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// CPUs, e.g. 0.5 or 2, from 0.01 to 1024; or `none`.
    pub cpus: Key<Level>,
    /// Memory, e.g. 512MiB, at least 16MiB; or `none`. Swap is not used.
    pub memory: Key<Level>,
}

/// What is limited.
struct Resource {
    expected: &'static str,
    /// Whether a text is such a limit.
    is_amount: fn(&str) -> bool,
    /// Whether every level of a parameter is such a limit.
    fits: fn(&Parameter) -> bool,
}

const CPUS: Resource = Resource {
    expected: "a number of CPUs from 0.01 to 1024, e.g. 0.5, or none",
    is_amount: |text| parse_cpus(text).is_some(),
    fits: limits_cpus,
};
const MEMORY: Resource = Resource {
    expected: "a size of at least 16MiB, e.g. 512MiB, or none",
    is_amount: |text| parse_memory(text).is_some(),
    fits: limits_memory,
};

/// The parameters of a system's file: the names of all, and those without a mistake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'a> {
    pub names: &'a [String],
    pub known: &'a [Parameter],
}

/// The limits of a component in a system's file; `${parameter}` must name one whose every level is a limit.
pub(crate) fn limit_texts(
    checker: &mut Checker<'_>,
    given: &Key<Limits>,
    declared: Declared<'_>,
) -> LimitTexts {
    let Some(keys) = given.value() else {
        return LimitTexts::default();
    };
    LimitTexts {
        cpus: limit_text(checker, &keys.cpus, declared, &CPUS),
        memory: limit_text(checker, &keys.memory, declared, &MEMORY),
    }
}

fn limit_text(
    checker: &mut Checker<'_>,
    given: &Key<Level>,
    declared: Declared<'_>,
    resource: &Resource,
) -> Option<String> {
    let At { place, value } = given.content()?;
    let text = value.to_string();
    let parameter = single_name(&text);
    let is_parameter = parameter.is_some_and(|name| declared.fits(name, resource.fits));
    if !(resource.is_amount)(&text) && !is_parameter {
        let expected = resource.expected;
        let expected = format!("{expected}, or ${{…}} with a parameter that is one");
        let mistake = place.mistake(format!("is {}", quote(&text)));
        checker.report(mistake.with_expected(expected));
    }
    Some(text)
}

impl Declared<'_> {
    /// Whether a name is a parameter that fits, or one whose own mistakes were reported.
    fn fits(&self, name: &str, fits: fn(&Parameter) -> bool) -> bool {
        let is_declared = self.names.iter().any(|known| known == name);
        let mut known = self.known.iter();
        is_declared && known.find(|known| known.name == name).is_none_or(fits)
    }
}

/// Whether every level of a parameter is a limit on CPUs.
fn limits_cpus(parameter: &Parameter) -> bool {
    let (least, most) = LIMIT_CPUS;
    match &parameter.kind {
        ParameterKind::Number { min, max } => *min >= least && *max <= most,
        ParameterKind::Integer { min, max } => *min >= 1 && *max <= 1024,
        ParameterKind::OneOf(words) => words.iter().all(|word| parse_cpus(word).is_some()),
        _ => false,
    }
}

/// Whether every level of a parameter is a limit on memory.
fn limits_memory(parameter: &Parameter) -> bool {
    match &parameter.kind {
        ParameterKind::Size { min, max } => *min >= MIN_LIMIT_MEMORY && *max <= MAX_LIMIT_MEMORY,
        ParameterKind::OneOf(words) => words.iter().all(|word| parse_memory(word).is_some()),
        _ => false,
    }
}

/// What the limits that a study gives must fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limited<'a> {
    pub system: Configured<'a>,
    /// The components that run already.
    pub external: &'a BTreeSet<&'a str>,
    /// The values that the study gives parameters, and the levels of the cell.
    pub set: Option<&'a Entries<Level>>,
    pub levels: &'a Levels,
}

impl Limited<'_> {
    /// Whether the study gives a parameter.
    fn gives(&self, parameter: &str) -> bool {
        let mut levels = self.levels.iter();
        self.set.is_some_and(|set| set.get(parameter).is_some())
            || levels.any(|(name, ..)| name == parameter)
    }

    /// Reports limits of what cannot be limited; `None`: it was reported.
    fn check_component(
        &self,
        checker: &mut Checker<'_>,
        name: &str,
        given: &At<Limits>,
    ) -> Option<()> {
        let names = || {
            self.system
                .whole
                .components
                .iter()
                .map(|known| known.name.as_str())
        };
        let position = given.place.key;
        if !names().any(|known| known == name) {
            let what = format!(
                "system {} has no component {name:?}",
                self.system.whole.name
            );
            let finding = Finding::new(position, what).with_expected(list(names()));
            checker.report(finding.with_suggestion(nearest_word(name, names())));
            return None;
        }
        if self.external.contains(name) {
            let what =
                format!("component {name} runs already (system.external), so it cannot be limited");
            let expected = "limits of a component that waggle starts";
            checker.report(Finding::new(position, what).with_expected(expected));
            return None;
        }
        Some(())
    }
}

/// The limits of each component in a cell: those of the system, and in their place those that the study gives. Limits of a component
/// that does not exist in the cell have no effect.
pub(crate) fn limits(
    checker: &mut Checker<'_>,
    given: Option<&IndexMap<String, At<Limits>>>,
    limited: Limited<'_>,
) -> BTreeMap<String, crate::Limits> {
    let mut limits = limited.system.present.limits(limited.system.parameters);
    limits.retain(|name, _| !limited.external.contains(name.as_str()));
    for (name, given) in given.into_iter().flatten() {
        if limited.check_component(checker, name, given).is_none() {
            continue;
        }
        let keys = &given.value;
        let cpus = amount(checker, &keys.cpus, &CPUS, parse_cpus);
        let memory = amount(checker, &keys.memory, &MEMORY, parse_memory);
        let mut components = limited.system.present.components.iter();
        let Some(component) = components.find(|known| known.name == *name) else {
            continue;
        };
        let texts = &component.limits;
        if cpus.is_some() {
            refuse_second(checker, &keys.cpus, texts.cpus.as_deref(), limited);
        }
        if memory.is_some() {
            refuse_second(checker, &keys.memory, texts.memory.as_deref(), limited);
        }
        let entry = limits.entry(name.clone()).or_default();
        entry.cpus = cpus.unwrap_or(entry.cpus);
        entry.memory = memory.unwrap_or(entry.memory);
    }
    limits.retain(|_, limits| limits.is_some());
    limits
}

/// Reports a parameter that the study gives although it replaces the limit that the parameter sets: its levels would have no effect.
fn refuse_second(
    checker: &mut Checker<'_>,
    given: &Key<Level>,
    replaced: Option<&str>,
    limited: Limited<'_>,
) {
    let parameter = replaced.and_then(single_name);
    if let (Some(parameter), Some(place)) = (parameter, given.place())
        && limited.gives(parameter)
    {
        let what =
            format!("replaces the system's ${{{parameter}}}, and the study gives {parameter}, too");
        checker.report(place.key_mistake(what).with_expected("one of the two"));
    }
}

/// `None`: the study gives none, or it has a mistake; `Some(None)`: no limit.
fn amount<T>(
    checker: &mut Checker<'_>,
    given: &Key<Level>,
    resource: &Resource,
    parse: fn(&str) -> Option<Option<T>>,
) -> Option<Option<T>> {
    let At { place, value } = given.content()?;
    let text = value.to_string();
    let parsed = parse(&text);
    if parsed.is_none() {
        let mistake = place.mistake(format!("is {}", quote(&text)));
        checker.report(mistake.with_expected(resource.expected));
    }
    parsed
}
