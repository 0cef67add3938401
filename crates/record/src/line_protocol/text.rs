//! Decodes text with escapes.

use std::borrow::Cow;

/// The value of a measurement: `\,` is a comma, `\ ` a space, any other backslash itself.
#[must_use]
pub fn measurement_text(raw: &str) -> Cow<'_, str> {
    without_escapes(raw, |byte| matches!(byte, b',' | b' '))
}

/// The value of a tag key, tag value or field key: `\,`, `\=` and `\ ` lose their backslash, any other keeps it.
#[must_use]
pub fn name_text(raw: &str) -> Cow<'_, str> {
    without_escapes(raw, |byte| matches!(byte, b',' | b'=' | b' '))
}

/// The value of the inside of a quoted field: `\"` is a quote, `\\` a backslash, any other backslash itself.
#[must_use]
pub fn string_text(raw: &str) -> Cow<'_, str> {
    without_escapes(raw, |byte| matches!(byte, b'"' | b'\\'))
}

fn without_escapes(raw: &str, is_escapable: impl Fn(u8) -> bool) -> Cow<'_, str> {
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut said = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(backslash) = memchr::memchr(b'\\', rest.as_bytes()) {
        match rest.as_bytes().get(backslash + 1) {
            Some(&next) if is_escapable(next) => {
                said.push_str(&rest[..backslash]);
                said.push(char::from(next));
                rest = &rest[backslash + 2..];
            }
            _ => {
                said.push_str(&rest[..=backslash]);
                rest = &rest[backslash + 1..];
            }
        }
    }
    said.push_str(rest);
    Cow::Owned(said)
}
