//! Words that alone do not name a function: prepositions, pronouns, number words, adverbs and participles.

/// Words in -ed that are nouns or verbs, or that std itself uses (`Instant::elapsed`).
const NOT_PARTICIPLES: &[&str] = &["elapsed", "embed", "feed", "need", "seed", "shed", "speed"];

/// Words in -ing that are participles; `heading` and `listing` are nouns.
const PRESENT_PARTICIPLES: &[&str] = &[
    "capturing",
    "closing",
    "failing",
    "falling",
    "fetching",
    "following",
    "holding",
    "leaning",
    "living",
    "missing",
    "ordering",
    "rising",
    "running",
    "shopping",
    "stalling",
    "standing",
    "waiting",
    "wavering",
    "writing",
];

const PAST_PARTICIPLES: &[&str] = &[
    "been",
    "begun",
    "brought",
    "built",
    "caught",
    "chosen",
    "come",
    "done",
    "drawn",
    "driven",
    "dropped",
    "fallen",
    "forgotten",
    "found",
    "given",
    "gone",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "ran",
    "said",
    "seen",
    "sent",
    "shaken",
    "shown",
    "sought",
    "spoken",
    "spent",
    "stood",
    "taken",
    "thought",
    "told",
    "torn",
    "went",
    "won",
    "worn",
    "written",
];

const SMALL_WORDS: &[&str] = &[
    "about", "above", "across", "after", "again", "ahead", "all", "alone", "along", "already",
    "also", "among", "and", "anew", "any", "around", "as", "aside", "at", "away", "back", "before",
    "behind", "below", "beside", "besides", "between", "beyond", "both", "but", "by", "came",
    "down", "during", "each", "earlier", "either", "else", "enough", "even", "ever", "every",
    "few", "first", "for", "four", "from", "furthest", "had", "has", "have", "her", "here", "him",
    "his", "how", "in", "inside", "instead", "into", "is", "it", "its", "last", "late", "later",
    "latest", "least", "less", "many", "maybe", "mine", "more", "most", "much", "near", "nearest",
    "neither", "never", "none", "not", "nothing", "of", "off", "on", "once", "one", "only", "onto",
    "or", "other", "ours", "out", "outside", "over", "own", "per", "perhaps", "same", "second",
    "several", "since", "so", "some", "soon", "still", "than", "that", "their", "them", "then",
    "there", "these", "they", "third", "this", "those", "three", "through", "to", "together",
    "too", "toward", "twice", "two", "under", "until", "up", "upon", "us", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whole", "whom", "whose", "why", "with",
    "within", "without", "yet", "you", "zero",
];

/// Whether a function must not have this name.
pub(super) fn is_no_name(name: &str) -> bool {
    let is_past = name.ends_with("ed") && !name.contains('_') && !NOT_PARTICIPLES.contains(&name);
    is_past
        || [PRESENT_PARTICIPLES, PAST_PARTICIPLES, SMALL_WORDS]
            .iter()
            .any(|words| words.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_by_a_verb_or_by_what_it_gives() {
        for name in [
            "of", "told", "one", "whole", "within", "counted", "waiting", "shown",
        ] {
            assert!(is_no_name(name), "{name}");
        }
        for name in [
            "seed",
            "speed",
            "heading",
            "now",
            "elapsed",
            "read",
            "of_all",
            "is_seeded",
            "cut",
        ] {
            assert!(!is_no_name(name), "{name}");
        }
    }
}
