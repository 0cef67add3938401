//! Answers that are due: what is known of them, and problems in the form that the client reads.

use std::{borrow::Cow, rc::Rc};

use crate::{
    answers::{
        answer::{AnswerHead, Canned},
        problem::Problem,
    },
    http1::Persistence,
    ingest::influx::{Protocol, refusal::Refusal},
    log::{
        backend::Backend,
        cycle::{Cycle, Share},
        ticket::Fate,
    },
    metrics::Call,
};

/// An answer due, in the order of requests.
pub(super) struct Due {
    pub(super) call: Call,
    pub(super) answer: Answer,
    pub(super) body_bytes: usize,
    pub(super) records: u32,
    pub(super) persistence: Persistence,
    pub(super) content: Content,
    /// That of InfluxDB in which the client speaks.
    pub(super) protocol: Option<Protocol>,
}

/// Whether the body of a problem is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Sent,
    /// As for HEAD.
    Withheld,
}

pub(super) enum Answer {
    /// The outcome of this share of a cycle.
    Log(Rc<Cycle>, Share),
    Refused(Refused),
}

/// A problem as the client reads it.
pub(super) enum Refused {
    Problem(Box<Problem>),
    /// In the form of InfluxDB.
    Influx(Box<Refusal>),
}

impl Refused {
    /// `body` is what the client sent.
    pub(super) fn new(protocol: Option<Protocol>, problem: Problem, body: &[u8]) -> Self {
        match protocol {
            None => Self::Problem(Box::new(problem)),
            Some(protocol) => Self::Influx(Box::new(Refusal::new(protocol, &problem, body))),
        }
    }

    /// Status, fields and body of the answer.
    pub(super) fn parts(&self) -> RefusedParts<'_> {
        match self {
            Self::Problem(problem) => RefusedParts {
                status: problem.status,
                fields: problem.fields(),
                body: Cow::Owned(problem.to_json()),
            },
            Self::Influx(refusal) => RefusedParts {
                status: refusal.status,
                fields: refusal.fields(),
                body: Cow::Borrowed(refusal.body()),
            },
        }
    }

    /// Writes the answer; returns its status.
    pub(super) fn write(&self, due: &Due, canned: &Canned, out: &mut Vec<u8>) -> u16 {
        let parts = self.parts();
        let head = AnswerHead {
            status: parts.status,
            fields: &parts.fields,
            length: Some(parts.body.len()),
            persistence: due.persistence,
        };
        canned.head(out, &head);
        if due.content == Content::Sent {
            out.extend_from_slice(&parts.body);
        }
        parts.status
    }
}

/// What the answer of a refusal is made of.
pub(super) struct RefusedParts<'a> {
    pub(super) status: u16,
    /// But for the length.
    pub(super) fields: Vec<(&'a str, &'a [u8])>,
    pub(super) body: Cow<'a, [u8]>,
}

/// What is known of an answer.
pub(super) enum Outcome<'a> {
    Pending,
    Durable,
    /// It was refused before it came to the log.
    Refused(&'a Refused),
    /// The log has not taken it.
    Failed(Refused),
}

impl Due {
    pub(super) fn outcome(&self, backend: &Backend) -> Outcome<'_> {
        let (cycle, share) = match &self.answer {
            Answer::Refused(refused) => return Outcome::Refused(refused),
            Answer::Log(cycle, share) => (cycle, *share),
        };
        match cycle.fate(share) {
            Fate::Pending => Outcome::Pending,
            Fate::Durable => Outcome::Durable,
            fate @ (Fate::Failed | Fate::Absent) => {
                let problem = cycle
                    .refusal()
                    .unwrap_or_else(|| backend.write_problem(fate));
                Outcome::Failed(Refused::new(self.protocol, problem, b""))
            }
        }
    }
}
