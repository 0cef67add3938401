//! Answers that are due: what is known of them, and problems in the form that the client reads.

use std::{borrow::Cow, rc::Rc};

use crate::{
    answers::{answer::Canned, problem::Problem},
    http1::Persistence,
    ingest::influx::{Protocol, refusal::Refusal},
    log::cycle::{Cycle, Share},
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

    /// Writes the answer; returns its status.
    pub(super) fn write(&self, due: &Due, canned: &Canned, out: &mut Vec<u8>) -> u16 {
        let persistence = due.persistence;
        let (status, body) = match self {
            Self::Problem(problem) => {
                let body = canned.problem_head(out, problem, persistence);
                (problem.status, Cow::Owned(body))
            }
            Self::Influx(refusal) => {
                let body = refusal.write_head(canned, out, persistence);
                (refusal.status, Cow::Borrowed(body))
            }
        };
        if due.content == Content::Sent {
            out.extend_from_slice(&body);
        }
        status
    }
}
