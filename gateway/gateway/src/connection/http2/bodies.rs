//! Requests that wait: for the rest of their bodies, or for their topics.

use std::time::Instant;

use waggle_wire::http2::server::RequestHead;

use crate::{
    answers::problem::Problem,
    clients::identity::caller::Caller,
    http1::{self, Head, Line, SLOTS},
};

/// A request whose body is incomplete.
pub(super) struct Body {
    pub(super) stream: u32,
    pub(super) head: RequestHead,
    pub(super) bytes: Vec<u8>,
    /// Who sends it, once that is judged: before something of the body is kept.
    pub(super) caller: Option<Caller>,
    /// Bytes that are counted as in flight.
    pub(super) received: usize,
    /// Those of them that arrived before the current time of `--body-timeout`, which began then.
    pub(super) received_before: usize,
    pub(super) since: Instant,
}

impl Body {
    pub(super) fn new(since: Instant) -> Self {
        Self {
            stream: 0,
            head: RequestHead::default(),
            bytes: Vec::new(),
            caller: None,
            received: 0,
            received_before: 0,
            since,
        }
    }
}

impl Body {
    /// The bytes that are counted, which its client does not keep any longer.
    pub(super) fn take_received(&mut self) -> usize {
        let received = std::mem::take(&mut self.received);
        if let Some(caller) = &self.caller {
            caller.memory().in_flight.give_back(received);
        }
        received
    }
}

/// A request whose topic is being looked up. Its body is counted as in flight.
pub(super) struct WithoutTopic {
    pub(super) stream: u32,
    pub(super) head: RequestHead,
    pub(super) body: Vec<u8>,
    pub(super) caller: Caller,
    pub(super) topic: Box<str>,
    pub(super) is_known: bool,
}

/// Works with a head in the form of all others.
pub(super) fn with_head<T>(
    head: &RequestHead,
    work: impl FnOnce(Head<'_, '_>) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let text = |bytes| std::str::from_utf8(bytes);
    let (Ok(method), Ok(target)) = (text(head.method()), text(head.target())) else {
        return Err(Problem::new(400, "the target is not text"));
    };
    let mut headers = [httparse::EMPTY_HEADER; SLOTS];
    let mut count = 0;
    for ((name, value), slot) in head.fields().zip(&mut headers) {
        // Names are ASCII.
        slot.name = text(name).unwrap_or_default();
        slot.value = value;
        count += 1;
    }
    let line = Line {
        method,
        target,
        authority: head.authority(),
    };
    let refused = |refusal: http1::Refusal| Problem::new(refusal.status, refusal.problem);
    work(Head::from_fields(line, &headers[..count]).map_err(refused)?)
}
