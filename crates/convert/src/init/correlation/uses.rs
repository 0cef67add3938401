//! The values of a request: what may come from an earlier answer, and how a variable takes its place.

use serde_json::Value as Json;

use super::super::{
    call::{Call, header},
    names::{is_secret, percent_decoded},
    slot,
};

/// Maximum number of values of one request.
const USES_MAX: usize = 20_000;
/// Maximum depth of a body of JSON; the parser's own is larger.
const DEPTH_MAX: usize = 100;

/// A value of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) text: String,
    /// Whether its name is that of a secret.
    pub(super) is_secret: bool,
    /// As the request has it, if it is percent-encoded there.
    pub(super) encoded: Option<String>,
}

/// The values of a request, longer ones before their parts.
pub(super) fn uses(call: &Call) -> Vec<Use> {
    let mut uses = Uses::default();
    uses.path(&call.path);
    for (name, value) in &call.headers {
        if !is_foreign(name, value) {
            uses.header(name, value);
        }
    }
    if let Some(body) = &call.body {
        uses.body(body, header(&call.headers, "content-type"));
    }
    uses.0
}

/// Cookies are kept by the session; a digest holds for one request.
fn is_foreign(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("cookie") || value.to_ascii_lowercase().starts_with("digest ")
}

/// All that a request sends, as it is and percent-decoded.
pub(super) fn text(call: &Call) -> String {
    let mut text = format!("{}\n{}\n", call.path, percent_decoded(&call.path));
    for (_, value) in &call.headers {
        text.push_str(value);
        text.push('\n');
    }
    if let Some(body) = &call.body {
        text.push_str(body);
        text.push('\n');
        if body.contains('%') {
            text.push_str(&percent_decoded(body));
        }
    }
    text
}

/// Whether a request uses a variable.
pub(super) fn uses_variable(call: &Call, variable: &str) -> bool {
    let headers = call.headers.iter().map(|(_, value)| value);
    let mut texts = headers.chain([&call.path]).chain(&call.body);
    texts.any(|text| slot::has_session(text, variable))
}

/// Whether a text contains a value as a whole.
pub(super) fn contains(text: &str, value: &str) -> bool {
    occurrence(text, value).is_some()
}

/// Puts a variable of the environment in place of a value that is percent-encoded in a path or a form.
pub(super) fn replace_encoded(call: &mut Call, encoded: &str, variable: &str) {
    let slot = slot::environment(variable);
    call.set_path(with_slot(&call.path, encoded, &slot));
    if let Some(body) = &mut call.body {
        *body = with_slot(body, encoded, &slot);
    }
}

/// Puts a variable in place of a value wherever a request has it as a whole; `origin`: what the variable has before it. The path of a
/// request may have a whole link.
pub(super) fn replace(call: &mut Call, origin: &str, value: &str, variable: &str) {
    let slot = slot::session(variable);
    match value.starts_with('/') {
        true => {
            if let Some(rest) = call.path.strip_prefix(value).filter(|rest| is_end(rest)) {
                call.set_path(format!("{slot}{rest}"));
            }
        }
        false => call.set_path(with_slot(&call.path, value, &slot)),
    }
    let value = &*format!("{origin}{value}");
    for (name, text) in &mut call.headers {
        if !is_foreign(name, text) {
            *text = with_slot(text, value, &slot);
        }
    }
    if let Some(body) = &mut call.body {
        *body = match serde_json::from_str::<Json>(body).is_ok() {
            true => replaced_json(body, value, variable),
            false => with_slot(body, value, &slot),
        };
    }
}

/// Whether a path may be at its end, or at that of a segment.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['/', '?', '&'])
}

fn with_slot(text: &str, value: &str, slot: &str) -> String {
    slot::map_literals(text, |literal| literal_with_slot(literal, value, slot))
}

fn literal_with_slot(literal: &str, value: &str, slot: &str) -> String {
    let (mut whole, mut rest) = (String::new(), literal);
    while let Some(offset) = occurrence(rest, value) {
        whole.push_str(&rest[..offset]);
        whole.push_str(slot);
        rest = &rest[offset + value.len()..];
    }
    whole + rest
}

/// The offset of a value that is no part of a longer word.
fn occurrence(text: &str, value: &str) -> Option<usize> {
    let is_of_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let begins = is_of_word(value.chars().next());
    let ends = is_of_word(value.chars().next_back());
    let mut offsets = text.match_indices(value).map(|(offset, _)| offset);
    offsets.find(|offset| {
        let before = text[..*offset].chars().next_back();
        let behind = text[offset + value.len()..].chars().next();
        !(begins && is_of_word(before) || ends && is_of_word(behind))
    })
}

