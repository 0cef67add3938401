//! Inlined into the page: style, scripts, and the data of the charts. Only this text is not escaped.

use std::io;

use maud::{Markup, PreEscaped};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// The style of every page.
pub const STYLE: &str = include_str!("../../../assets/page/style.css");
/// The charts' library first; start.js last.
pub(super) const SCRIPTS: [&str; 17] = [
    include_str!("../../../assets/vendor/echarts/echarts.min.js"),
    include_str!("../../../assets/page/numbers.js"),
    include_str!("../../../assets/page/page.js"),
    include_str!("../../../assets/page/charts.js"),
    include_str!("../../../assets/page/factors.js"),
    include_str!("../../../assets/page/multiples.js"),
    include_str!("../../../assets/page/curves.js"),
    include_str!("../../../assets/page/comparisons.js"),
    include_str!("../../../assets/page/effects.js"),
    include_str!("../../../assets/page/spectrum.js"),
    include_str!("../../../assets/page/steps.js"),
    include_str!("../../../assets/page/time.js"),
    include_str!("../../../assets/page/search.js"),
    include_str!("../../../assets/page/operating.js"),
    include_str!("../../../assets/page/reference.js"),
    include_str!("../../../assets/page/tables.js"),
    include_str!("../../../assets/page/start.js"),
];

/// What could end the script element or open a comment is written as an escape, which JSON reads back as the same text. Such characters
/// stand inside strings only.
pub(super) fn json(value: &impl Serialize) -> Markup {
    let mut out = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut out, InScript))
        .expect("the charts' keys are names, so that all of it can be written");
    PreEscaped(String::from_utf8(out).expect("JSON is text"))
}

/// JSON within a script element.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(place) = rest.find(is_unsafe) {
            let (before, from) = rest.split_at(place);
            writer.write_all(before.as_bytes())?;
            let mut letters = from.chars();
            let letter = letters.next().map_or(0, u32::from);
            write!(writer, "\\u{letter:04x}")?;
            rest = letters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

fn is_unsafe(letter: char) -> bool {
    matches!(letter, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One name twice at the top level, and the browser refuses the whole second script.
    #[test]
    fn no_two_scripts_declare_the_same_name() {
        let mut names: Vec<&str> = SCRIPTS[1..]
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| {
                let rest = ["const ", "let ", "function ", "class "]
                    .iter()
                    .find_map(|word| line.strip_prefix(word))?;
                rest.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next()
            })
            .collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }

    #[test]
    fn no_inlined_file_ends_its_own_element() {
        for text in SCRIPTS.into_iter().chain([STYLE]) {
            let lower = text.to_ascii_lowercase();
            assert!(
                !lower.contains("</script")
                    && !lower.contains("</style")
                    && !lower.contains("<!--")
            );
        }
    }

    #[test]
    fn hostile_text_in_json_stays_text() {
        let check = |hostile: &str| {
            let inside = json(&serde_json::json!({ "text": hostile })).into_string();
            assert!(!inside.contains(['<', '>', '&', '\u{2028}']), "{inside}");
            let back: serde_json::Value = serde_json::from_str(&inside).unwrap();
            assert_eq!(back["text"], hostile);
        };
        check("</script><script>alert(1)</script>");
        check("<!-- <script>");
        check("\" onmouseover=\"alert(1)");
        check("&lt;b&gt;");
        check("]]>");
        check("line\u{2028}separator");
    }
}
