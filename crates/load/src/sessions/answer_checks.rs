//! Checks and captures of a step on its answer.

use std::{borrow::Cow, cell::OnceCell};

use serde_json::Value;

use super::{
    cookies::Jar,
    link_path::path_of,
    program::{CaptureProgram, CheckProgram, ConditionProgram, RequestProgram},
    request_text::Values,
    unmet::Unmet,
};
use crate::protocol::answer_state::values_of;
use crate::scenario::{
    escape::Escape,
    mismatch::Mismatch,
    model::{Extractor, Pattern, Query, Subject},
};

/// A complete answer, with the state of its session.
#[derive(Debug)]
pub(crate) struct AnswerView<'a> {
    pub(crate) status: u16,
    pub(crate) head: &'a [u8],
    /// Empty if the step does not keep it.
    pub(crate) body: &'a [u8],
    pub(crate) jar: &'a Jar,
    pub(crate) now_s: i64,
    /// The body parsed as JSON, once for all checks and captures.
    pub(crate) json: OnceCell<Option<Value>>,
}

impl AnswerView<'_> {
    /// Whether all checks of a step hold. If not, `scratch` has what the first of them that failed compares with.
    pub(crate) fn check(
        &self,
        request: &RequestProgram,
        values: &mut Values<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Unmet> {
        let mut checks = request.checks.iter();
        match checks.position(|check| !self.holds(check, values, scratch)) {
            Some(index) => Err(Unmet::Check(index)),
            None => Ok(()),
        }
    }

    /// Stores the captures of a step in its variables; an error if a value is missing that must be there. A link to another host
    /// than `hosts` counts as missing if a path begins with it.
    pub(crate) fn capture(
        &self,
        request: &RequestProgram,
        hosts: &[String],
        variables: &mut [Vec<u8>],
    ) -> Result<(), Unmet> {
        // A request that is sent again needs the variables that it had.
        if request.captures.len() > 1 {
            let mut captures = request.captures.iter();
            if let Some(index) = captures.position(|capture| !self.has_value(capture, hosts)) {
                return Err(Unmet::Capture(index));
            }
        }
        for (index, capture) in request.captures.iter().enumerate() {
            let variable = &mut variables[capture.variable];
            let content = self.find(&capture.from);
            if capture.is_optional && (content.is_none() || self.is_null(&capture.from)) {
                variable.clear();
                continue;
            }
            let value = content
                .filter(|value| fits(capture, value, hosts))
                .ok_or(Unmet::Capture(index))?;
            variable.clear();
            variable.extend_from_slice(&value);
        }
        Ok(())
    }

    /// What the answer lacks, after a check or a capture failed. `compared` is what the check compares with.
    pub(crate) fn mismatch(
        &self,
        request: &RequestProgram,
        unmet: Unmet,
        compared: &[u8],
    ) -> Mismatch {
        let content = match unmet {
            Unmet::Check(index) => self.subject(&request.checks[index].of),
            Unmet::Capture(index) => self.find(&request.captures[index].from),
        };
        unmet.mismatch(request, content.as_deref(), compared)
    }

    /// Whether a capture has a value, or may be without one.
    fn has_value(&self, capture: &CaptureProgram, hosts: &[String]) -> bool {
        match self.find(&capture.from) {
            None => capture.is_optional,
            Some(value) => {
                fits(capture, &value, hosts) || (capture.is_optional && self.is_null(&capture.from))
            }
        }
    }

    fn holds(&self, check: &CheckProgram, values: &mut Values<'_>, scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        if let ConditionProgram::Equals(text) | ConditionProgram::Contains(text) = &check.holds {
            text.write(values, Escape::None, scratch);
        }
        let Some(subject) = self.subject(&check.of) else {
            return false;
        };
        match &check.holds {
            ConditionProgram::Exists => true,
            ConditionProgram::Equals(_) => *subject == **scratch,
            ConditionProgram::Contains(_) => memchr::memmem::find(&subject, scratch).is_some(),
            ConditionProgram::Matches(pattern) => pattern.0.is_match(&subject),
        }
    }

    fn subject(&self, subject: &Subject) -> Option<Cow<'_, [u8]>> {
        match subject {
            Subject::Status => Some(Cow::Owned(self.status.to_string().into_bytes())),
            Subject::Body => Some(Cow::Borrowed(self.body)),
            Subject::Value(source) => self.find(source),
        }
    }

    /// The first value of a JSONPath in the body.
    fn json(&self, query: &Query) -> Option<&Value> {
        let parse = || serde_json::from_slice(self.body).ok();
        let json = self.json.get_or_init(parse);
        query.path.query(json.as_ref()?).first()
    }

    fn is_null(&self, source: &Extractor) -> bool {
        match source {
            Extractor::Json(query) => self.json(query).is_some_and(Value::is_null),
            _ => false,
        }
    }

    fn find(&self, source: &Extractor) -> Option<Cow<'_, [u8]>> {
        match source {
            Extractor::Json(query) => match self.json(query)? {
                Value::String(text) => Some(Cow::Borrowed(text.as_bytes())),
                other => serde_json::to_vec(other).ok().map(Cow::Owned),
            },
            Extractor::Header(name) => values_of(self.head, name.as_bytes())
                .next()
                .map(Cow::Borrowed),
            Extractor::HeaderMatch {
                name,
                pattern,
                group,
            } => values_of(self.head, name.as_bytes())
                .find_map(|value| group_of(pattern, *group, value))
                .map(Cow::Borrowed),
            Extractor::Regex { pattern, group } => {
                group_of(pattern, *group, self.body).map(Cow::Borrowed)
            }
            Extractor::Cookie(name) => self
                .jar
                .value(name.as_bytes(), self.now_s)
                .map(Cow::Borrowed),
        }
    }
}