/// In JSON a value is in a string, or it is a whole number.
fn replaced_json(body: &str, value: &str, variable: &str) -> String {
    let mut whole = String::new();
    let mut rest = body;
    let is_of_number = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    while !rest.is_empty() {
        let length = if rest.starts_with('"') {
            slot::string_length(rest)
        } else if rest.starts_with(is_of_number) {
            rest.find(|letter| !is_of_number(letter))
                .unwrap_or(rest.len())
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let (token, behind) = rest.split_at(length);
        match token {
            number if number == value => whole.push_str(&slot::json_number(variable)),
            // A string may have escapes that the value does not need.
            string
                if !value.contains(['"', '\\'])
                    && serde_json::from_str::<Json>(string).is_ok_and(|text| text == *value) =>
            {
                whole.push_str(&format!("\"{}\"", slot::session(variable)));
            }
            string if string.starts_with('"') => {
                whole.push_str(&with_slot(string, value, &slot::session(variable)));
            }
            other => whole.push_str(other),
        }
        rest = behind;
    }
    whole
}

#[derive(Default)]
struct Uses(Vec<Use>);

impl Uses {
    fn add(&mut self, text: &str, is_secret: bool) {
        self.push(text, is_secret, None);
    }

    fn push(&mut self, text: &str, is_secret: bool, encoded: Option<&str>) {
        if !text.is_empty() && self.0.len() < USES_MAX {
            self.0.push(Use {
                text: text.to_owned(),
                is_secret,
                encoded: encoded.map(str::to_owned),
            });
        }
    }

    fn path(&mut self, target: &str) {
        self.add(target, false);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let ends: Vec<usize> = path
            .match_indices('/')
            .map(|(offset, _)| offset)
            .skip(1)
            .collect();
        self.add(path, false);
        for end in ends.into_iter().rev().take(50) {
            self.add(&path[..end], false);
        }
        for segment in path.split(['/', ';']) {
            self.add_encoded(segment, false);
        }
        self.pairs(query);
    }

    fn pairs(&mut self, pairs: &str) {
        for pair in pairs.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((name, value)) => self.add_encoded(value, is_secret(name)),
                None => self.add_encoded(pair, false),
            }
        }
    }

    fn add_encoded(&mut self, text: &str, is_secret: bool) {
        self.add(text, is_secret);
        let decoded = percent_decoded(text);
        if decoded != text {
            self.push(&decoded, is_secret, Some(text));
        }
        self.words(text, is_secret);
    }

    fn header(&mut self, name: &str, value: &str) {
        let is_secret = is_secret(name);
        self.add(value, is_secret);
        if let Some((_, rest)) = value.split_once(' ') {
            self.add(rest.trim(), is_secret);
        }
        self.words(value, is_secret);
    }

    /// The parts of a text between separators.
    fn words(&mut self, text: &str, is_secret: bool) {
        let separators =
            |letter: char| letter.is_whitespace() || ",;\"'()<>{}[]\\?&#".contains(letter);
        for word in text.split(separators) {
            if word.len() < text.len() {
                self.add(word, is_secret);
            }
            for part in word
                .split(['/', '=', ':', '|'])
                .filter(|part| part.len() < word.len())
            {
                self.add(part, is_secret);
            }
        }
    }

    fn body(&mut self, body: &str, media_type: Option<&str>) {
        let is_form = media_type.is_some_and(|kind| {
            kind.to_ascii_lowercase()
                .starts_with("application/x-www-form-urlencoded")
        });
        match serde_json::from_str::<Json>(body) {
            Ok(json @ (Json::Object(_) | Json::Array(_))) => self.json(&json, false, 0),
            _ if is_form => self.pairs(body.trim_end()),
            _ => {
                self.pairs(body.trim_end());
                self.multipart(body);
                self.words(body, false);
            }
        }
    }

    /// Values of the parts of a multipart form.
    fn multipart(&mut self, body: &str) {
        for part in body.split("\r\n--") {
            let Some((head, content)) = part.split_once("\r\n\r\n") else {
                continue;
            };
            let name = head.split("name=\"").nth(1);
            let name = name.and_then(|rest| rest.split('"').next());
            self.add(content, name.is_some_and(is_secret));
        }
    }

    fn json(&mut self, value: &Json, is_below_secret: bool, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        match value {
            Json::Object(members) => {
                for (name, member) in members {
                    self.json(member, is_below_secret || is_secret(name), depth + 1);
                }
            }
            Json::Array(items) => {
                for item in items {
                    self.json(item, is_below_secret, depth + 1);
                }
            }
            Json::String(text) => {
                self.add(text, is_below_secret);
                self.words(text, is_below_secret);
            }
            Json::Number(number) => self.add(&number.to_string(), is_below_secret),
            _ => {}
        }
    }
}
