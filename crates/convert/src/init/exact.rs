//! Numbers of a document that a program does not hold: whole ones beyond 64 bits, and those with more digits than a float has. They
//! are kept as they are written, in strings that `slot` marks, and are written without quotes again.

use serde_json::Value;

use super::slot;

/// Digits that every float keeps.
const FLOAT_DIGITS: usize = 15;
/// Exponents that every float has.
const EXPONENT_MAX: u32 = 290;
/// Maximum length of a number; a longer one is no number here.
const LENGTH_MAX: usize = 1_000;

/// A number as JSON writes it that a program does not hold; `None`: it is another text or another number.
pub(super) fn number(text: &str) -> Option<Value> {
    if !is_number(text) || text.len() > LENGTH_MAX {
        return None;
    }
    let is_held = if text.contains(['.', 'e', 'E']) {
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let significant = digits.trim_start_matches(['-', '0', '.']);
        let count = significant.bytes().filter(u8::is_ascii_digit).count();
        let is_small = |exponent: i32| exponent.unsigned_abs() <= EXPONENT_MAX;
        count <= FLOAT_DIGITS && exponent.parse().is_ok_and(is_small)
    } else {
        text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
    };
    (!is_held).then(|| Value::String(slot::exact_number(text)))
}

/// Whether a value is such a number.
pub(super) fn is_exact(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| slot::exact_digits(text).is_some())
}

/// The digits of a number, also of such a one.
pub(super) fn digits(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => slot::exact_digits(text).map(str::to_owned),
        _ => None,
    }
}

/// A text of JSON in which such numbers are strings, and no string has what marks them.
pub(super) fn json(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    let is_of_number = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => slot::string_length(rest),
            '-' | '0'..='9' => rest
                .find(|letter| !is_of_number(letter))
                .unwrap_or(rest.len()),
            other => other.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        match number(token) {
            Some(exact) => whole.push_str(&exact.to_string()),
            None if first == '"' => whole.push_str(&without_escapes(token)),
            None => whole.push_str(token),
        }
        rest = behind;
    }
    whole
}

/// A string of JSON in which the escapes of noncharacters are those of U+FFFD.
fn without_escapes(string: &str) -> String {
    let mut whole = String::with_capacity(string.len());
    let mut rest = string;
    while let Some(position) = rest.find('\\') {
        let escape = rest
            .get(position..position + 6)
            .map(str::to_ascii_lowercase);
        if matches!(escape.as_deref(), Some("\\ufdd0" | "\\ufdd1")) {
            whole.push_str(&rest[..position]);
            whole.push_str("\\ufffd");
            rest = &rest[position + 6..];
            continue;
        }
        let behind = rest[position + 1..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        whole.push_str(&rest[..=position + behind]);
        rest = &rest[position + 1 + behind..];
    }
    whole.push_str(rest);
    whole
}

/// Whether a text is a number by the grammar of JSON (RFC 8259, 6).
fn is_number(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let sign = |text: &str| text.trim_start_matches(['+', '-']).len() + 1 >= text.len();
    is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(|text| sign(text) && is_digits(text.trim_start_matches(['+', '-'])))
}

#[cfg(test)]
mod tests {
    use super::{super::slot::study_text, json, number};

    #[test]
    fn numbers_are_kept_as_they_are_written() {
        let check = |text: &str| {
            let read: serde_json::Value = serde_json::from_str(&json(text)).unwrap();
            assert_eq!(study_text(&read.to_string()), text);
        };
        check("[18446744073709551616,-9223372036854775809,1]");
        check("{\"a\":12345678901234567890123456789012345678901234567890,\"b\":\"1\"}");
        check("[0.12345678901234567891,1E400,\"18446744073709551616\",0.5]");
        check(r#"["\\\"18446744073709551616"]"#);
        assert_eq!(json(r#""\uFDD0#=1\ufdd1""#), r#""\ufffd#=1\ufffd""#);
        for text in [
            "1",
            "-7",
            "0.1",
            "1e3",
            "18446744073709551615",
            "x",
            "1.2.3",
            "00",
            "",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
