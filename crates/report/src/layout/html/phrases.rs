//! Where a line of a sentence may not end.

/// No line breaks between a number and its unit or within a range.
pub(super) fn unbroken(text: &str) -> String {
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
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(
            unbroken("99 % within 122 ms (118 – 125 ms), at 12.3k records."),
            "99\u{a0}% within 122\u{a0}ms (118\u{a0}–\u{2060}\u{a0}125\u{a0}ms), at 12.3k records."
        );
    }
}
