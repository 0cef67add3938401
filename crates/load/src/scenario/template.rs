//! Text with variables, written `{{name}}`, which is split into parts once.

use serde::{Deserialize, Serialize};
use waggle_template::variable::{self, Slip, SlipKind};

use super::escape::{Escape, put};
use crate::requests::prepared::{Slot, Stamp};

/// Text in which variables are replaced on each use.
///
/// A name is made of letters, digits, `_`, `-` and `.`; `{{{{` is an escape for two braces. Names with a dot are a feed's column
/// (`{{users.name}}`) or built in (`{{random.uuid}}`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    parts: Vec<Part>,
}

/// One piece of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Part {
    Text(String),
    /// The name of a variable.
    Variable(String),
}

/// An error in the text of a template, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct TemplateError {
    /// Offset of the first wrong byte, from 0.
    pub at: usize,
    pub what: &'static str,
}

impl From<Slip<'_>> for TemplateError {
    fn from(slip: Slip<'_>) -> Self {
        Self {
            at: slip.at,
            what: match slip.kind {
                SlipKind::NotClosed => "'{{' without a '}}' after it",
                SlipKind::NoName(_) => {
                    "'{{' and '}}' do not enclose a name of letters, digits, '_', '-' and '.'"
                }
            },
        }
    }
}

/// The name of a variable that has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("variable '{0}' has no value")]
pub struct UnknownVariable(pub String);

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    /// Rewritten each time the request is sent.
    Stamp(Stamp),
}

/// Bytes of a request, and the slots in them that are rewritten each time it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filled {
    pub bytes: Vec<u8>,
    pub slots: Vec<Slot>,
}

impl Template {
    /// Splits a text into its parts.
    ///
    /// # Errors
    /// If braces are not closed, or a name is invalid.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = variable::parts(text)?;
        let mut template = Self::default();
        for part in parts {
            match part {
                variable::Part::Text(text) => template.push_text(text),
                variable::Part::Variable(name) => {
                    template.parts.push(Part::Variable(name.to_owned()));
                }
            }
        }
        Ok(template)
    }

    /// A text without variables, taken as it is.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        let mut template = Self::default();
        template.push_text(&text.into());
        template
    }

    /// The names of its variables, in order, with repetitions.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text with its variables replaced and escaped as in a session.
    ///
    /// # Errors
    /// If a variable has no value.
    pub fn fill_with(
        &self,
        escape: Escape,
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<String, UnknownVariable> {
        let mut filled = Filled::default();
        self.fill(escape, |name| value(name).map(Value::Text), &mut filled)?;
        Ok(String::from_utf8_lossy(&filled.bytes).into_owned())
    }

    /// Appends the text with its variables replaced and escaped as in a session.
    ///
    /// # Errors
    /// If a variable has no value.
    pub fn fill(
        &self,
        escape: Escape,
        value: impl Fn(&str) -> Option<Value>,
        into: &mut Filled,
    ) -> Result<(), UnknownVariable> {
        for part in &self.parts {
            let name = match part {
                Part::Text(text) => {
                    into.bytes.extend_from_slice(text.as_bytes());
                    continue;
                }
                Part::Variable(name) => name,
            };
            match value(name).ok_or_else(|| UnknownVariable(name.clone()))? {
                Value::Text(text) => put(text.as_bytes(), escape, &mut into.bytes),
                Value::Stamp(stamp) => into.push(stamp),
            }
        }
        Ok(())
    }

    /// Whether it is empty.
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

impl Filled {
    /// Appends a slot, filled with a placeholder of the same length.
    pub fn push(&mut self, stamp: Stamp) {
        let offset = self.bytes.len();
        self.slots.push(Slot { at: offset, stamp });
        self.bytes.resize(offset + stamp.length(), b'0');
    }

    /// Appends text as it is.
    pub fn text(&mut self, parts: &[&str]) {
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
    }

    /// Appends other bytes, with their slots.
    pub fn append(&mut self, other: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        let moved = |slot: &Slot| Slot {
            at: start + slot.at,
            ..*slot
        };
        self.slots.extend(other.slots.iter().map(moved));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_around_braces_is_one_part() {
        let template = Template::parse("a {{{{b}} {{c}}").unwrap();
        let parts = [
            Part::Text("a {{b}} ".to_owned()),
            Part::Variable("c".to_owned()),
        ];
        assert_eq!(template.parts(), parts);
    }

    #[test]
    fn stamps_reserve_their_length() {
        let value = |name: &str| match name {
            "key" => Some(Value::Stamp(Stamp::Key { record: 0 })),
            "uuid" => Some(Value::Stamp(Stamp::Uuid)),
            _ => None,
        };
        let template = Template::parse("/{{key}}/{{uuid}}?").unwrap();
        let mut filled = Filled::default();
        template.fill(Escape::Path, value, &mut filled).unwrap();
        let text = String::from_utf8(filled.bytes.clone()).unwrap();
        assert_eq!(text, format!("/{}/{}?", "0".repeat(18), "0".repeat(36)));
        let mut whole = Filled {
            bytes: b"GET ".to_vec(),
            slots: Vec::new(),
        };
        whole.append(&filled);
        let offsets: Vec<usize> = whole.slots.iter().map(|slot| slot.at).collect();
        assert_eq!(offsets, [5, 24]);
    }

    #[test]
    fn variables_are_replaced_by_their_values() {
        let value = |name: &str| match name {
            "id" => Some("a b/ü".to_owned()),
            "token" => Some("{{id}}\r\n".to_owned()),
            _ => None,
        };
        let check = |text: &str, escape: Escape, expected: Result<&str, &str>| {
            let expected = expected
                .map(str::to_owned)
                .map_err(|name| UnknownVariable(name.to_owned()));
            let template = Template::parse(text).unwrap();
            assert_eq!(template.fill_with(escape, value), expected, "{text:?}");
        };
        check(
            "/orders/{{id}}?x={{ id }}",
            Escape::Path,
            Ok("/orders/a%20b/%C3%BC?x=a%20b/%C3%BC"),
        );
        // Braces within a value have no meaning.
        check("Bearer {{token}}", Escape::Header, Ok("Bearer {{id}}  "));
        check("a {{{{b}} {{id}}", Escape::None, Ok("a {{b}} a b/ü"));
        check("{{none}}", Escape::None, Err("none"));
        check("", Escape::Path, Ok(""));
    }
}
