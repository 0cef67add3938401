//! Replaces secrets in texts: in JSON by key, in forms by field, in other texts by `name=value`.

use std::ops::Range;

use serde_json::Value;

use super::{
    exact,
    names::{is_secret, mentions_secrets, percent_decoded, percent_encoded},
    slot,
};

/// In place of a secret for which a study has no variable.
pub const MARK: &str = "REPLACE-ME";

/// Maximum depth of texts within texts (JSON in a string of JSON).
const DEPTH_MAX: usize = 4;

/// Replaces secrets; each with its name.
pub(super) struct Masking<'r> {
    /// The text in place of the secret of this name and value.
    replace: &'r mut dyn FnMut(&str, &str) -> String,
    count: usize,
}

impl<'r> Masking<'r> {
    pub(super) fn new(replace: &'r mut dyn FnMut(&str, &str) -> String) -> Self {
        Self { replace, count: 0 }
    }

    fn replacement(&mut self, name: &str, value: &str) -> String {
        self.count += 1;
        (self.replace)(&percent_decoded(name), value)
    }

    /// The replacement of a text, unless it is empty or has one already.
    fn replacement_of_text(&mut self, name: &str, text: &str) -> String {
        match text.is_empty() || slot::is_slots(text) {
            true => text.to_owned(),
            false => self.replacement(name, text),
        }
    }

    /// Masks a body; `None` if it names secrets in an unknown format.
    pub(super) fn body(&mut self, text: &str) -> Option<String> {
        let whole = self
            .json(text, 0)
            .or_else(|| self.json_lines(text))
            .or_else(|| is_form(text).then(|| self.form(text, 0)));
        match whole {
            Some(text) => Some(text),
            None if mentions_secrets(&slot::literals(text)) => None,
            None => Some(self.pairs(text)),
        }
    }

