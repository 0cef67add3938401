//! How sentences are joined.

pub(crate) fn uncapitalise(sentence: &str) -> String {
    let mut rest = sentence.chars();
    let first = rest
        .next()
        .map(|first| first.to_lowercase().collect::<String>())
        .unwrap_or_default();
    format!("{first}{}", rest.as_str())
}
