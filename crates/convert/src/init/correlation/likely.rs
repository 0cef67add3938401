//! Which equal values are no coincidence: random ones, and those that both sides name as a secret or an identifier.

use super::{super::names::is_secret, uses::Use, values::Value};

/// Maximum length of a value.
const LENGTH_MAX: usize = 8 * 1024;
/// Minimum length of a value that looks random.
const RANDOM_MIN: usize = 8;
/// Minimum length of random letters without a digit.
const LETTERS_MIN: usize = 20;
/// Minimum length of a value with a name on both sides.
const NAMED_MIN: usize = 4;
/// Minimum length of a number that is an identifier, and of another one.
const DIGITS_MIN: (usize, usize) = (5, 7);
/// Words that secrets and identifiers may have as values, but that are the same for everybody.
const WORDS: [&str; 16] = [
    "true",
    "false",
    "null",
    "none",
    "bearer",
    "basic",
    "token",
    "active",
    "valid",
    "default",
    "public",
    "guest",
    "anonymous",
    "undefined",
    "jwt",
    "mac",
];
/// How media types begin.
const MEDIA_TYPES: [&str; 8] = [
    "application/",
    "text/",
    "image/",
    "audio/",
    "video/",
    "font/",
    "multipart/",
    "message/",
];
/// Names that variables may not have.
const RESERVED: [&str; 5] = ["session", "user", "round", "offset", ""];

/// Whether a value of an answer is that of a request because it was taken from there.
pub(super) fn is_likely(value: &Value, used: &Use) -> bool {
    let text = &*value.text;
    if text.len() > LENGTH_MAX || text.chars().any(char::is_control) {
        return false;
    }
    if value.is_link {
        return is_dynamic_link(text);
    }
    let is_word = WORDS.contains(&&*text.to_ascii_lowercase());
    let is_number = is_digits(text);
    if is_secret(&value.name) && used.is_secret {
        return text.len() >= NAMED_MIN && !is_word && !text.contains(' ');
    }
    if is_number {
        let least = match is_identifier(&value.name) {
            true => DIGITS_MIN.0,
            false => DIGITS_MIN.1,
        };
        return text.len() >= least && !text.ends_with("000");
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_named = is_identifier(&value.name) && has_digit && !is_constant(text);
    (is_named && text.len() >= NAMED_MIN && !text.contains(' ')) || is_random(text)
}

/// Whether a text is one that nobody would write: letters and digits, or many letters in both cases.
pub(super) fn is_random(text: &str) -> bool {
    if !(RANDOM_MIN..=LENGTH_MAX).contains(&text.len())
        || text.contains(char::is_whitespace)
        || is_digits(text)
        || is_constant(text)
    {
        return false;
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    if has_digit {
        return has_letter && !is_word_with_number(text);
    }
    let bytes = text.as_bytes();
    let changes = bytes
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    text.len() >= LETTERS_MIN && changes.count() >= 4
}

/// A name that a variable may have.
pub(super) fn variable_name(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars().take(40) {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => words.push(letter.to_ascii_lowercase()),
            _ if words.ends_with('_') || words.is_empty() => {}
            _ => words.push('_'),
        }
    }
    let name = words.trim_matches('_');
    let is_number = name.starts_with(|first: char| first.is_ascii_digit());
    if RESERVED.contains(&name) || is_number {
        return format!("captured_{name}").trim_end_matches('_').to_owned();
    }
    name.to_owned()
}

fn is_digits(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether this is a format that is the same for everybody: a date, a version, an address, a media type or a URL.
fn is_constant(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_time = text.len() >= 8
        && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"-:.+TZ/ ".contains(&byte));
    let version = lower.strip_prefix('v').unwrap_or(&lower);
    let is_version = version
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_time
        || is_version
        || text.contains("://")
        || MEDIA_TYPES.iter().any(|kind| lower.starts_with(kind))
}

/// Words with a number behind them, such as `user42` or `order-line-7`.
fn is_word_with_number(text: &str) -> bool {
    let word = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = text.len() - word.len();
    let is_words = word
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || b"-_. /".contains(&byte));
    is_words && digits <= 3
}

/// Whether a name is that of an identifier: `id`, `orderId`, `order_id`, `uuid`.
fn is_identifier(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [
        "id", "uuid", "guid", "uid", "_ref", "number", "etag", "cursor",
    ]
    .contains(&&*lower)
        || ["_id", "-id", "uuid", "guid"]
            .iter()
            .any(|end| lower.ends_with(end))
        || name.ends_with("Id")
        || name.ends_with("ID")
}

/// Whether a link has a value that was made: a part with a digit, except a version.
fn is_dynamic_link(text: &str) -> bool {
    let is_version = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut parts = text.split(['/', '?', '&', '=', '#']);
    parts.any(|part| part.bytes().any(|byte| byte.is_ascii_digit()) && !is_version(part))
}

#[cfg(test)]
mod tests {
    use super::{is_random, variable_name};

    #[test]
    fn random_values_are_told_from_words() {
        for text in [
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            "9f8b2c1d",
            "0b7e6c1e-5a6e-4d3f-9c8b-7a6d5e4f3c2b",
            "sess-4f7a91",
            "aGVsbG8gV29ybGQhIFRoaXMg",
        ] {
            assert!(is_random(text), "{text}");
        }
        for text in [
            "true",
            "description",
            "out-for-delivery-today-again",
            "applicationSettings",
            "2026-01-02T03:04:05Z",
            "2026-01-02",
            "192.168.100.10",
            "v10.11.12.13",
            "application/vnd.api2+json",
            "order-line-7",
            "username42",
            "12345678",
            "two words 4711",
            "https://h/a1b2c3d4",
        ] {
            assert!(!is_random(text), "{text}");
        }
    }

    #[test]
    fn variables_have_names() {
        let check = |name: &str, expected: &str| assert_eq!(variable_name(name), expected);
        check("access_token", "access_token");
        check("X-CSRF-Token", "x_csrf_token");
        check("csrfmiddlewaretoken", "csrfmiddlewaretoken");
        check("user[token]", "user_token");
        check("session", "captured_session");
        check("7", "captured_7");
        check("€", "captured");
    }
}
