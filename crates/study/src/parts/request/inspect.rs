//! `inspect`: what is measured of the bodies of answers.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    at::{At, Key},
    check::Checker,
    mistake::Finding,
    tree::quote,
};

/// What is measured of the bodies of answers, which may be compressed by gzip or deflate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inspect {
    /// The JSON array whose elements are counted: `$.items` is a member of the document, `$` the document itself. An answer that is not
    /// JSON or has no such array fails.
    pub count: Key<String>,
}

/// Most members that lead to the array.
const NAMES_MAX: usize = 16;

pub(super) fn inspect(
    checker: &mut Checker<'_>,
    given: &Key<Inspect>,
    method: Option<&str>,
) -> Option<crate::Inspect> {
    let At { place, value: keys } = given.content()?;
    if method == Some("HEAD") {
        let finding = Finding::new(place.key, "an answer to HEAD has no body");
        checker.report(finding.with_expected("no inspect"));
    }
    let Some(At { place, value: text }) = keys.count.content() else {
        return Some(crate::Inspect::default());
    };
    let count = names(text);
    if count.is_none() {
        let expected =
            format!("$, or $.items with at most {NAMES_MAX} names of letters, digits, - and _");
        let mistake = place.mistake(format!("is {}", quote(text)));
        checker.report(mistake.with_expected(expected));
    }
    Some(crate::Inspect { count })
}

/// The names in the path of an array: none in `$`, `items` in `$.items`.
fn names(path: &str) -> Option<Vec<String>> {
    let mut parts = path.split('.');
    let is_rooted = parts.next() == Some("$");
    let names: Vec<String> = parts.map(str::to_owned).collect();
    let is_plain = |name: &String| {
        let mut letters = name.chars();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        !name.is_empty() && letters.all(fits)
    };
    (is_rooted && names.len() <= NAMES_MAX && names.iter().all(is_plain)).then_some(names)
}
