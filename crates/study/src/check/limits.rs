//! Limits of components: in a system's file, and in a study for a component of its system.

use std::collections::BTreeMap;

use waggle_template::placeholder::single_name;

use super::{Checker, components::Conditions, path_text};
use crate::{
    Level, LimitTexts, Limits, Parameter, ParameterKind, System,
    levels::Levels,
    limits::{LIMIT_CPUS, MAX_LIMIT_MEMORY, MIN_LIMIT_MEMORY, parse_cpus, parse_memory},
    mistake::Finding,
    nearest::{list, nearest_word},
    raw,
    tree::quote,
};

/// What is limited.
struct Resource {
    key: &'static str,
    expected: &'static str,
    /// Whether a text is such a limit.
    is_amount: fn(&str) -> bool,
    /// Whether every level of a parameter is such a limit.
    fits: fn(&Parameter) -> bool,
}

const CPUS: Resource = Resource {
    key: "cpus",
    expected: "a number of CPUs from 0.01 to 1024, e.g. 0.5, or none",
    is_amount: |text| parse_cpus(text).is_some(),
    fits: limits_cpus,
};
const MEMORY: Resource = Resource {
    key: "memory",
    expected: "a size of at least 16MiB, e.g. 512MiB, or none",
    is_amount: |text| parse_memory(text).is_some(),
    fits: limits_memory,
};

/// The limits of a component in a system's file; `${parameter}` must name one whose every level is a limit.
pub(super) fn limit_texts(
    checker: &mut Checker<'_>,
    conditions: &Conditions<'_>,
    component: &str,
    raw: Option<&raw::Limits>,
) -> LimitTexts {
    let (cpus, memory) = raw.map_or((None, None), |raw| (raw.cpus.as_ref(), raw.memory.as_ref()));
    let cpus = cpus.map(ToString::to_string);
    let memory = memory.map(ToString::to_string);
    for (resource, text) in [(&CPUS, &cpus), (&MEMORY, &memory)] {
        if let Some(text) = text {
            check_limit_text(checker, conditions, component, resource, text);
        }
    }
    LimitTexts { cpus, memory }
}

fn check_limit_text(
    checker: &mut Checker<'_>,
    conditions: &Conditions<'_>,
    component: &str,
    resource: &Resource,
    text: &str,
) {
    let parameter = single_name(text);
    let is_parameter = parameter.is_some_and(|name| names(conditions, name, resource.fits));
    if !(resource.is_amount)(text) && !is_parameter {
        let path = ["components", component, "limits", resource.key];
        let what = format!("{} is {}", path_text(&path), quote(text));
        let expected = resource.expected;
        let expected = format!("{expected}, or ${{…}} with a parameter that is one");
        let position = checker.position_of(&path);
        checker.report(Finding::new(position, what).with_expected(expected));
    }
}

/// Whether a name is a parameter that fits, or one whose own mistakes were reported.
fn names(conditions: &Conditions<'_>, name: &str, fits: fn(&Parameter) -> bool) -> bool {
    let is_declared = conditions.names.iter().any(|known| known == name);
    let mut known = conditions.known.iter();
    is_declared && known.find(|known| known.name == name).is_none_or(fits)
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

/// The limits of each component in a cell: those of the system, and in their place those that the study gives. `system` is the
/// whole system and the part of it that exists in the cell; limits of a component that does not exist there have no effect. `None`: the
/// system is not known.
pub(crate) fn limits(
    checker: &mut Checker<'_>,
    raw: Option<&raw::UseSystem>,
    levels: &Levels,
    system: Option<(&System, &System)>,
    parameters: Option<&BTreeMap<String, Level>>,
) -> Option<BTreeMap<String, Limits>> {
    let (whole, present) = system?;
    let external = raw::external_names(raw, Some(whole));
    let is_external = |name: &str| external.contains(name);
    let mut limits = present.limits(parameters?);
    limits.retain(|name, _| !is_external(name));
    let set = raw.and_then(|raw| raw.set.as_ref());
    let is_given = |parameter: &str| {
        set.is_some_and(|set| set.contains_key(parameter))
            || levels.iter().any(|(name, ..)| name == parameter)
    };
    let given = raw.and_then(|raw| raw.limits.as_ref());
    for (name, raw) in given.into_iter().flatten() {
        let path = ["system", "limits", name.as_str()];
        let names = || whole.components.iter().map(|known| known.name.as_str());
        if !names().any(|known| known == name) {
            let what = format!("system {} has no component {name:?}", whole.name);
            let finding = Finding::new(checker.key(&path), what).with_expected(list(names()));
            checker.report(finding.with_suggestion(nearest_word(name, names())));
            continue;
        }
        if is_external(name) {
            let what =
                format!("component {name} runs already (system.external), so it cannot be limited");
            checker.report(
                Finding::new(checker.key(&path), what)
                    .with_expected("limits of a component that waggle starts"),
            );
            continue;
        }
        let cpus = amount(checker, raw.cpus.as_ref(), &path, &CPUS, parse_cpus);
        let memory = amount(checker, raw.memory.as_ref(), &path, &MEMORY, parse_memory);
        let mut components = present.components.iter();
        let Some(component) = components.find(|known| known.name == *name) else {
            continue;
        };
        let replaced = LimitTexts {
            cpus: component.limits.cpus.clone().filter(|_| cpus.is_some()),
            memory: component.limits.memory.clone().filter(|_| memory.is_some()),
        };
        refuse_second(checker, &path, &replaced, is_given);
        let entry = limits.entry(name.clone()).or_default();
        entry.cpus = cpus.unwrap_or(entry.cpus);
        entry.memory = memory.unwrap_or(entry.memory);
    }
    limits.retain(|_, limits| limits.is_some());
    Some(limits)
}

/// Reports a parameter that the study gives although it replaces the limit that the parameter sets: its levels would have no effect.
fn refuse_second(
    checker: &mut Checker<'_>,
    path: &[&str],
    replaced: &LimitTexts,
    is_given: impl Fn(&str) -> bool,
) {
    for (text, key) in [(&replaced.cpus, "cpus"), (&replaced.memory, "memory")] {
        let parameter = text.as_deref().and_then(single_name);
        let Some(parameter) = parameter.filter(|name| is_given(name)) else {
            continue;
        };
        let path = [path, &[key]].concat();
        let what = format!(
            "{} replaces the system's ${{{parameter}}}, and the study gives {parameter}, too",
            path_text(&path)
        );
        let position = checker.key(&path);
        checker.report(Finding::new(position, what).with_expected("one of the two"));
    }
}

/// `None`: the study gives none, or it has a mistake; `Some(None)`: no limit.
fn amount<T>(
    checker: &mut Checker<'_>,
    level: Option<&Level>,
    path: &[&str],
    resource: &Resource,
    parse: fn(&str) -> Option<Option<T>>,
) -> Option<Option<T>> {
    let text = level?.to_string();
    let parsed = parse(&text);
    if parsed.is_none() {
        let path = [path, &[resource.key]].concat();
        let what = format!("{} is {}", path_text(&path), quote(&text));
        let finding = Finding::new(checker.position_of(&path), what);
        checker.report(finding.with_expected(resource.expected));
    }
    parsed
}
