//! The nearest right word to a wrong one.

/// The candidate of which `word` is most likely a misspelling, if one is near enough: up to a third of its letters wrong.
pub fn nearest_word<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    /// Longer words are not compared: the cost grows with the square.
    const MAX_COMPARED: usize = 64;
    if word.len() > MAX_COMPARED {
        return None;
    }
    let wrong = word.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_COMPARED)
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&wrong, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `a, b, c` for a message.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