    /// Masks a multipart form; `None` if it is not one, or a part names secrets in an unknown format.
    pub(super) fn multipart(&mut self, text: &str, media_type: &str) -> Option<String> {
        let (_, boundary) = media_type.split_once("boundary=")?;
        let delimiter = format!("\r\n--{}", boundary.trim().trim_matches('"'));
        let text = format!("\r\n{text}");
        let mut sections = text.split(&*delimiter);
        let mut whole = sections
            .next()
            .filter(|before| before.is_empty())?
            .to_owned();
        let mut is_complete = false;
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
            whole.push_str(&self.section(section)?);
        }
        let text = whole.strip_prefix("\r\n").unwrap_or(&whole).to_owned();
        is_complete.then_some(text)
    }

    /// Masks a part of a multipart form.
    fn section(&mut self, section: &str) -> Option<String> {
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
        let content = match is_secret(name) {
            true if slot::is_slots(content) => content.to_owned(),
            true => self.replacement(name, content),
            false => self.body(content)?,
        };
        Some(format!("{head}\r\n\r\n{content}"))
    }

    /// Masks the percent-encoded value of a parameter of a query or form.
    pub(super) fn parameter(&mut self, name: &str, value: &str) -> String {
        self.parameter_within(name, value, 0)
    }

    fn parameter_within(&mut self, name: &str, value: &str, depth: usize) -> String {
        if is_secret(name) {
            return match slot::is_slots(value) || value.is_empty() {
                true => value.to_owned(),
                false => self.replacement(name, &percent_decoded(value)),
            };
        }
        let before = self.count;
        let masked = self.text_within(&percent_decoded(value), depth + 1);
        if self.count == before {
            value.to_owned()
        } else {
            percent_encoded(&masked)
        }
    }

    /// Masks the value of a header, or a path without its query.
    pub(super) fn text(&mut self, text: &str) -> String {
        self.text_within(text, 0)
    }

    /// Masks a text of unknown format.
    fn text_within(&mut self, text: &str, depth: usize) -> String {
        if depth > DEPTH_MAX {
            return text.to_owned();
        }
        self.json(text, depth).unwrap_or_else(|| self.pairs(text))
    }

    /// Masks JSON; without secrets it is returned unchanged. `None`: the text is not JSON.
    fn json(&mut self, text: &str, depth: usize) -> Option<String> {
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let mut value: Value = serde_json::from_str(&exact::json(text)).ok()?;
        let before = self.count;
        self.json_value(&mut value, false, "", depth);
        Some(if self.count == before {
            text.to_owned()
        } else {
            value.to_string()
        })
    }

    fn json_lines(&mut self, text: &str) -> Option<String> {
        let is_json = |line: &str| {
            line.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
        };
        if !text.split('\n').all(is_json) {
            return None;
        }
        let lines: Option<Vec<String>> = text
            .split('\n')
            .map(|line| match line.trim() {
                "" => Some(line.to_owned()),
                _ => self.json(line, 0),
            })
            .collect();
        Some(lines?.join("\n"))
    }

    /// Masks all values below the name of a secret, at any depth. `name` is that of the value.
    fn json_value(&mut self, value: &mut Value, is_below: bool, name: &str, depth: usize) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let is_below = is_below || is_secret(name);
                    self.json_value(member, is_below, name, depth);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.json_value(item, is_below, name, depth);
                }
            }
            Value::String(text) if is_below => {
                *text = self.replacement_of_text(name, text);
            }
            Value::Number(_) | Value::Bool(_) if is_below => {
                let replacement = self.replacement(name, &value.to_string());
                *value = Value::from(slot::in_place_of_number(&replacement));
            }
            Value::String(text) => *text = self.text_within(text, depth + 1),
            _ => {}
        }
    }

    fn form(&mut self, text: &str, depth: usize) -> String {
        let mut pairs = Vec::new();
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.trim_end();
            let end = &pair[name.len() + 1 + value.len()..];
            let masked = self.parameter_within(name, value, depth);
            pairs.push(format!("{name}={masked}{end}"));
        }
        pairs.join("&")
    }

    /// Masks `name=value` and `name: value` anywhere in a text, and the user and password of a URL.
    fn pairs(&mut self, text: &str) -> String {
        let mut masked = String::new();
        let mut done = 0;
        for (position, separator) in text.match_indices(['=', ':']) {
            let behind = position + separator.len();
            if position < done {
                continue;
            }
            let (name, secret) = if text[behind..].starts_with("//") {
                ("URL user", user(text, behind + 2))
            } else {
                let name = name_before(&text[..position]);
                let secret = is_secret(name).then(|| value(text, behind, separator));
                (name, secret.unwrap_or(behind..behind))
            };
            let content = &text[secret.clone()];
            if !content.is_empty() && !slot::is_slots(content.trim()) {
                masked.push_str(&text[done..secret.start]);
                masked.push_str(&self.replacement(name, content));
                done = secret.end;
            }
        }
        masked.push_str(&text[done..]);
        masked
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
        && slot::literals(text)
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'<')
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
    use super::{super::slot, Masking};

    fn with_variables(mask: impl Fn(&mut Masking<'_>) -> Option<String>) -> Option<String> {
        let mut replace = |name: &str, _: &str| slot::environment(&name.to_uppercase());
        mask(&mut Masking::new(&mut replace)).map(|text| slot::study_text(&text))
    }

    #[test]
    fn bodies_lose_their_secrets() {
        let check = |given: &str, expected: Option<&str>| {
            let masked = with_variables(|masking| masking.body(given));
            assert_eq!(masked.as_deref(), expected, "{given}");
        };
        check("{\"a\": 1}", Some("{\"a\": 1}"));
        check(
            r#"{"id":18446744073709551616,"price":0.12345678901234567891,"pwd":"x"}"#,
            Some(
                r#"{"id":18446744073709551616,"price":0.12345678901234567891,"pwd":"${env.PWD}"}"#,
            ),
        );
        check(
            r#"{"a":[{"token":["x",{"y":7}]}],"auth":null,"pwd":""}"#,
            Some(r#"{"a":[{"token":["${env.TOKEN}",{"y":${env.Y}}]}],"auth":null,"pwd":""}"#),
        );
        check(
            r#"{"query":"{ login(password: \"x\") { id } }"}"#,
            Some(r#"{"query":"{ login(password: \"${env.PASSWORD}\") { id } }"}"#),
        );
        check(
            r#"{"inner":"{\"pwd\":\"x\",\"pin\":7}"}"#,
            Some(r#"{"inner":"{\"pin\":${env.PIN},\"pwd\":\"${env.PWD}\"}"}"#),
        );
        check(
            "{\"index\":{}}\n{\"sid\":\"x\"}\n",
            Some("{\"index\":{}}\n{\"sid\":\"${env.SID}\"}\n"),
        );
        check(
            "a=b+c&user%5Bpass%5D=x\n",
            Some("a=b+c&user%5Bpass%5D=${env.USER[PASS]}\n"),
        );
        check("hello world", Some("hello world"));
        check("<password>x</password>", None);
    }

    #[test]
    fn texts_and_parameters_lose_their_secrets() {
        let check = |given: &str, expected: &str| {
            let masked = with_variables(|masking| Some(masking.text(given)));
            assert_eq!(masked.as_deref(), Some(expected));
        };
        check(
            "application/json; charset=utf-8",
            "application/json; charset=utf-8",
        );
        check(
            "http://app/?a=b&token=x#c",
            "http://app/?a=b&token=${env.TOKEN}#c",
        );
        check(
            "see https://u:x@h/, secret: x y",
            "see https://${env.URL USER}@h/, secret: ${env.SECRET}",
        );
        check("/a;jsessionid=x/y=", "/a;jsessionid=${env.JSESSIONID}");
        let parameter = |name: &str, value: &str, expected: &str| {
            let masked = with_variables(|masking| Some(masking.parameter(name, value)));
            assert_eq!(masked.as_deref(), Some(expected));
        };
        parameter(
            "to",
            "https%3A%2F%2Fh%2F%3Ftoken%3Dx",
            "https%3A%2F%2Fh%2F%3Ftoken%3D${env.TOKEN}",
        );
        parameter("to", "a+b%20", "a+b%20");
        parameter("api_key", "x", "${env.API_KEY}");
    }
}
