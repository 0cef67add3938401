//! Replaces secrets in texts by a mark: in JSON by key, in forms by field, in other texts by `name=value`.

use std::ops::Range;

use serde_json::Value;

use super::names::{is_secret, mentions_secrets, percent_decoded, percent_encoded};

/// Replaces a secret.
pub(crate) const MARK: &str = "REPLACE-ME";
/// Maximum depth of texts within texts (JSON in a string of JSON).
const DEPTH_MAX: usize = 4;

/// A text without its secrets, and the names of the secrets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Masked {
    pub(super) text: String,
    pub(super) names: Vec<String>,
}

/// Masks a body; `None` if it names secrets in an unknown format.
pub(super) fn body(text: &str) -> Option<Masked> {
    let mut names = Vec::new();
    let whole = json(text, &mut names, 0)
        .or_else(|| json_lines(text, &mut names))
        .or_else(|| is_form(text).then(|| form(text, &mut names, 0)));
    match whole {
        Some(text) => Some(Masked { text, names }),
        None if mentions_secrets(text) => None,
        None => {
            let text = mask_pairs(text, &mut names);
            Some(Masked { text, names })
        }
    }
}

/// Masks a multipart form; `None` if it is not one, or a part names secrets in an unknown format.
pub(super) fn multipart(text: &str, media_type: &str) -> Option<Masked> {
    let (_, boundary) = media_type.split_once("boundary=")?;
    let delimiter = format!("\r\n--{}", boundary.trim().trim_matches('"'));
    let text = format!("\r\n{text}");
    let mut sections = text.split(&*delimiter);
    let mut whole = sections
        .next()
        .filter(|before| before.is_empty())?
        .to_owned();
    let (mut names, mut is_complete) = (Vec::new(), false);
    for section in sections {
        if is_complete {
            return None;
        }
        whole.push_str(&delimiter);
        if section.trim_end() == "--" {
            is_complete = true;
            whole.push_str(section);
            continue;
        }
        let (head, content) = section.split_once("\r\n\r\n")?;
        let mut fields = head.trim_start().lines();
        let is_known = |line: &str| {
            let line = line.to_ascii_lowercase();
            line.starts_with("content-disposition:") || line.starts_with("content-type:")
        };
        if !fields.all(is_known) {
            return None;
        }
        let (_, name) = head.split_once(" name=\"")?;
        let name = name.split('"').next().unwrap_or_default();
        let content = if is_secret(name) {
            names.push(percent_decoded(name));
            MARK.to_owned()
        } else {
            let mut masked = body(content)?;
            names.append(&mut masked.names);
            masked.text
        };
        whole.push_str(&format!("{head}\r\n\r\n{content}"));
    }
    let text = whole.strip_prefix("\r\n").unwrap_or(&whole).to_owned();
    is_complete.then_some(Masked { text, names })
}

/// Masks the value of a header, or a path without its query.
pub(super) fn text(text: &str) -> Masked {
    let mut names = Vec::new();
    let text = mask_text(text, &mut names, 0);
    Masked { text, names }
}

/// Masks the percent-encoded value of a parameter of a query or form.
pub(super) fn parameter(value: &str) -> Masked {
    let mut names = Vec::new();
    let text = mask_encoded(value, &mut names, 0);
    Masked { text, names }
}

fn mask_encoded(value: &str, names: &mut Vec<String>, depth: usize) -> String {
    let before = names.len();
    let masked = mask_text(&percent_decoded(value), names, depth + 1);
    if names.len() == before {
        value.to_owned()
    } else {
        percent_encoded(&masked)
    }
}

/// Masks a text of unknown format.
fn mask_text(text: &str, names: &mut Vec<String>, depth: usize) -> String {
    if depth > DEPTH_MAX {
        return text.to_owned();
    }
    json(text, names, depth).unwrap_or_else(|| mask_pairs(text, names))
}

/// Masks JSON; without secrets it is returned unchanged. `None`: the text is not JSON.
fn json(text: &str, names: &mut Vec<String>, depth: usize) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut value: Value = serde_json::from_str(text).ok()?;
    let before = names.len();
    mask_json_value(&mut value, false, names, depth);
    Some(if names.len() == before {
        text.to_owned()
    } else {
        value.to_string()
    })
}

fn json_lines(text: &str, names: &mut Vec<String>) -> Option<String> {
    let mut found = Vec::new();
    let lines: Option<Vec<String>> = text
        .split('\n')
        .map(|line| match line.trim() {
            "" => Some(line.to_owned()),
            _ => json(line, &mut found, 0),
        })
        .collect();
    let lines = lines?;
    names.append(&mut found);
    Some(lines.join("\n"))
}

/// Masks all values below the name of a secret, at any depth.
fn mask_json_value(value: &mut Value, is_below: bool, names: &mut Vec<String>, depth: usize) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_here = is_secret(name);
                if is_here && !matches!(member, Value::Null) {
                    names.push(name.clone());
                }
                mask_json_value(member, is_below || is_here, names, depth);
            }
        }
        Value::Array(items) => {
            for item in items {
                mask_json_value(item, is_below, names, depth);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) if is_below => {
            *value = Value::from(MARK);
        }
        Value::String(text) => *text = mask_text(text, names, depth + 1),
        _ => {}
    }
}

