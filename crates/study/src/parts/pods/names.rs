//! Names of hosts, programs and images.

use crate::{at::At, check::Checker, tree::quote};

/// Longest name of a host or program.
const NAME_MAX_BYTES: usize = 255;

/// A name that is no flag of a program, and has no spaces.
pub(crate) fn check_name(
    checker: &mut Checker<'_>,
    At { place, value }: &At<String>,
    expected: &str,
) -> Option<String> {
    let is_name = (1..=NAME_MAX_BYTES).contains(&value.len())
        && !value.starts_with('-')
        && !value
            .chars()
            .any(|letter| letter.is_whitespace() || letter.is_control());
    if !is_name {
        let mistake = place.mistake(format!("is {}", quote(value)));
        checker.report(mistake.with_expected(expected));
    }
    is_name.then(|| value.clone())
}
