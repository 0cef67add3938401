//! The result of every importer: calls of one server, ready to be written as a study.

use super::slot;

/// One call of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Letters, digits, `-` and `_`; not unique yet.
    pub name: String,
    pub method: String,
    /// `http://host:port`.
    pub origin: String,
    /// Path and query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Names of headers whose values are secret, regardless of the name.
    pub secret_fields: Vec<String>,
    pub body: Option<String>,
    /// The recorded or documented statuses of success; empty: any 2xx.
    pub statuses: Vec<u16>,
    /// The pause before the call in milliseconds, if one was recorded.
    pub pause_ms: Option<u64>,
    /// When it was sent, in milliseconds since 1970, if that was recorded.
    pub started_ms: Option<i64>,
    /// The recorded answer.
    pub answer: Option<Answer>,
    /// What a session keeps of the answer for later calls.
    pub captures: Vec<Capture>,
}

impl Call {
    /// What marks slots cannot be in the source.
    pub(super) fn drop_noncharacters(&mut self) {
        let headers = self.headers.iter_mut().map(|(_, value)| value);
        let texts = headers.chain([&mut self.path]).chain(&mut self.body);
        texts.for_each(|text| *text = slot::without_noncharacters(text));
    }

    /// Sets the path; a name that was made of the old one is made of the new one, so that no removed value is in it.
    pub(super) fn set_path(&mut self, path: String) {
        if self.name == name_of(&self.method, &self.path) {
            self.name = name_of(&self.method, &slot::text_of_name(&path));
        }
        self.path = path;
    }
}

/// A recorded answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub headers: Vec<(String, String)>,
    /// Names and values of the cookies that it sets.
    pub cookies: Vec<(String, String)>,
    /// Empty if it was not recorded or is not text.
    pub body: String,
    /// When it was complete, in milliseconds since 1970.
    pub ended_ms: Option<i64>,
}

/// A variable of a session, and where in an answer its value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub variable: String,
    pub from: Extractor,
}

/// A part of an answer, as a study names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extractor {
    /// A JSONPath.
    Json(String),
    Header(String),
    /// The first group of a regular expression in a header.
    HeaderMatch {
        name: String,
        regex: String,
    },
    /// The first group of a regular expression in the body.
    Regex(String),
    Cookie(String),
}

/// The calls of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ImportedCalls {
    /// The name of a document, of which the study gets its own.
    pub(crate) title: Option<String>,
    pub(crate) calls: Vec<Call>,
    /// Whether the calls are one session in this order; otherwise they are independent.
    pub(crate) is_session: bool,
    /// One line for each thing that was left out, with the reason.
    pub(crate) left_out: Vec<String>,
    /// Length of a session in milliseconds, pauses included, if it was recorded.
    pub(crate) session_ms: Option<u64>,
    /// Recorded resources of a page: what is in them is no value of a session.
    pub(crate) page_texts: Vec<String>,
    /// Whether the source disables verification of the server's certificate.
    pub(crate) is_insecure: bool,
    /// The version of HTTP that the source asks for, as `load.protocol` has it.
    pub(crate) protocol: Option<&'static str>,
}

impl ImportedCalls {
    /// Adds a line about something that was left out, unless it is there already.
    pub(crate) fn leave_out(&mut self, line: String) {
        if !self.left_out.contains(&line) {
            self.left_out.push(line);
        }
    }
}

/// The host and port of an origin.
pub(crate) fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// The origin of most calls, the first one if several have equally many; `None` without calls.
pub(crate) fn most_called<'a>(calls: impl Iterator<Item = &'a Call>) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for call in calls {
        match counts.iter_mut().find(|(origin, _)| *origin == call.origin) {
            Some((_, count)) => *count += 1,
            None => counts.push((&call.origin, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let (origin, _) = counts.iter().find(|(_, count)| *count == most)?;
    Some((*origin).to_owned())
}

/// The value of the first header of this name, in any case.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = headers
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value)
}

/// Whether this is a token (RFC 9110): a valid method or header name.
pub(crate) fn is_token(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

/// The name of a call in thresholds and tables: its method and the words of its path.
pub(crate) fn name_of(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let words: Vec<&str> = path
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() <= 24)
        .filter(|word| !word.chars().all(|character| character.is_ascii_digit()))
        .collect();
    let tail = &words[words.len().saturating_sub(3)..];
    to_name(&[&[method], tail].concat().join("-")).to_ascii_lowercase()
}

/// Replaces characters that names must not contain.
pub(crate) fn to_name(text: &str) -> String {
    let in_letters = text.replace(
        |letter: char| !letter.is_ascii_alphanumeric() && letter != '_',
        "-",
    );
    match in_letters.trim_matches('-') {
        "" => "call".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_by_method_and_path() {
        let check = |method: &str, path: &str, expected: &str| {
            assert_eq!(name_of(method, path), expected);
        };
        check("GET", "/", "get");
        check("GET", "/orders/17", "get-orders");
        check(
            "PUT",
            "/api/v1/topics/plant/records?x=1",
            "put-topics-plant-records",
        );
        check("M-SEARCH", "/a.b", "m-search-a-b");
        check("!", "/", "call");
    }
}
