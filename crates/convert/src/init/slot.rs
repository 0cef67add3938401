//! Slots in the texts of a call: where the study has a variable of the session, `{{name}}`, or of the environment, `${env.NAME}`.
//!
//! Two noncharacters of Unicode enclose the name. So a slot is no JSON, form or URL syntax, and whatever else a text contains is
//! written as it is.

use waggle_template::variable::escape;

const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';
/// Before the name of a variable of the environment.
const ENVIRONMENT: &str = "env.";
/// Before the name of a variable that is written without the quotes around it: a number in JSON.
const NUMBER: &str = "#";
/// Before digits that are written as they are.
const EXACT: &str = "=";

/// Quotes of a string in a string of JSON, in a form, and in JSON itself.
const QUOTES: [&str; 3] = ["\\\"", "%22", "\""];

/// A variable of the session.
pub(super) fn session(variable: &str) -> String {
    format!("{OPEN}{variable}{CLOSE}")
}

/// A variable of the session in place of a number of JSON. As a string it leaves the text JSON until it is written.
pub(super) fn json_number(variable: &str) -> String {
    format!("\"{OPEN}{NUMBER}{variable}{CLOSE}\"")
}

/// A number that no type of a program holds, as a string of JSON that is written without its quotes.
pub(super) fn exact_number(digits: &str) -> String {
    format!("{OPEN}{NUMBER}{EXACT}{digits}{CLOSE}")
}

/// The digits of such a number.
pub(super) fn exact_digits(text: &str) -> Option<&str> {
    let name = text.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    name.strip_prefix(NUMBER)?.strip_prefix(EXACT)
}

/// A slot as a string that is written without the quotes around it; another text as it is.
pub(super) fn in_place_of_number(slot: &str) -> String {
    slot.replace(OPEN, &format!("{OPEN}{NUMBER}"))
}

/// A variable of the environment.
pub(super) fn environment(name: &str) -> String {
    format!("{OPEN}{ENVIRONMENT}{name}{CLOSE}")
}

/// A text of a source, in which nothing is a slot.
pub(super) fn without_noncharacters(text: &str) -> String {
    text.replace([OPEN, CLOSE], "\u{fffd}")
}

/// Whether a text is one slot or several, and nothing else.
pub(super) fn is_slots(text: &str) -> bool {
    let is_variable = |part: &Part<'_>| match part {
        Part::Literal(_) => false,
        Part::Slot(name) => !name.trim_start_matches(NUMBER).starts_with(EXACT),
    };
    let parts = parts(text);
    !parts.is_empty() && parts.iter().all(is_variable)
}

/// The text between its slots.
pub(super) fn literals(text: &str) -> String {
    let parts = parts(text).into_iter();
    let literals = parts.map(|part| match part {
        Part::Literal(literal) => literal,
        Part::Slot(_) => "",
    });
    literals.collect()
}

/// Changes the text between slots.
pub(super) fn map_literals(text: &str, change: impl Fn(&str) -> String) -> String {
    let parts = parts(text).into_iter();
    let changed = parts.map(|part| match part {
        Part::Literal(literal) => change(literal),
        Part::Slot(name) => session(name),
    });
    changed.collect()
}

/// Whether a text has the slot of a variable of the session.
pub(super) fn has_session(text: &str, variable: &str) -> bool {
    let mut parts = parts(text).into_iter();
    parts.any(|part| match part {
        Part::Slot(name) => name.strip_prefix(NUMBER).unwrap_or(name) == variable,
        Part::Literal(_) => false,
    })
}

/// The text with the names of its session's variables, for the name of a call; those of the environment are left out.
pub(super) fn text_of_name(text: &str) -> String {
    let parts = parts(text).into_iter();
    let texts = parts.map(|part| match part {
        Part::Literal(literal) => literal,
        Part::Slot(name) if name.starts_with(ENVIRONMENT) => "",
        Part::Slot(name) => name.trim_start_matches(NUMBER),
    });
    texts.collect()
}

