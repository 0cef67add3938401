//! The request of a step → its program.

use waggle_spec::{TUNNEL_METHOD, TUNNEL_OBJECTION};

use super::{Compiler, ScenarioError};
use crate::{
    machine::clock::whole_nanoseconds,
    protocol::answer_matcher::AnswerMatcher,
    scenario::{
        escape::is_control,
        model::{Capture, Check, Condition, Extractor, StepRequest, Subject},
        template::{Part, Template},
    },
    sessions::{
        program::{CaptureProgram, CheckProgram, ConditionProgram, RequestProgram},
        request_text::{Piece, Text},
    },
};

/// Headers that the engine writes itself, or that would change the framing of a request.
const OWN_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];
/// Methods whose requests have `Content-Length: 0` without a body (RFC 9110, section 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

impl<'a> Compiler<'a> {
    /// The number of a request among all.
    pub(super) fn request(&mut self, request: &'a StepRequest) -> Result<usize, ScenarioError> {
        let Some(name) = self.scenario.steps.get(request.step) else {
            return self.refuse(&format!("there is no step number {}", request.step));
        };
        let program =
            self.with_location(format!("step '{name}'"), |inside| inside.parts(request))?;
        self.requests.push(program);
        Ok(self.requests.len() - 1)
    }

    fn parts(&mut self, request: &'a StepRequest) -> Result<RequestProgram, ScenarioError> {
        if !is_token(&request.method) {
            return self.refuse(&format!("'{}' is not a method", request.method));
        }
        if request.method == TUNNEL_METHOD {
            return self.refuse(TUNNEL_OBJECTION);
        }
        let path = self.with_location("path".to_owned(), |inside| inside.path(&request.path))?;
        let headers = self.headers(request)?;
        let body = self.with_location("body".to_owned(), |inside| inside.text(&request.body))?;
        let sent = [&path, &headers, &body];
        let mut checks = Vec::new();
        for check in &request.checks {
            checks
                .push(self.with_location("check".to_owned(), |inside| inside.check(check, sent))?);
        }
        let carries_record = names(&sent, &Piece::RecordKey);
        let mut captures = Vec::new();
        for capture in &request.captures {
            let location = format!("capture of '{}'", capture.variable);
            captures.push(self.with_location(location, |inside| inside.capture(capture))?);
        }
        let keeps_body = request.checks.iter().any(|check| match &check.of {
            Subject::Status => false,
            Subject::Body => true,
            Subject::Value(source) => is_in_body(source),
        }) || request
            .captures
            .iter()
            .any(|capture| is_in_body(&capture.from));
        Ok(RequestProgram {
            step: request.step,
            is_head: request.method == "HEAD",
            method: request.method.clone(),
            path,
            headers,
            sends_cookies: !has_header(request, "cookie"),
            says_no_length: !WITH_BODY.contains(&request.method.as_str()),
            body,
            matcher: AnswerMatcher::new(&request.expect),
            checks,
            captures,
            keeps_body,
            carries_record,
            on_failure: request.on_failure,
            timeout: request.timeout.map(whole_nanoseconds),
        })
    }

    fn path(&mut self, path: &Template) -> Result<Text, ScenarioError> {
        let begins = match path.parts().first() {
            Some(Part::Text(text)) => text.starts_with('/'),
            Some(Part::Variable(_)) => true,
            None => false,
        };
        if !begins {
            return self.refuse("it does not begin with '/'");
        }
        for part in path.parts() {
            if let Part::Text(text) = part
                && let Some(wrong) = text.chars().find(|character| !character.is_ascii_graphic())
            {
                return self.refuse(&format!(
                    "{wrong:?} is not allowed in a path; percent-encode it"
                ));
            }
        }
        let text = self.text(path)?;
        if let Some(first @ (Piece::Variable(_) | Piece::Column { .. })) = text.0.first()
            && !self.links.contains(first)
        {
            self.links.push(first.clone());
        }
        Ok(text)
    }

