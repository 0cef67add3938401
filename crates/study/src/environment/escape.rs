//! How a value from outside is written at its place in a request: as it is in a header, percent-encoded in a path and a form, with
//! the escapes of JSON in a string of JSON, and with entities in XML.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters except the unreserved ones of a URL (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The syntax of a text with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Header,
    /// A path with its query, or a form.
    Url,
    Json,
    Xml,
    /// Another body.
    Plain,
}

impl Syntax {
    /// That of a body, by its media type or else by how it begins.
    pub(super) fn from_body(media_type: Option<&str>, body: &str) -> Self {
        let Some(media_type) = media_type else {
            return match body.trim_start().starts_with(['{', '[', '"']) {
                true => Self::Json,
                false => Self::Plain,
            };
        };
        let media_type = media_type.to_ascii_lowercase();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        // What curl's -d calls a form may be JSON.
        let may_be_json = ["application/x-www-form-urlencoded", "text/plain"];
        if media_type.contains("json") || may_be_json.contains(&media_type) && begins_as_json(body)
        {
            Self::Json
        } else if media_type == "application/x-www-form-urlencoded" {
            Self::Url
        } else if media_type.ends_with("xml") {
            Self::Xml
        } else {
            Self::Plain
        }
    }
}

/// Whether a text begins with an object that has a member, or with an array of texts, objects or arrays.
fn begins_as_json(text: &str) -> bool {
    let inside = |open: char| text.trim_start().strip_prefix(open).map(str::trim_start);
    inside('{').is_some_and(|inside| inside.starts_with('"'))
        || inside('[').is_some_and(|inside| inside.starts_with(['"', '{', '[']))
}

/// A text as far as it was read, to know where in it a value is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    syntax: Syntax,
    /// Whether it is within a string of JSON.
    is_in_string: bool,
    /// How that string begins, once it has.
    begins_with: Option<u8>,
    /// Whether it is within a string of JSON in that string.
    is_in_inner_string: bool,
    is_escaped: bool,
}

impl Position {
    pub(super) fn new(syntax: Syntax) -> Self {
        Self {
            syntax,
            is_in_string: false,
            begins_with: None,
            is_in_inner_string: false,
            is_escaped: false,
        }
    }

    /// Continues behind a part of the text.
    pub(super) fn pass(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.is_in_string && byte != b'"' && !byte.is_ascii_whitespace() {
                self.begins_with.get_or_insert(byte);
            }
            match byte {
                _ if self.is_escaped => {
                    // Another string may have one quote, as of inches.
                    let is_json = matches!(self.begins_with, Some(b'{' | b'['));
                    self.is_in_inner_string ^= is_json && byte == b'"';
                    self.is_escaped = false;
                }
                b'\\' => self.is_escaped = self.is_in_string,
                b'"' => {
                    self.is_in_string = !self.is_in_string;
                    self.begins_with = None;
                    self.is_in_inner_string = false;
                }
                _ => {}
            }
        }
    }

    /// The value as it is written here; `None` if it cannot be.
    pub(super) fn escape(&self, value: &str) -> Option<String> {
        match self.syntax {
            Syntax::Header => (!value.chars().any(char::is_control)).then(|| value.to_owned()),
            Syntax::Url => Some(percent_encoded(value)),
            Syntax::Xml => Some(xml_escaped(value)),
            Syntax::Plain => Some(value.to_owned()),
            Syntax::Json if self.is_in_inner_string => Some(json_escaped(&json_escaped(value))),
            Syntax::Json if self.is_in_string => Some(json_escaped(value)),
            // A number, for example; with a text the body would be no JSON.
            Syntax::Json => serde_json::from_str::<serde_json::Value>(value)
                .is_ok()
                .then(|| value.to_owned()),
        }
    }
}

/// A value as a text or an attribute of XML has it.
#[must_use]
pub fn xml_escaped(value: &str) -> String {
    value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}

/// A value as a path or a form has it.
#[must_use]
pub fn percent_encoded(value: &str) -> String {
    utf8_percent_encode(value, RESERVED).to_string()
}

/// What is between the quotes of a string of JSON.
fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Position, Syntax};

    #[test]
    fn a_value_is_written_as_its_place_demands() {
        let value = "a\"b\\c d&e=<ü>\n";
        let check = |syntax: Syntax, before: &str, expected: Option<&str>| {
            let mut position = Position::new(syntax);
            position.pass(before);
            assert_eq!(
                position.escape(value).as_deref(),
                expected,
                "{syntax:?} {before}"
            );
        };
        check(Syntax::Header, "", None);
        check(
            Syntax::Url,
            "/a?b=",
            Some("a%22b%5Cc%20d%26e%3D%3C%C3%BC%3E%0A"),
        );
        check(Syntax::Plain, "", Some(value));
        check(Syntax::Xml, "<a>", Some("a&quot;b\\c d&amp;e=&lt;ü&gt;\n"));
        let escaped = r#"a\"b\\c d&e=<ü>\n"#;
        check(Syntax::Json, r#"{"a": ""#, Some(escaped));
        check(Syntax::Json, r#"{"a\"": "\"x\" "#, Some(escaped));
        check(Syntax::Json, r#"{"a": "#, None);
        let twice = r#"a\\\"b\\\\c d&e=<ü>\\n"#;
        check(Syntax::Json, r#"{"a": "{\"b\": \""#, Some(twice));
        assert_eq!(
            Position::new(Syntax::Json).escape("17").as_deref(),
            Some("17")
        );
    }

    #[test]
    fn bodies_have_the_syntax_of_their_type() {
        let check = |media_type: Option<&str>, body: &str, expected: Syntax| {
            assert_eq!(
                Syntax::from_body(media_type, body),
                expected,
                "{media_type:?}"
            );
        };
        check(Some("application/json; charset=utf-8"), "", Syntax::Json);
        check(Some("application/merge-patch+json"), "", Syntax::Json);
        let form = Some("application/x-www-form-urlencoded");
        check(form, "{", Syntax::Url);
        check(form, "a={\"b\":1}", Syntax::Url);
        check(form, " { \"a\": 1 }", Syntax::Json);
        check(Some("text/plain"), "[{}]", Syntax::Json);
        check(Some("text/xml"), "", Syntax::Xml);
        check(Some("application/soap+xml;a=b"), "", Syntax::Xml);
        check(Some("text/plain"), "{", Syntax::Plain);
        check(None, " [1]", Syntax::Json);
        check(None, "a=b", Syntax::Plain);
    }
}