/// The variables of the environment that a text has.
pub(super) fn environment_names(text: &str) -> Vec<&str> {
    let parts = parts(text).into_iter();
    let names = parts.filter_map(|part| match part {
        Part::Slot(name) => name
            .strip_prefix(NUMBER)
            .unwrap_or(name)
            .strip_prefix(ENVIRONMENT),
        Part::Literal(_) => None,
    });
    names.collect()
}

/// The text as a study has it.
pub(super) fn study_text(text: &str) -> String {
    write_slots(text, |literal| escape(&literal.replace("${", "$${")))
}

/// The text with the digits of its exact numbers; it has no other slots.
pub(super) fn with_exact_digits(text: &str) -> String {
    write_slots(text, str::to_owned)
}

fn write_slots(text: &str, write: impl Fn(&str) -> String) -> String {
    let number = format!("{OPEN}{NUMBER}");
    let mut text = text.to_owned();
    for quote in QUOTES {
        text = text.replace(&format!("{quote}{number}"), &number);
    }
    let mut whole = String::new();
    let mut is_number = false;
    for part in parts(&text) {
        match part {
            Part::Literal(literal) => {
                let mut quotes = QUOTES.iter();
                let behind_quote = quotes.find_map(|quote| literal.strip_prefix(quote));
                let literal = behind_quote.filter(|_| is_number).unwrap_or(literal);
                whole.push_str(&write(literal));
                is_number = false;
            }
            Part::Slot(name) => {
                is_number = name.starts_with(NUMBER);
                let name = name.strip_prefix(NUMBER).unwrap_or(name);
                match (name.strip_prefix(EXACT), name.strip_prefix(ENVIRONMENT)) {
                    (Some(digits), _) => whole.push_str(digits),
                    (None, Some(variable)) => whole.push_str(&format!("${{env.{variable}}}")),
                    (None, None) => whole.push_str(&format!("{{{{{name}}}}}")),
                }
            }
        }
    }
    whole
}

/// The length of the string at the beginning of a text of JSON, quotes included.
pub(super) fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

enum Part<'a> {
    Literal(&'a str),
    /// What is between the noncharacters.
    Slot(&'a str),
}

/// None of the literals is empty.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((literal, behind)) = rest.split_once(OPEN)
        && let Some((name, after)) = behind.split_once(CLOSE)
    {
        parts.push(Part::Literal(literal));
        parts.push(Part::Slot(name));
        rest = after;
    }
    parts.push(Part::Literal(rest));
    parts.retain(|part| !matches!(part, Part::Literal("")));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_become_variables_and_all_else_stays() {
        let check = |text: &str, expected: &str| assert_eq!(study_text(text), expected);
        check("plain ${x} {{y}}", "plain $${x} {{{{y}}");
        check(&format!("Bearer {}", session("token")), "Bearer {{token}}");
        check(&environment("PASSWORD"), "${env.PASSWORD}");
        check(
            &format!(r##"{{"a":"#1","id":{},"b":"c"}}"##, json_number("id")),
            r##"{"a":"#1","id":{{id}},"b":"c"}"##,
        );
        check(&format!("{{{{{}}}}}", session("a")), "{{{{{{a}}}}");
        let big = exact_number("18446744073709551616");
        check(&format!("[\"{big}\"]"), "[18446744073709551616]");
        check(
            &format!("a=%5B%22{big}%22%5D&b={big}"),
            "a=%5B18446744073709551616%5D&b=18446744073709551616",
        );
        assert_eq!(exact_digits(&big), Some("18446744073709551616"));
        assert!(!is_slots(&big));
        check(&without_noncharacters(&session("a")), "\u{fffd}a\u{fffd}");
    }

    #[test]
    fn slots_are_told_from_text() {
        assert!(is_slots(&format!("{}{}", session("a"), environment("B"))));
        assert!(!is_slots(&format!("x{}", session("a"))) && !is_slots(""));
        assert!(has_session(&json_number("id"), "id"));
        assert!(!has_session(&session("idle"), "id"));
    }
}