/// Whether a value can be what it is captured for.
fn fits(capture: &CaptureProgram, value: &[u8], hosts: &[String]) -> bool {
    !capture.is_link || path_of(value, hosts).is_some()
}

/// The first match of a group in a text.
fn group_of<'t>(pattern: &Pattern, group: usize, text: &'t [u8]) -> Option<&'t [u8]> {
    let capture = pattern.0.captures(text)?.get(group)?;
    Some(capture.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::stream::RandomStream,
        sessions::{record_stamps::Record, request_text::SessionRandom},
    };

    const HEAD: &[u8] =
        b"HTTP/1.1 200 OK\r\nETag: \"e:1\"\r\nX-Two: a\r\nx-two: b\r\nContent-Length: 5\r\n\r\n";
    const BODY: &[u8] =
        br#"{"id": 7, "name": "Z\u00fc\"", "items": [{"id": "a"}, {"id": "b"}], "none": null}"#;

    fn check(source: &Extractor, expected: Option<&str>) {
        let mut jar = Jar::default();
        jar.set(b"s=1", &["shop.test"], b"/", 0);
        let seen = AnswerView {
            status: 200,
            head: HEAD,
            body: BODY,
            jar: &jar,
            now_s: 0,
            json: OnceCell::new(),
        };
        let value = seen
            .find(source)
            .map(|value| String::from_utf8_lossy(&value).into_owned());
        assert_eq!(value.as_deref(), expected, "{source:?}");
        let exists = CheckProgram {
            of: Subject::Status,
            holds: ConditionProgram::Exists,
        };
        let mut random = SessionRandom {
            stream: RandomStream::new(0, 0),
            drawn: 0,
        };
        let mut values = Values {
            feeds: &[],
            rows: &[],
            variables: &[],
            session: 0,
            user: 0,
            round: 0,
            offset: 0,
            record: Record::default(),
            random: &mut random,
        };
        assert!(seen.holds(&exists, &mut values, &mut Vec::new()));
    }

    #[test]
    fn parts_of_answers_are_found() {
        let json = |text| Extractor::Json(Query::parse(text).unwrap());
        check(&json("$.id"), Some("7"));
        check(&json("$.name"), Some("Zü\""));
        check(&json("$.items[1].id"), Some("b"));
        check(&json("$..id"), Some("7"));
        check(&json("$.items[0]"), Some(r#"{"id":"a"}"#));
        check(&json("$.none"), Some("null"));
        check(&json("$.other"), None);
        let header = |name: &str| Extractor::Header(name.to_owned());
        check(&header("etag"), Some("\"e:1\""));
        check(&header("X-TWO"), Some("a"));
        check(&header("two"), None);
        check(&header("HTTP/1.1 200 OK"), None);
        let regex = |text, group| Extractor::Regex {
            pattern: Pattern::parse(text).unwrap(),
            group,
        };
        check(&regex(r#""id": (\d)"#, 1), Some("7"));
        check(&regex(r#""id": (\d)"#, 0), Some("\"id\": 7"));
        check(&regex(r"(x)|id", 1), None);
        check(&regex(r"xyz", 0), None);
        let in_header = |name: &str, text, group| Extractor::HeaderMatch {
            name: name.to_owned(),
            pattern: Pattern::parse(text).unwrap(),
            group,
        };
        check(&in_header("etag", "e:(\\d)", 1), Some("1"));
        check(&in_header("x-two", "[b-z]", 0), Some("b"));
        check(&in_header("x-two", "c", 0), None);
        check(&in_header("x-three", "b", 0), None);
        check(&Extractor::Cookie("s".to_owned()), Some("1"));
        check(&Extractor::Cookie("t".to_owned()), None);
    }
}
