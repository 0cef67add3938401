//! The values of an answer, each with the extractor that finds it again: members of JSON, headers, cookies, and fields of HTML, XML
//! and other texts.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::{
    super::call::{Answer, Extractor},
    likely::is_random,
};

/// Maximum number of values of one answer.
const VALUES_MAX: usize = 50_000;
/// Headers that have no value of a session, or have one that is no text of the answer alone.
const FOREIGN_HEADERS: [&str; 20] = [
    "set-cookie",
    "date",
    "expires",
    "last-modified",
    "content-type",
    "content-length",
    "content-encoding",
    "content-security-policy",
    "strict-transport-security",
    "server",
    "via",
    "vary",
    "connection",
    "cache-control",
    "transfer-encoding",
    "alt-svc",
    "report-to",
    "nel",
    "www-authenticate",
    "link",
];

/// A value of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    /// Of the member, header, cookie or field.
    pub(super) name: String,
    pub(super) from: Extractor,
    /// Whether it is a path of the server, which may begin that of a request.
    pub(super) is_link: bool,
    /// What stands before the path in the answer, so that the variable has it, too: the server's origin, or nothing.
    pub(super) origin: String,
}

/// The values of an answer of this server; the first of equal ones is the one to take.
pub(super) fn values(answer: &Answer, origin: &str) -> Vec<Value> {
    let mut values = Values {
        origin: origin.to_owned(),
        values: Vec::new(),
    };
    match serde_json::from_str::<Json>(&answer.body) {
        Ok(Json::Number(_)) | Err(_) => {}
        Ok(json) => values.json(&json, "$", "text"),
    }
    for (name, value) in &answer.headers {
        values.header(name, value);
    }
    for (name, value) in &answer.cookies {
        values.add(name, value, Extractor::Cookie(name.clone()));
    }
    let body = answer.body.trim_start();
    if !body.starts_with(['{', '[', '"']) {
        values.text(body);
    }
    values.values
}

/// Whether the extractor of a value finds it: a regular expression may match elsewhere first.
pub(super) fn is_found(value: &Value, answer: &Answer, origin: &str) -> bool {
    let group = |regex: &str, text: &str| {
        let capture = Regex::new(regex).ok()?.captures(text)?;
        Some(capture.get(1)?.as_str().to_owned())
    };
    let capture = match &value.from {
        Extractor::Json(_) | Extractor::Header(_) | Extractor::Cookie(_) => return true,
        Extractor::Regex(regex) => group(regex, &answer.body),
        Extractor::HeaderMatch { name, regex } => {
            let mut headers = answer.headers.iter();
            headers.find_map(|(known, text)| {
                let is_named = known.eq_ignore_ascii_case(name);
                is_named.then(|| group(regex, text)).flatten()
            })
        }
    };
    let capture = capture.as_deref();
    capture.map(|text| text.strip_prefix(origin).unwrap_or(text)) == Some(&value.text)
}

struct Values {
    origin: String,
    values: Vec<Value>,
}

impl Values {
    fn add(&mut self, name: &str, text: &str, from: Extractor) {
        if text.is_empty() || self.values.len() >= VALUES_MAX {
            return;
        }
        let link = self.link(text);
        self.values.push(Value {
            text: link.unwrap_or(text).to_owned(),
            name: name.to_owned(),
            from,
            is_link: link.is_some(),
            origin: match link {
                Some(path) => text[..text.len() - path.len()].to_owned(),
                None => String::new(),
            },
        });
    }

