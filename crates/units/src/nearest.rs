//! The nearest right word to a wrong one.

/// The candidate of which `word` is most likely a misspelling, if one is near enough: up to a third of its letters wrong.
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::nearest_word;

    #[test]
    fn a_third_of_the_letters_may_be_wrong() {
        let check = |word: &str, expected: Option<&str>| {
            let known = ["run", "plan", "aggregate", "from"];
            assert_eq!(nearest_word(word, known), expected, "{word}");
        };
        check("rnu", Some("run"));
        check("agregate", Some("aggregate"));
        check("PLAN", Some("plan"));
        check("frobnicate", None);
        check(&"x".repeat(100), None);
    }
}