/// Whether a text is a URL-encoded form, `a=b&c=d`.
fn is_form(text: &str) -> bool {
    let is_pair = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, _)| !name.is_empty())
    };
    let text = text.trim_end();
    text.split('&').all(is_pair)
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'<')
}

fn form(text: &str, names: &mut Vec<String>, depth: usize) -> String {
    let pairs = text.split('&').map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if is_secret(name) {
            names.push(percent_decoded(name));
            return format!("{name}={MARK}");
        }
        format!("{name}={}", mask_encoded(value, names, depth))
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// Masks `name=value` and `name: value` anywhere in a text, and the user and password of a URL.
fn mask_pairs(text: &str, names: &mut Vec<String>) -> String {
    let mut masked = String::new();
    let mut done = 0;
    for (at, separator) in text.match_indices(['=', ':']) {
        let behind = at + separator.len();
        if at < done {
            continue;
        }
        let (name, secret) = if text[behind..].starts_with("//") {
            ("a URL's user", user(text, behind + 2))
        } else {
            let name = name_before(&text[..at]);
            let secret = is_secret(name).then(|| value(text, behind, separator));
            (name, secret.unwrap_or(behind..behind))
        };
        if !secret.is_empty() {
            names.push(percent_decoded(name));
            masked.push_str(&text[done..secret.start]);
            masked.push_str(MARK);
            done = secret.end;
        }
    }
    masked.push_str(&text[done..]);
    masked
}

/// The range of `user:password` of a URL whose authority starts at `start`.
fn user(text: &str, start: usize) -> Range<usize> {
    let is_end = |letter: char| "/?#\"'<>".contains(letter) || letter.is_whitespace();
    let authority = text[start..].split(is_end).next().unwrap_or_default();
    start..start + authority.rfind('@').unwrap_or(0)
}

fn name_before(text: &str) -> &str {
    let text = text.trim_end_matches(|letter: char| {
        letter.is_whitespace() || matches!(letter, '"' | '\'' | '\\')
    });
    let is_of_name = |letter: char| letter.is_alphanumeric() || "-_.%[]+".contains(letter);
    let before = text.trim_end_matches(is_of_name).len();
    &text[before..]
}

fn value(text: &str, behind: usize, separator: &str) -> Range<usize> {
    let rest = text[behind..].trim_start_matches([' ', '\t', '\\']);
    let start = text.len() - rest.len();
    let length = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let length = rest[1..].find(quote).unwrap_or(rest.len() - 1);
            return start + 1..start + 1 + length;
        }
        _ if separator == "=" => {
            rest.find(|letter: char| "&;,#\"'<>(){}|".contains(letter) || letter.is_whitespace())
        }
        _ => rest.find([
            '\n', '\r', ',', ';', '&', '"', '\'', '<', '>', '(', ')', '{', '}',
        ]),
    };
    start..start + length.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::{body, parameter, text};

    #[test]
    fn bodies_lose_their_secrets() {
        let check = |given: &str, expected: Option<&str>| {
            let masked = body(given);
            assert_eq!(
                masked.as_ref().map(|masked| &*masked.text),
                expected,
                "{given}"
            );
            if let Some(masked) = masked {
                assert_eq!(masked.names.is_empty(), masked.text == given, "{given}");
            }
        };
        check("{\"a\": 1}", Some("{\"a\": 1}"));
        check(
            r#"{"a":[{"token":["x",{"y":7}]}],"auth":null}"#,
            Some(r#"{"a":[{"token":["REPLACE-ME",{"y":"REPLACE-ME"}]}],"auth":null}"#),
        );
        check(
            r#"{"query":"{ login(password: \"x\") { id } }"}"#,
            Some(r#"{"query":"{ login(password: \"REPLACE-ME\") { id } }"}"#),
        );
        check(
            r#"{"inner":"{\"pwd\":\"x\"}"}"#,
            Some(r#"{"inner":"{\"pwd\":\"REPLACE-ME\"}"}"#),
        );
        check(
            "{\"index\":{}}\n{\"sid\":\"x\"}\n",
            Some("{\"index\":{}}\n{\"sid\":\"REPLACE-ME\"}\n"),
        );
        check(
            "a=b+c&user%5Bpass%5D=x",
            Some("a=b+c&user%5Bpass%5D=REPLACE-ME"),
        );
        check("hello world", Some("hello world"));
        check("<password>x</password>", None);
    }

    #[test]
    fn texts_and_parameters_lose_their_secrets() {
        let check = |given: &str, expected: &str| assert_eq!(text(given).text, expected);
        check(
            "application/json; charset=utf-8",
            "application/json; charset=utf-8",
        );
        check(
            "http://app/?a=b&token=x#c",
            "http://app/?a=b&token=REPLACE-ME#c",
        );
        check(
            "see https://u:x@h/, secret: x y",
            "see https://REPLACE-ME@h/, secret: REPLACE-ME",
        );
        check("/a;jsessionid=x/y=", "/a;jsessionid=REPLACE-ME");
        assert_eq!(
            parameter("https%3A%2F%2Fh%2F%3Ftoken%3Dx").text,
            "https%3A%2F%2Fh%2F%3Ftoken%3DREPLACE-ME"
        );
        assert_eq!(parameter("a+b%20").text, "a+b%20");
    }
}
