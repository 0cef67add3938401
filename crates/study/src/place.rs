//! The place of a text in a study, for errors that are found after the study was checked. The study is read once more: its
//! positions are needed only then.

use crate::{
    Files, Source, fill::visit_texts, include::include_scenario, mistake::Position,
    sources::Sources, tree::parse,
};

/// Where a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the file: the study, or that of its scenario.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    pub column: u32,
}

/// Where this study, or scenario in a file of its own, names a file by a key; else the first value of the key that a factor
/// completes. `files` are those beside it.
#[must_use]
pub fn file_place(
    source: &Source,
    files: Files<'_>,
    key: &str,
    is_file: &dyn Fn(&str) -> bool,
) -> Option<Place> {
    let is_key = |path: &[String]| path.last().is_some_and(|last| last == key);
    first_place(source, files, &|text, path| is_key(path) && is_file(text)).or_else(|| {
        first_place(source, files, &|text, path| {
            is_key(path) && text.contains("${")
        })
    })
}

/// The first text of a study, its scenario or a system that contains a mark, except the question; and the word before the mark.
#[must_use]
pub fn mark_place(source: &Source, files: Files<'_>, mark: &str) -> Option<(Place, String)> {
    let marked = std::cell::RefCell::new(None);
    let place = first_place(source, files, &|text, path| {
        let before = before_mark(text, path, mark);
        marked.replace(before.map(str::to_owned));
        before.is_some()
    })?;
    let word = last_word(&marked.take()?).to_owned();
    Some((place, word))
}

/// The text before a mark, except in the question.
fn before_mark<'t>(text: &'t str, path: &[String], mark: &str) -> Option<&'t str> {
    let is_question = path.first().is_some_and(|key| key == "question");
    let (before, _) = text.split_once(mark).filter(|_| !is_question)?;
    Some(before)
}

/// The last word of the text before a mark: the name of what it stands for.
#[must_use]
pub fn last_word(before: &str) -> &str {
    let is_of_word = |letter: char| letter.is_alphanumeric() || "-_%.".contains(letter);
    let mut words = before.split(|letter| !is_of_word(letter));
    words.rfind(|word| !word.is_empty()).unwrap_or_default()
}

/// The first text that is wanted, by the text and the keys that lead to it.
pub(crate) fn first_place(
    source: &Source,
    files: Files<'_>,
    is_wanted: &dyn Fn(&str, &[String]) -> bool,
) -> Option<Place> {
    let sources = Sources::new(source, files);
    let mut mistakes = Vec::new();
    let mut root = parse(&source.text, &mut mistakes).ok()?;
    include_scenario(&mut root, Some(&sources), &mut mistakes);
    let mut hit: Option<Position> = None;
    visit_texts(&root, &mut Vec::new(), &mut |text, position, path| {
        if hit.is_none() && is_wanted(text, path) {
            hit = Some(position);
        }
    });
    let place = hit?;
    let file = sources
        .into_sources()
        .get(usize::from(place.file))?
        .name
        .clone();
    Some(Place {
        file,
        line: place.line,
        column: place.column,
    })
}
