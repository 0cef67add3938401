//! Words in messages: lists, and the nearest right word to a wrong one.

pub(crate) use waggle_units::nearest_word;

/// `a, b, c` for a message.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
