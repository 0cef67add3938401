//! Texts of a system file and the names in them; keys that something of one kind needs, or does not have.

use waggle_template::placeholder::{Part, parts};

use crate::{
    at::{At, Key, Place},
    check::Checker,
    mistake::{Finding, Position},
    tree::quote,
};

/// Reports a `${…}` that is neither a parameter nor otherwise known.
pub(crate) fn refuse_unknown(
    checker: &mut Checker<'_>,
    position: Position,
    text: &str,
    is_known: impl Fn(&str) -> bool,
) {
    let Some(parts) = parts(text) else {
        checker.report(Finding::new(position, "a ${ without its }").with_expected("${name}"));
        return;
    };
    for part in parts {
        if let Part::Name(name) = part
            && !is_known(name)
        {
            let what = format!("${{{name}}} is not defined here");
            checker.report(Finding::new(position, what).with_expected("one of the parameters"));
        }
    }
}

/// Reports each `${…}` of a text that is neither a parameter nor in `names`.
pub(crate) fn refuse_unknown_names(
    checker: &mut Checker<'_>,
    At { place, value }: &At<String>,
    parameters: &[String],
    names: &[&str],
) {
    refuse_unknown(checker, place.value, value, |name| {
        names.contains(&name) || parameters.iter().any(|known| known == name)
    });
}

/// Reports a text that is no JSONPath; `None`: it was reported.
pub(crate) fn check_json_path(
    checker: &mut Checker<'_>,
    place: &Place,
    text: &str,
    expected: &str,
) -> Option<()> {
    let problem = match serde_json_path::JsonPath::parse(text) {
        Ok(_) => return Some(()),
        Err(problem) => problem,
    };
    let mistake = place.mistake(format!("is {}: {problem}", quote(text)));
    checker.report(mistake.with_expected(expected));
    None
}

/// The one of several kinds that is given.
pub(crate) fn single_kind(
    checker: &mut Checker<'_>,
    place: &Place,
    kinds: &[(&'static str, bool)],
    is_invalid: bool,
) -> Option<&'static str> {
    let given: Vec<_> = kinds.iter().filter(|(_, is_given)| *is_given).collect();
    if let [(kind, _)] = given[..] {
        return Some(kind);
    }
    if !is_invalid {
        let names: Vec<_> = kinds.iter().map(|(kind, _)| *kind).collect();
        let mistake = place.key_mistake(format!("has {} kinds", given.len()));
        let expected = format!("exactly one of {}", names.join(", "));
        checker.report(mistake.with_expected(expected));
    }
    None
}

/// The value of a key that something of this kind needs; `around` is where the key belongs.
pub(crate) fn require_key<'k, T>(
    checker: &mut Checker<'_>,
    around: &Place,
    given: &'k Key<T>,
    key: &str,
    expected: &str,
) -> Option<&'k At<T>> {
    if matches!(given, Key::Missing) {
        let mistake = around.key_mistake(format!("lacks the key {key:?}"));
        checker.report(mistake.with_expected(format!("{key}: {expected}")));
    }
    given.content()
}

/// Reports a key that something of this kind does not have.
pub(crate) fn refuse_key<T>(checker: &mut Checker<'_>, given: &Key<T>, kind: &str) {
    if let Some(place) = given.place() {
        let mistake = place.key_mistake(format!("is not used with {kind}"));
        checker.report(mistake.with_expected("the key to be left out"));
    }
}
