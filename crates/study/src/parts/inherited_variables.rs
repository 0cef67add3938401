//! Environment variables that a process has from waggle, in addition to the few that every process has.

use crate::{
    at::{At, Key},
    check::Checker,
    tree::quote,
};

const EXPECTED: &str =
    "the name of an environment variable: letters, digits and _, the first no digit";

/// The names in the order of the file; `set`: the variables that the process has anyway.
pub(crate) fn inherited_variables(
    checker: &mut Checker<'_>,
    given: &Key<Vec<At<String>>>,
    set: &[(String, String)],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for At { place, value: name } in given.value().into_iter().flatten() {
        let mistake = if !is_variable(name) {
            place
                .mistake(format!("is {}", quote(name)))
                .with_expected(EXPECTED)
        } else if names.contains(name) {
            let mistake = place.mistake(format!("is {} again", quote(name)));
            mistake.with_expected("each variable once")
        } else if set.iter().any(|(known, _)| known == name) {
            let mistake = place.mistake(format!("is {}, which environment sets", quote(name)));
            mistake.with_expected("it in one of the two")
        } else {
            names.push(name.clone());
            continue;
        };
        checker.report(mistake);
    }
    names
}

/// Whether a shell can set a variable of this name.
fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let mut bytes = name.bytes();
    bytes.next().is_some_and(is_letter)
        && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit())
}
