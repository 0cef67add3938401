//! The scanner of `${name}` in a text.

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    Literal(&'a str),
    /// The name between `${` and `}`.
    Name(&'a str),
}

/// Splits a text into its parts; `$${` is an escape for `${`. `None` if a `${` has no `}`.
#[must_use]
pub fn parts(text: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        if rest[..start].ends_with('$') {
            parts.push(Part::Literal(&rest[..start - 1]));
            parts.push(Part::Literal("${"));
            rest = &rest[start + 2..];
            continue;
        }
        parts.push(Part::Literal(&rest[..start]));
        let end = rest[start..].find('}')? + start;
        parts.push(Part::Name(&rest[start + 2..end]));
        rest = &rest[end + 1..];
    }
    parts.push(Part::Literal(rest));
    parts.retain(|part| *part != Part::Literal(""));
    Some(parts)
}

/// The name of a text that is one `${name}` and nothing else.
#[must_use]
pub fn single_name(text: &str) -> Option<&str> {
    match parts(text)?[..] {
        [Part::Name(name)] => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_parts() {
        let check = |text: &str, expected: Option<&[Part<'_>]>| {
            assert_eq!(parts(text).as_deref(), expected, "{text}")
        };
        check("plain", Some(&[Part::Literal("plain")]));
        check("", Some(&[]));
        check("${a}", Some(&[Part::Name("a")]));
        check(
            "x${a}y",
            Some(&[Part::Literal("x"), Part::Name("a"), Part::Literal("y")]),
        );
        check("${a}${b}", Some(&[Part::Name("a"), Part::Name("b")]));
        check("$${a}", Some(&[Part::Literal("${"), Part::Literal("a}")]));
        check("$ {a}", Some(&[Part::Literal("$ {a}")]));
        check("${a", None);
    }
}
