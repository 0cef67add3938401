//! Answers whose content is known: to records, refusals, readings.

use tokio::io::{AsyncRead, AsyncWrite};
use waggle_wire::http2::server::{RequestHead, Then};

use super::{
    heads::{AnswerHead, put_fields},
    state::Http2,
};
use crate::{
    answers::{form::Form, problem::Problem},
    connection::due::{Content, Due, Outcome, Refused, RefusedParts},
    ingest::influx::Protocol,
    metrics::{Call, HttpVersion, add},
};

/// What the answers of one look have counted.
#[derive(Default)]
struct Counted {
    released: usize,
    received: u64,
    records: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Http2<'_, S> {
    /// Appends the head of an answer.
    pub(super) fn put_head(&mut self, stream: u32, head: &AnswerHead<'_>, then: Then) {
        let canned = self.parts.worker.canned.borrow();
        let out = &mut self.out;
        if !self.server.is_settled() {
            self.heads.forget();
        }
        self.server
            .answer_with(stream, then, out, |encoder, block| {
                put_fields(encoder, block, &canned, head);
            });
    }

    /// Answers all requests whose outcome is known.
    pub(super) fn settle(&mut self) {
        if self.due.is_empty() {
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        let mut counted = Counted::default();
        let before = due.len();
        due.retain(|(stream, due)| !self.answer_due(*stream, due, &mut counted));
        if due.len() < before {
            self.quiet_since = std::time::Instant::now();
        }
        self.due = due;
        let worker = self.parts.worker;
        worker.shared.release(counted.released);
        add(&worker.metrics.body_bytes, counted.received);
        add(&worker.metrics.records, counted.records);
    }

    /// Answers a request if its outcome is known; whether it is.
    fn answer_due(&mut self, stream: u32, due: &Due, counted: &mut Counted) -> bool {
        let worker = self.parts.worker;
        let status = match due.outcome(&worker.shared.backend) {
            Outcome::Pending => return false,
            Outcome::Durable => {
                counted.records += u64::from(due.records);
                self.answer_durable(stream, due);
                204
            }
            Outcome::Failed(refused) => self.answer_refused(stream, &refused, due.content),
            Outcome::Refused(refused) => self.answer_refused(stream, refused, due.content),
        };
        let metrics = &worker.metrics;
        metrics.count_answer(HttpVersion::Two, due.call, status);
        counted.released += due.body_bytes;
        if matches!(due.call, Call::PutRecords | Call::WriteInflux) {
            counted.received += due.body_bytes as u64;
        }
        true
    }

    fn answer_durable(&mut self, stream: u32, due: &Due) {
        let fields = due.protocol.map_or(&[][..], Protocol::fields_of_no_content);
        if fields.is_empty() {
            let canned = self.parts.worker.canned.borrow();
            let (server, out) = (&mut self.server, &mut self.out);
            return self.heads.put_no_content(server, stream, &canned, out);
        }
        let head = AnswerHead {
            status: 204,
            fields,
            length: None,
        };
        self.put_head(stream, &head, Then::End);
    }

    /// Answers with a problem; returns its status.
    fn answer_refused(&mut self, stream: u32, refused: &Refused, content: Content) -> u16 {
        let RefusedParts {
            status,
            fields,
            body,
        } = refused.parts();
        let head = AnswerHead {
            status,
            fields: &fields,
            length: Some(body.len()),
        };
        if content == Content::Withheld {
            self.put_head(stream, &head, Then::End);
        } else {
            self.put_head(stream, &head, Then::More);
            self.send_whole(stream, &body);
        }
        status
    }

    /// Refuses a request that does not come to its dispatch.
    pub(super) fn refuse(&mut self, stream: u32, head: Option<&RequestHead>, problem: Problem) {
        let target = head.and_then(|head| std::str::from_utf8(head.target()).ok());
        let protocol = target.and_then(Protocol::from_target);
        let is_head = head.is_some_and(|head| head.method() == b"HEAD");
        let refused = Refused::new(protocol, problem, b"");
        let content = if is_head {
            Content::Withheld
        } else {
            Content::Sent
        };
        let status = self.answer_refused(stream, &refused, content);
        let metrics = &self.parts.worker.metrics;
        metrics.count_answer(HttpVersion::Two, Call::Other, status);
    }

    /// Answers with the reading that the worker's scratch has.
    pub(super) fn answer_reading(&mut self, stream: u32, form: Form) {
        let worker = self.parts.worker;
        let scratch = worker.scratch.borrow();
        let media_type: &[u8] = match form {
            Form::Lines => b"text/plain; charset=utf-8",
            Form::Json => b"application/json",
        };
        let head = AnswerHead {
            status: 200,
            fields: &[("content-type", media_type)],
            length: Some(scratch.body.len()),
        };
        self.put_head(stream, &head, Then::More);
        self.send_whole(stream, &scratch.body);
    }
}
