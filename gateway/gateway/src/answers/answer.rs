//! Answers as bytes on the wire.

use crate::{
    answers::{form::Form, problem::Problem},
    http1::Persistence,
};

/// The parts that all answers of a worker share for a second: prepared once, copied into each answer.
#[derive(Debug, Default)]
pub(crate) struct Canned {
    /// Counts the seconds.
    renewals: u64,
    /// The `Date` line.
    date: Vec<u8>,
    /// A complete 204.
    no_content: Vec<u8>,
    /// The head of a 200 with a reading, up to its length: as a line, and as JSON.
    line: Vec<u8>,
    json: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerHead<'a> {
    pub(crate) status: u16,
    pub(crate) fields: &'a [(&'a str, &'a [u8])],
    /// Length of the body; `None` if the status allows no body or a field has it.
    pub(crate) length: Option<usize>,
    pub(crate) persistence: Persistence,
}

const DATE: &[u8] = b"date: ";

pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl Canned {
    pub(crate) fn renew(&mut self, now: std::time::SystemTime) {
        self.renewals += 1;
        self.date.clear();
        self.date.extend_from_slice(DATE);
        self.date
            .extend_from_slice(httpdate::fmt_http_date(now).as_bytes());
        self.date.extend_from_slice(b"\r\n");
        self.no_content.clear();
        self.no_content
            .extend_from_slice(b"HTTP/1.1 204 No Content\r\n");
        self.no_content.extend_from_slice(&self.date);
        self.no_content.extend_from_slice(b"\r\n");
        for (head, media_type) in [
            (&mut self.line, "text/plain; charset=utf-8"),
            (&mut self.json, "application/json"),
        ] {
            head.clear();
            head.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
            head.extend_from_slice(&self.date);
            head.extend_from_slice(b"content-type: ");
            head.extend_from_slice(media_type.as_bytes());
            head.extend_from_slice(b"\r\ncontent-length: ");
        }
    }

    /// Changes whenever [`Self::date`] does.
    pub(crate) fn renewals(&self) -> u64 {
        self.renewals
    }

    /// The value of `Date`.
    pub(crate) fn date(&self) -> &[u8] {
        let value = self.date.get(DATE.len()..);
        value.unwrap_or_default().trim_ascii_end()
    }

    /// A reading; the connection stays open after it.
    pub(crate) fn reading(&self, out: &mut Vec<u8>, form: Form, body: &[u8]) {
        out.extend_from_slice(match form {
            Form::Lines => &self.line,
            Form::Json => &self.json,
        });
        out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(body);
    }

    pub(crate) fn no_content(&self, out: &mut Vec<u8>, persistence: Persistence) {
        if persistence == Persistence::Implied {
            out.extend_from_slice(&self.no_content);
            return;
        }
        let head = AnswerHead {
            status: 204,
            fields: &[],
            length: None,
            persistence,
        };
        self.head(out, &head);
    }

    pub(crate) fn problem(&self, out: &mut Vec<u8>, problem: &Problem, persistence: Persistence) {
        let body = problem.to_json();
        let head = AnswerHead {
            status: problem.status,
            fields: &problem.fields(),
            length: Some(body.len()),
            persistence,
        };
        self.head(out, &head);
        out.extend_from_slice(&body);
    }

    pub(crate) fn head(&self, out: &mut Vec<u8>, head: &AnswerHead<'_>) {
        let &AnswerHead {
            status,
            fields,
            length,
            persistence,
        } = head;
        let reason = http::StatusCode::from_u16(status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("");
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
        out.push(b' ');
        out.extend_from_slice(reason.as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.date);
        for (name, value) in fields {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(length) = length {
            out.extend_from_slice(b"content-length: ");
            out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(match persistence {
            Persistence::Implied => b"",
            Persistence::Announced => b"connection: keep-alive\r\n",
            Persistence::Closed => b"connection: close\r\n",
        });
        out.extend_from_slice(b"\r\n");
    }
}
