//! Text from outside → text inside markup or inside a script element. The one place that decides what is safe.

/// For text between tags and inside quoted attributes.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A browser drops or replaces it, and log lines may hold it.
            '\0' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// For a sentence: as [`text`], and no line breaks between a number and its unit or within a range.
pub(super) fn sentence(text: &str) -> String {
    const UNITS: [&str; 8] = ["%", "µs", "ms", "s", "min", "KiB", "MiB", "GiB"];
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    for word in text.split(' ') {
        let after_number =
            before.ends_with(|c: char| c.is_ascii_digit() || ['k', 'M', 'G'].contains(&c));
        let unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        let bound = before == "–" || (after_number && (unit || word == "–"));
        if !out.is_empty() {
            out.push(if bound { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        if bound && word == "–" {
            // A line may end after a dash, whatever space follows; not after this joiner.
            out.push('\u{2060}');
        }
        before = word;
    }
    self::text(&out)
}

/// For JSON inside a script element: what could end the element or open a comment is written as an escape, which
/// JSON reads back as the same text. Such characters stand inside strings only.
pub(super) fn json(value: &serde_json::Value) -> String {
    let plain = value.to_string();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(hostile: &str) {
        let inside = json(&json!({ "text": hostile }));
        assert!(!inside.contains('<') && !inside.contains('>'), "{inside}");
        let back: serde_json::Value = serde_json::from_str(&inside).unwrap();
        assert_eq!(back["text"], hostile);
        let shown = text(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'']), "{shown}");
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(
            sentence("99 % within 122 ms (118 – 125 ms), at 12.3k records."),
            "99\u{a0}% within 122\u{a0}ms (118\u{a0}–\u{2060}\u{a0}125\u{a0}ms), at 12.3k records."
        );
    }

    #[test]
    fn hostile_text_stays_text() {
        for hostile in [
            "</script><script>alert(1)</script>",
            "<!-- <script>",
            "\" onmouseover=\"alert(1)",
            "' x='",
            "&lt;b&gt;",
            "]]>",
            "line\u{2028}separator",
        ] {
            check(hostile);
        }
    }
}
