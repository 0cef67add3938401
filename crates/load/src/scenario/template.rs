//! Text with variables in it, written `{{name}}`, cut into its parts once.

use super::text::{Place, put};

/// Text in which variables are replaced each time it is used.
///
/// A name is made of letters, digits, `_`, `-` and `.`; `{{{{` stands for two braces. Names with a dot are a feed's
/// column (`{{users.name}}`) or one of the engine's own (`{{random.uuid}}`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// One piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// The name of a variable.
    Variable(String),
}

/// What is wrong in the text of a template, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct TemplateError {
    /// Of the first byte that is wrong, counted from 0.
    pub at: usize,
    pub what: &'static str,
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

impl Template {
    /// Cuts a text into its parts.
    ///
    /// # Errors
    /// Braces that are not closed, or a name that is none.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut template = Self::default();
        let mut at = 0;
        while let Some(found) = text[at..].find(OPEN) {
            let open = at + found;
            template.push_text(&text[at..open]);
            let inside = open + OPEN.len();
            if text[inside..].starts_with(OPEN) {
                template.push_text(OPEN);
                at = inside + OPEN.len();
                continue;
            }
            let Some(length) = text[inside..].find(CLOSE) else {
                return Err(TemplateError {
                    at: open,
                    what: "'{{' without a '}}' behind it",
                });
            };
            let name = text[inside..inside + length].trim();
            if !is_name(name) {
                return Err(TemplateError {
                    at: inside,
                    what: "between '{{' and '}}' stands no name of letters, digits, '_', '-' and '.'",
                });
            }
            template.parts.push(Part::Variable(name.to_owned()));
            at = inside + length + CLOSE.len();
        }
        template.push_text(&text[at..]);
        Ok(template)
    }

    /// A text that is taken as it is, whatever stands in it.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        let mut template = Self::default();
        template.push_text(&text.into());
        template
    }

    /// The names of its variables, in order and as often as they stand in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text with values in place of its variables, written as a session writes them.
    ///
    /// # Errors
    /// The name of a variable that has no value.
    pub fn filled(
        &self,
        place: Place,
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<String, String> {
        let mut filled = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.extend_from_slice(text.as_bytes()),
                Part::Variable(name) => {
                    let value = value(name).ok_or_else(|| name.clone())?;
                    put(value.as_bytes(), place, &mut filled);
                }
            }
        }
        Ok(String::from_utf8_lossy(&filled).into_owned())
    }

    /// Whether nothing stands in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(before)) => before.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }
}

/// Whether a variable may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts as text, variables in angle brackets; or the place of the error.
    fn check(text: &str, expected: Result<&[&str], usize>) {
        let found = Template::parse(text).map_err(|error| error.at);
        let found = found.map(|template| {
            let shown = template.parts().iter().map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Variable(name) => format!("<{name}>"),
            });
            shown.collect::<Vec<String>>()
        });
        let expected = expected.map(|parts| parts.iter().map(ToString::to_string).collect());
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_text_is_cut_at_its_variables() {
        check("", Ok(&[]));
        check("/orders", Ok(&["/orders"]));
        check("/orders/{{id}}", Ok(&["/orders/", "<id>"]));
        check("{{ a }}{{b}}/", Ok(&["<a>", "<b>", "/"]));
        check(
            r#"{"of":{"id":"{{users.id-2}}"}}"#,
            Ok(&[r#"{"of":{"id":""#, "<users.id-2>", r#""}}"#]),
        );
        check("a {{{{b}} c", Ok(&["a {{b}} c"]));
        check("ü{{x}}ü", Ok(&["ü", "<x>", "ü"]));
    }

    #[test]
    fn values_are_put_in_their_places() {
        let value = |name: &str| match name {
            "id" => Some("a b/ü".to_owned()),
            "token" => Some("{{id}}\r\n".to_owned()),
            _ => None,
        };
        let check = |text: &str, place: Place, expected: Result<&str, &str>| {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            let template = Template::parse(text).unwrap();
            assert_eq!(template.filled(place, value), expected, "{text:?}");
        };
        check(
            "/orders/{{id}}?x={{ id }}",
            Place::Path,
            Ok("/orders/a%20b/%C3%BC?x=a%20b/%C3%BC"),
        );
        // A value is a value, whatever stands in it.
        check("Bearer {{token}}", Place::Header, Ok("Bearer {{id}}  "));
        check("a {{{{b}} {{id}}", Place::Free, Ok("a {{b}} a b/ü"));
        check("{{none}}", Place::Free, Err("none"));
        check("", Place::Path, Ok(""));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        check("/orders/{{id", Err(8));
        check("{{}}", Err(2));
        check("ab{{a b}}", Err(4));
        check("{{é}}", Err(2));
    }
}