    /// The path of a link to this server.
    fn link<'t>(&self, text: &'t str) -> Option<&'t str> {
        let path = text.strip_prefix(&*self.origin).unwrap_or(text);
        let is_path = path.starts_with('/') && !path.starts_with("//") && path.len() > 1;
        (is_path && !path.contains([' ', '#'])).then_some(path)
    }

    fn json(&mut self, value: &Json, path: &str, name: &str) {
        match value {
            Json::Object(members) => {
                for (key, member) in members {
                    // A key that is a value of its own is another one in the next answer.
                    if !is_random(key) {
                        self.json(member, &format!("{path}{}", json_step(key)), key);
                    }
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.json(item, &format!("{path}[{index}]"), name);
                }
            }
            Json::String(text) => self.add(name, text, Extractor::Json(path.to_owned())),
            Json::Number(number) if number.is_i64() || number.is_u64() => {
                self.add(name, &number.to_string(), Extractor::Json(path.to_owned()));
            }
            _ => {}
        }
    }

    fn header(&mut self, name: &str, value: &str) {
        let lower = name.to_ascii_lowercase();
        if lower == "link" {
            return self.link_header(value);
        }
        if FOREIGN_HEADERS.contains(&&*lower) || lower.starts_with("access-control-") {
            return;
        }
        self.add(name, value, Extractor::Header(name.to_owned()));
        if let Some((scheme, rest)) = value.split_once(' ')
            && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            let regex = format!("^{scheme} +(.+)$");
            self.header_match(name, rest.trim(), name, &regex);
        }
        if self.link(value).is_some() {
            self.parts_of_link(name, value);
        }
    }

    /// The segments of the path and the values of the query of a link.
    fn parts_of_link(&mut self, header: &str, value: &str) {
        let path = self.link(value).unwrap_or(value).to_owned();
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let mut before = String::from("^(?:https?://[^/]+)?");
        for segment in path.split('/').skip(1).take(20) {
            let regex = format!("{before}/([^/?#]+)");
            before.push_str("/[^/?#]+");
            self.header_match("id", segment, header, &regex);
        }
        for pair in query.split('&') {
            if let Some((name, value)) = pair.split_once('=') {
                let regex = format!("[?&]{}=([^&#]+)", regex::escape(name));
                self.header_match(name, value, header, &regex);
            }
        }
    }

    /// RFC 8288: `<link>; rel="next"`.
    fn link_header(&mut self, value: &str) {
        static LINK: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#"<([^>]*)>[^,<]*?;\s*rel="?([\w-]+)"?"#)
                .expect("it is a regular expression")
        });
        for captures in LINK.captures_iter(value) {
            let regex = format!("<([^>]*)>[^,<]*; *rel=\"?{}\\b", &captures[2]);
            self.header_match(&captures[2], &captures[1], "Link", &regex);
        }
    }

    fn header_match(&mut self, name: &str, text: &str, header: &str, regex: &str) {
        let from = Extractor::HeaderMatch {
            name: header.to_owned(),
            regex: regex.to_owned(),
        };
        self.add(name, text, from);
    }

    /// Fields of HTML, of XML, of a form, and of JSON within another text; or the whole text.
    fn text(&mut self, body: &str) {
        static TAG: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new("(?is)<(?:input|meta)\\s[^>]*>").expect("it is a regular expression")
        });
        static ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new("<([A-Za-z][\\w.:-]*)>([^<>&\\s]{4,})</")
                .expect("it is a regular expression")
        });
        static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#""([\w.-]{1,60})"\s*:\s*"([^"\\]{4,})""#)
                .expect("it is a regular expression")
        });
        for tag in TAG.find_iter(body).take(VALUES_MAX) {
            self.tag(tag.as_str());
        }
        for captures in ELEMENT.captures_iter(body).take(VALUES_MAX) {
            let regex = format!("<{}>([^<]*)</", regex::escape(&captures[1]));
            self.add(&captures[1], &captures[2], Extractor::Regex(regex));
        }
        for captures in MEMBER.captures_iter(body).take(VALUES_MAX) {
            let regex = format!("\"{}\"\\s*:\\s*\"([^\"]*)\"", regex::escape(&captures[1]));
            self.add(&captures[1], &captures[2], Extractor::Regex(regex));
        }
        let line = body.trim();
        if !line.contains(char::is_whitespace) && !line.contains('<') {
            for pair in line.split('&') {
                if let Some((name, value)) = pair.split_once('=') {
                    let regex = format!("(?:^|&){}=([^&\\s]*)", regex::escape(name));
                    self.add(name, value, Extractor::Regex(regex));
                }
            }
            self.add("text", line, Extractor::Regex(r"^\s*(\S+)\s*$".to_owned()));
        }
    }

    /// The value of a hidden field, or the content of a `meta`, by its name.
    fn tag(&mut self, tag: &str) {
        let is_meta = tag[1..].to_ascii_lowercase().starts_with("meta");
        let is_hidden = attribute(tag, "type").is_some_and(|(_, kind)| kind == "hidden");
        let content = if is_meta { "content" } else { "value" };
        let (Some((offset, name)), Some((behind, value))) =
            (attribute(tag, "name"), attribute(tag, content))
        else {
            return;
        };
        // The text of an extracted value is as it is written, with its entities.
        if !(is_meta || is_hidden) || value.contains('&') {
            return;
        }
        let tag_name = if is_meta { "meta" } else { "input" };
        let named = format!("name=[\"']?{}", regex::escape(name));
        let valued = format!("{content}=[\"']?([^\"'\\s>]*)");
        let (first, second) = if offset < behind {
            (named, valued)
        } else {
            (valued, named)
        };
        let between = r#"(?:["'][^>]*?)?\s(?:[^>]*?\s)??"#;
        let regex = format!(r#"(?i)<{tag_name}\b[^>]*?\s{first}{between}{second}(?:["'\s/>]|$)"#);
        self.add(name, value, Extractor::Regex(regex));
    }
}

/// `.name`, or `["name"]` if it is no identifier.
fn json_step(key: &str) -> String {
    let is_identifier = key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if is_identifier && starts {
        format!(".{key}")
    } else {
        format!("[{}]", Json::from(key))
    }
}

/// The offset and value of an attribute of a tag.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<(usize, &'t str)> {
    let lower = tag.to_ascii_lowercase();
    let mut from = 0;
    while let Some(offset) = lower[from..].find(name).map(|offset| from + offset) {
        from = offset + name.len();
        let is_whole = lower[..offset].ends_with(|letter: char| letter.is_ascii_whitespace());
        let Some(rest) = tag[from..].strip_prefix('=').filter(|_| is_whole) else {
            continue;
        };
        let value = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next(),
            _ => rest
                .split(|letter: char| letter.is_whitespace() || letter == '>')
                .next(),
        };
        return value.map(|value| (offset, value));
    }
    None
}
