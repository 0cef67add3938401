//! The endpoint that receives a load.

use crate::{
    Endpoint, System,
    at::{At, Key, Place},
    check::Checker,
    nearest::{list, nearest_word},
};

/// The endpoint that a key names, or the default one; `around` is where the key belongs.
pub(crate) fn endpoint(
    checker: &mut Checker<'_>,
    given: &Key<String>,
    around: &Place,
    system: Option<&System>,
) -> Option<String> {
    let system = system?;
    let names = || {
        let endpoints = system.endpoints.iter();
        endpoints.map(|endpoint| endpoint.name.as_str())
    };
    let mistake = match given {
        Key::Invalid => return None,
        Key::Given(At { value: name, .. }) if names().any(|known| known == name) => {
            return Some(name.clone());
        }
        Key::Given(At { place, value: name }) => {
            let what = format!(
                "is {name:?}, which is no endpoint of system {}",
                system.name
            );
            let mistake = place.mistake(what).with_expected(list(names()));
            mistake.with_suggestion(nearest_word(name, names()))
        }
        Key::Missing => {
            if let Some(endpoint) = default_endpoint(system) {
                return Some(endpoint.name.clone());
            }
            let what = format!("names no endpoint, and system {} has several", system.name);
            let expected = format!("endpoint: one of {}", list(names()));
            around.key_mistake(what).with_expected(expected)
        }
    };
    checker.report(mistake);
    None
}

/// The only endpoint, or the only one that every configuration has.
fn default_endpoint(system: &System) -> Option<&Endpoint> {
    let endpoints = system.endpoints.iter();
    let everywhere: Vec<&Endpoint> = endpoints
        .filter(|endpoint| is_everywhere(endpoint, system))
        .collect();
    match (&system.endpoints[..], &everywhere[..]) {
        ([only], _) => Some(only),
        (_, [only]) => Some(only),
        _ => None,
    }
}

/// Whether neither the endpoint nor its component has a condition.
fn is_everywhere(endpoint: &Endpoint, system: &System) -> bool {
    let mut components = system.components.iter();
    let component = components.find(|known| known.name == endpoint.component);
    endpoint.when.0.is_empty() && component.is_none_or(|component| component.when.0.is_empty())
}
