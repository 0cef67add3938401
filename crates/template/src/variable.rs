//! The scanner of `{{name}}` in a text.

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str),
    /// The name between `{{` and `}}`.
    Variable(&'a str),
}

/// An error in a text, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slip<'a> {
    /// Offset of the first wrong byte, from 0.
    pub at: usize,
    pub kind: SlipKind<'a>,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlipKind<'a> {
    NotClosed,
    /// What is between the braces.
    NoName(&'a str),
}

const BRACE: &str = "{";
const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// Splits a text into its parts, none of them empty; `{{{{` is an escape for two braces. Of three braces the first is text.
///
/// # Errors
/// If braces are not closed, or a name has other characters than letters, digits, `_`, `-` and `.`.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, Slip<'_>> {
    let mut parts = Vec::new();
    let mut position = 0;
    while let Some(open) = text[position..].find(OPEN).map(|open| position + open) {
        parts.push(Part::Text(&text[position..open]));
        let inside = open + OPEN.len();
        if text[inside..].starts_with(OPEN) {
            parts.push(Part::Text(OPEN));
            position = inside + OPEN.len();
            continue;
        }
        if text[inside..].starts_with(BRACE) {
            parts.push(Part::Text(BRACE));
            position = open + BRACE.len();
            continue;
        }
        let Some(length) = text[inside..].find(CLOSE) else {
            return Err(Slip {
                at: open,
                kind: SlipKind::NotClosed,
            });
        };
        let name = text[inside..inside + length].trim();
        if !is_name(name) {
            return Err(Slip {
                at: inside,
                kind: SlipKind::NoName(name),
            });
        }
        parts.push(Part::Variable(name));
        position = inside + length + CLOSE.len();
    }
    parts.push(Part::Text(&text[position..]));
    parts.retain(|part| *part != Part::Text(""));
    Ok(parts)
}

/// The names of a text's variables, in order and as often as they are in it.
///
/// # Errors
/// As [`parts`].
pub fn variables(text: &str) -> Result<Vec<&str>, Slip<'_>> {
    let names = parts(text)?.into_iter().filter_map(|part| match part {
        Part::Variable(name) => Some(name),
        Part::Text(_) => None,
    });
    Ok(names.collect())
}

/// The text with a letter instead of each variable; `None` if the text has an error.
#[must_use]
pub fn without_variables(text: &str) -> Option<String> {
    let parts = parts(text).ok()?.into_iter();
    let fixed = parts.map(|part| match part {
        Part::Text(text) => text,
        Part::Variable(_) => "x",
    });
    Some(fixed.collect())
}

/// Whether a variable is in a text.
#[must_use]
pub fn names(text: &str, variable: &str) -> bool {
    variables(text).is_ok_and(|occurrences| occurrences.contains(&variable))
}

/// Whether a variable may be called so.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.bytes().all(of_name)
}

/// The text so that nothing in it is taken for a variable.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace(OPEN, "{{{{")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts as text, variables in angle brackets; or the place of the slip.
    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], usize>) {
        let result = parts(text).map_err(|slip| slip.at);
        let result = result.map(|parts| {
            let shown = parts.iter().map(|part| match part {
                Part::Text(text) => (*text).to_owned(),
                Part::Variable(name) => format!("<{name}>"),
            });
            shown.collect::<Vec<String>>()
        });
        let expected = expected.map(|parts| parts.iter().map(ToString::to_string).collect());
        assert_eq!(result, expected, "{text:?}");
    }

    #[test]
    fn a_text_is_cut_at_its_variables() {
        check("", Ok(&[]));
        check("/orders", Ok(&["/orders"]));
        check("/orders/{{id}}", Ok(&["/orders/", "<id>"]));
        check("{{ a }}{{b.c-d}}/", Ok(&["<a>", "<b.c-d>", "/"]));
        check(
            r#"{"of":{"id":"{{users.id-2}}"}}"#,
            Ok(&[r#"{"of":{"id":""#, "<users.id-2>", r#""}}"#]),
        );
        check("a {{{{b}} {{c}}", Ok(&["a ", "{{", "b}} ", "<c>"]));
        check("{{{a}}}", Ok(&["{", "<a>", "}"]));
        check("{{{{{{{a}}", Ok(&["{{", "{", "<a>"]));
        check("ü{{x}}ü", Ok(&["ü", "<x>", "ü"]));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        check("/orders/{{id", Err(8));
        check("{{}}", Err(2));
        check("ab{{a b}}", Err(4));
        check("{{é}}", Err(2));
    }

    #[test]
    fn a_variable_is_named_or_not() {
        assert!(names("a {{ record.key }}", "record.key"));
        for text in [
            "{{record.keys}}",
            "{{{{record.key}}",
            "record.key",
            "{{record.key",
        ] {
            assert!(!names(text, "record.key"), "{text}");
        }
    }

    #[test]
    fn what_is_left_without_them() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(without_variables(text).as_deref(), expected);
        };
        check("/a/{{ id }}?b={{c}}", Some("/a/x?b=x"));
        check("{{a}}", Some("x"));
        check("{{a", None);
    }

    #[test]
    fn an_escaped_text_has_no_variable() {
        for text in ["{{a}}", "{{{{", "{{", "{", "a{{{b}}}"] {
            let escaped = escape(text);
            let parts = parts(&escaped).map(|parts| {
                let text = parts.iter().map(|part| match part {
                    Part::Text(text) => *text,
                    Part::Variable(_) => "a variable",
                });
                text.collect::<String>()
            });
            assert_eq!(parts.as_deref(), Ok(text));
        }
    }
}
