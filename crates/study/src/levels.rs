//! The levels of a cell.

use crate::{
    Level,
    at::At,
    check::Checker,
    mistake::Position,
    nearest::{list, nearest_word},
    raw::OneOrSeveral,
    tree::quote,
};

/// One level for each factor, with its position; then the derived levels.
pub(crate) type Levels = Vec<(String, Level, Position)>;

/// The names of the factors of these cells.
pub(crate) fn factors_of(cells: &[Levels]) -> impl Iterator<Item = &str> {
    let first = cells.first().into_iter().flatten();
    first.map(|(name, ..)| name.as_str())
}

/// The factors that a key names, each once; `verb` comes before the name of none. `None`: a mistake was reported.
pub(crate) fn check_factors(
    checker: &mut Checker<'_>,
    given: &At<OneOrSeveral<At<String>>>,
    verb: &str,
    cells: &[Levels],
) -> Option<Vec<String>> {
    let factors = || factors_of(cells);
    let entries = given.entries();
    let mut names: Vec<String> = Vec::new();
    for (index, (position, name)) in entries.iter().enumerate() {
        let mistake = |what: String| given.place.mistake_in(*position, what);
        let finding = if entries[..index].iter().any(|(_, before)| before == name) {
            mistake(format!("has {} twice", quote(name))).with_expected("each factor once")
        } else if factors().any(|factor| factor == *name) {
            names.push((*name).to_owned());
            continue;
        } else {
            let expected = match factors().next() {
                Some(_) => list(factors()),
                None => "a study with factors or cells".to_owned(),
            };
            let mistake = mistake(format!("{verb} {}, which is no factor", quote(name)));
            let near = nearest_word(name, factors());
            mistake.with_expected(expected).with_suggestion(near)
        };
        checker.report(finding);
    }
    (names.len() == entries.len()).then_some(names)
}
