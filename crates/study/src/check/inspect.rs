//! `inspect`: what is measured of the bodies of answers.

use super::{Checker, path_text};
use crate::{Inspect, mistake::Finding, raw, tree::quote};

/// Most members that lead to the array.
const NAMES_MAX: usize = 16;

/// Checks `inspect`, whose path is `around`.
pub(super) fn inspect(
    checker: &mut Checker<'_>,
    raw: Option<raw::Inspect>,
    method: Option<&str>,
    around: &[&str],
) -> Option<Inspect> {
    let raw = raw?;
    if method == Some("HEAD") {
        let finding = Finding::new(checker.key(around), "an answer to HEAD has no body");
        checker.report(finding.with_expected("no inspect"));
    }
    let Some(text) = raw.count else {
        return Some(Inspect::default());
    };
    let count = names(&text);
    if count.is_none() {
        let path = [around, &["count"]].concat();
        let what = format!("{} is {}", path_text(&path), quote(&text));
        let expected =
            format!("$, or $.items with at most {NAMES_MAX} names of letters, digits, - and _");
        checker.report(Finding::new(checker.position_of(&path), what).with_expected(expected));
    }
    Some(Inspect { count })
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
