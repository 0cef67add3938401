//! `{{name}}` in the texts of a scenario: finding the variables. What they stand for is the load's business.

/// A variable in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable<'a> {
    pub name: &'a str,
    /// From its first brace to behind its last, in bytes.
    pub span: std::ops::Range<usize>,
}

/// What is wrong in a text, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slip<'a> {
    pub at: usize,
    pub what: SlipKind<'a>,
}

/// How a variable can be written wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlipKind<'a> {
    NotClosed,
    /// What stands between the braces.
    NoName(&'a str),
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// The variables of a text, in order; `{{{{` stands for two braces.
pub(crate) fn variables(text: &str) -> Result<Vec<Variable<'_>>, Slip<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find(OPEN).map(|open| at + open) {
        let inside = open + OPEN.len();
        if text[inside..].starts_with(OPEN) {
            at = inside + OPEN.len();
            continue;
        }
        let Some(length) = text[inside..].find(CLOSE) else {
            return Err(Slip {
                at: open,
                what: SlipKind::NotClosed,
            });
        };
        let name = text[inside..inside + length].trim();
        if !is_variable(name) {
            return Err(Slip {
                at: open,
                what: SlipKind::NoName(name),
            });
        }
        at = inside + length + CLOSE.len();
        found.push(Variable {
            name,
            span: open..at,
        });
    }
    Ok(found)
}

/// Whether a variable stands in a text.
pub(crate) fn names(text: &str, variable: &str) -> bool {
    variables(text).is_ok_and(|found| found.iter().any(|one| one.name == variable))
}

fn is_variable(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.bytes().all(of_name)
}

/// The text with a letter in place of each variable: what of it stands in the file.
pub(crate) fn without_variables(text: &str, variables: &[Variable<'_>]) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for variable in variables {
        rest.push_str(&text[at..variable.span.start]);
        rest.push('x');
        at = variable.span.end;
    }
    rest.push_str(&text[at..]);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_or_their_slip() {
        let check = |text: &str, expected: Result<&[&str], usize>| {
            let found = variables(text);
            let names = found.as_ref().map_err(|slip| slip.at).map(|variables| {
                variables
                    .iter()
                    .map(|variable| variable.name)
                    .collect::<Vec<_>>()
            });
            assert_eq!(names, expected.map(<[&str]>::to_vec), "{text:?}");
        };
        check("", Ok(&[]));
        check("/orders/{{id}}", Ok(&["id"]));
        check("{{ a }}{{b.c-d}}/", Ok(&["a", "b.c-d"]));
        check(r#"{"of":{"id":"{{id}}"}}"#, Ok(&["id"]));
        check("a {{{{b}} {{c}}", Ok(&["c"]));
        check("/orders/{{id", Err(8));
        check("ab{{a b}}", Err(2));
        check("{{}}", Err(0));
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
        let check = |text: &str, expected: &str| {
            let variables = variables(text).expect("the text is right");
            assert_eq!(without_variables(text, &variables), expected);
        };
        check("/a/{{ id }}?b={{c}}", "/a/x?b=x");
        check("{{a}}", "x");
    }
}