    fn headers(&mut self, request: &'a StepRequest) -> Result<Text, ScenarioError> {
        let mut lines = Text::default();
        if !has_header(request, "host") {
            push(&mut lines, format!("Host: {}\r\n", self.scenario.host));
        }
        for (name, value) in &request.headers {
            if let ("host", [Part::Text(host)]) = (&*name.to_ascii_lowercase(), value.parts()) {
                self.hosts.push(host.clone());
            }
            let value = self.with_location(format!("header '{name}'"), |inside| {
                inside.header(name, value)
            })?;
            push(&mut lines, format!("{name}: "));
            lines.0.extend(value.0);
            push(&mut lines, "\r\n".to_owned());
        }
        Ok(lines)
    }

    fn header(&mut self, name: &str, value: &Template) -> Result<Text, ScenarioError> {
        if !is_token(name) {
            return self.refuse("this is not a header name");
        }
        if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return self.refuse("the engine writes this one itself");
        }
        let is_bad = |part: &Part| match part {
            Part::Text(text) => text.bytes().any(is_control),
            Part::Variable(_) => false,
        };
        if value.parts().iter().any(is_bad) {
            return self.refuse("control characters are not allowed in a header");
        }
        self.text(value)
    }

    fn check(&mut self, check: &Check, sent: [&Text; 3]) -> Result<CheckProgram, ScenarioError> {
        if let Subject::Value(source) = &check.of {
            self.source(source)?;
        }
        Ok(CheckProgram {
            of: check.of.clone(),
            holds: match &check.holds {
                Condition::Exists => ConditionProgram::Exists,
                Condition::Equals(text) => {
                    ConditionProgram::Equals(self.expected_text(text, sent)?)
                }
                Condition::Contains(text) => {
                    ConditionProgram::Contains(self.expected_text(text, sent)?)
                }
                Condition::Matches(pattern) => ConditionProgram::Matches(pattern.clone()),
            },
        })
    }

    fn capture(&mut self, capture: &'a Capture) -> Result<CaptureProgram, ScenarioError> {
        self.source(&capture.from)?;
        Ok(CaptureProgram {
            variable: self.captured_index(capture)?,
            from: capture.from.clone(),
            is_optional: capture.is_optional,
            is_link: false,
        })
    }

    /// A text that an answer is compared with; its stamps are those that were sent.
    fn expected_text(&mut self, text: &Template, sent: [&Text; 3]) -> Result<Text, ScenarioError> {
        let wanted = self.text(text)?;
        for (stamp, name) in [
            (Piece::RecordKey, "record.key"),
            (Piece::RecordTime, "record.time"),
        ] {
            if names(&[&wanted], &stamp) && !names(&sent, &stamp) {
                return self.refuse(&format!(
                    "'{{{{{name}}}}}' is in no part of the request of this step"
                ));
            }
        }
        Ok(wanted)
    }

    fn source(&self, source: &Extractor) -> Result<(), ScenarioError> {
        match source {
            Extractor::Regex { pattern, group } | Extractor::HeaderMatch { pattern, group, .. }
                if *group >= pattern.groups() =>
            {
                let groups = pattern.groups();
                self.refuse(&format!(
                    "there is no group {group}; the pattern has {groups}, the whole match being 0"
                ))
            }
            Extractor::Header(name) | Extractor::HeaderMatch { name, .. } if !is_token(name) => {
                self.refuse(&format!("'{name}' is not a header name"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether one of the texts contains a piece.
fn names(texts: &[&Text], piece: &Piece) -> bool {
    texts.iter().any(|text| text.0.contains(piece))
}

/// Appends to a text; adjacent literals become one piece.
fn push(text: &mut Text, part: String) {
    match text.0.last_mut() {
        Some(Piece::Bytes(bytes)) => bytes.extend_from_slice(part.as_bytes()),
        _ => text.0.push(Piece::Bytes(part.into_bytes())),
    }
}

fn has_header(request: &StepRequest, header: &str) -> bool {
    let is_it = |(name, _): &(String, Template)| name.eq_ignore_ascii_case(header);
    request.headers.iter().any(is_it)
}

fn is_in_body(source: &Extractor) -> bool {
    match source {
        Extractor::Json(_) | Extractor::Regex { .. } => true,
        Extractor::Header(_) | Extractor::HeaderMatch { .. } | Extractor::Cookie(_) => false,
    }
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_sign = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || is_sign(byte);
    !text.is_empty() && text.bytes().all(is_one)
}
