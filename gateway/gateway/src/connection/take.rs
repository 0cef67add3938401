//! Dispatch of a request: its records are staged for the log, or it is kept for the router.

use super::{Answer, Content, Due, Refused};
use crate::{
    answers::{form::Form, problem::Problem},
    call,
    calls::latest,
    clients::identity::caller::{Caller, CallerOfConnection},
    http1::{self, Head, Persistence, Sender},
    ingest::{
        self, Kind,
        encoding::{self, Coding},
        influx::{self, Protocol},
    },
    log::backend::{By, NotStaged},
    metrics::{Call, HttpVersion},
    worker::Worker,
};

/// Result of the dispatch.
pub(super) enum Taken {
    Records(Due),
    Call(Box<call::Owned>),
    /// It is answered.
    Answered,
    /// A reading is the answer; the worker's scratch has it.
    Reading(Form),
    /// Not dispatched: it can be answered when all earlier ones are. To be repeated.
    Behind,
    /// Not dispatched: its topic is new and being looked up. To be repeated.
    NoTopicYet(Box<str>),
}

/// The answer to a request that its sender may not send.
fn refusal(head: &Head<'_, '_>, problem: Problem) -> Due {
    let is_put = ingest::records_target(head.target).is_some();
    let protocol = Protocol::from_target(head.target);
    Due {
        call: match protocol {
            _ if is_put => Call::PutRecords,
            Some(_) if influx::write_call(head).is_some() => Call::WriteInflux,
            _ => Call::Other,
        },
        answer: Answer::Refused(Refused::new(protocol, problem, b"")),
        body_bytes: 0,
        records: 0,
        persistence: head.persistence,
        content: if head.method == "HEAD" {
            Content::Withheld
        } else {
            Content::Sent
        },
        protocol,
    }
}

/// A complete request.
pub(super) struct Arrived<'a, 'slots> {
    pub(super) request: http1::Request<'a, 'slots>,
    /// Bytes of its body that are counted as in flight.
    pub(super) received: usize,
    /// Its sender was judged before: by its head alone, or when it could not be dispatched.
    pub(super) is_judged: bool,
}

/// Output for an answer that is known at once.
pub(super) enum Out<'a> {
    /// All earlier answers are written.
    Next(&'a mut Vec<u8>),
    Behind,
    /// The request is a stream, whose answer needs no turn.
    Stream,
}

/// Dispatches a request: records are staged, any other call waits for its turn.
pub(super) fn take(
    worker: &Worker,
    caller: &mut CallerOfConnection,
    arrived: &Arrived<'_, '_>,
    out: Out<'_>,
) -> Taken {
    let &Arrived {
        ref request,
        received,
        is_judged,
    } = arrived;
    let head = &request.head;
    if !is_judged && let Err(problem) = judge(worker, caller, head) {
        worker.shared.release(received);
        return Taken::Records(refusal(head, problem));
    }
    let caller = &*caller;
    if latest::is_plain_form(request)
        && !worker.draining.get()
        && let Some(taken) = take_reading(worker, &caller.caller, head, out)
    {
        return taken;
    }
    let target = match head.method {
        "PUT" | "POST" => ingest::records_target(head.target),
        _ => None,
    };
    if let Some(target) = target {
        let kind = Kind::Typed {
            query: target.query,
            content_type: head.content_type,
        };
        let write = Write {
            topic: target.topic,
            content: ingest::Content {
                body: request.body,
                kind,
            },
            protocol: None,
        };
        return take_records(worker, caller, arrived, write);
    }
    if let Some((protocol, query)) = influx::write_call(head) {
        return match influx::read_write(protocol, query) {
            Ok(asked) => {
                let write = Write {
                    topic: &asked.topic,
                    content: ingest::Content {
                        body: request.body,
                        kind: Kind::Lines(asked.unit),
                    },
                    protocol: Some(protocol),
                };
                take_records(worker, caller, arrived, write)
            }
            Err(problem) => {
                worker.shared.release(received);
                Taken::Records(refusal(head, problem))
            }
        };
    }
    worker.shared.release(received);
    Taken::Call(Box::new(call::Owned::new(
        request,
        &worker.shared,
        &caller.caller,
    )))
}

/// Answers with the latest reading of a series, from memory; `None` if the router has to.
fn take_reading(
    worker: &Worker,
    caller: &Caller,
    head: &Head<'_, '_>,
    out: Out<'_>,
) -> Option<Taken> {
    if matches!(out, Out::Behind) {
        return Some(Taken::Behind);
    }
    let form = latest::find(worker, caller, head)?;
    let metrics = &worker.metrics;
    let Out::Next(out) = out else {
        metrics.count_answer(HttpVersion::Two, Call::Latest, 200);
        return Some(Taken::Reading(form));
    };
    metrics.count_answer(HttpVersion::One, Call::Latest, 200);
    let scratch = worker.scratch.borrow();
    worker.canned.borrow().reading(out, form, &scratch.body);
    Some(Taken::Answered)
}

/// Judges a request whose head has arrived before its body, so that nothing of the body is kept if its sender may not send it.
///
/// # Errors
/// The refusal; the connection is closed after it, because the body is not read.
pub(super) fn judge_before_body(
    worker: &Worker,
    caller: &mut CallerOfConnection,
    head: &Head<'_, '_>,
) -> Result<(), Due> {
    let judged = judge(worker, caller, head);
    let judged = judged.and_then(|()| check_rights(worker, &caller.caller, head));
    judged.map_err(|problem| Due {
        persistence: Persistence::Closed,
        ..refusal(head, problem)
    })
}

/// Refuses a call with a body that the sender has no right to, as far as its head shows that.
fn check_rights(worker: &Worker, caller: &Caller, head: &Head<'_, '_>) -> Result<(), Problem> {
    if caller.identity.is_none() {
        return Ok(());
    }
    if let Some((protocol, query)) = influx::write_call(head) {
        return caller.check_write(&influx::read_write(protocol, query)?.topic);
    }
    match (head.method, ingest::records_target(head.target)) {
        ("PUT" | "POST", Some(target)) => caller.check_write(target.topic),
        ("POST", None) if call::is_passed_query(head.target, &worker.shared.settings) => {
            caller.check_read_all()
        }
        _ => Ok(()),
    }
}

/// Judges a request by its head, in which a client of InfluxDB may have its token elsewhere.
fn judge(
    worker: &Worker,
    caller: &mut CallerOfConnection,
    head: &Head<'_, '_>,
) -> Result<(), Problem> {
    if worker.shared.gate.identities.is_some()
        && let Some(authorization) = influx::authorization(head)
    {
        let sender = Sender {
            authorization: Some(&authorization),
            ..head.sender
        };
        return caller.judge(&Head { sender, ..*head });
    }
    caller.judge(head)
}

/// The records of a request, and where they go.
#[derive(Clone, Copy)]
struct Write<'a> {
    topic: &'a str,
    content: ingest::Content<'a>,
    /// `None` for the gateway's own call.
    protocol: Option<Protocol>,
}

/// Stages the records of a request, if its sender may write them and there is room for them.
fn take_records(
    worker: &Worker,
    caller: &CallerOfConnection,
    arrived: &Arrived<'_, '_>,
    write: Write<'_>,
) -> Taken {
    let &Arrived {
        ref request,
        received,
        ..
    } = arrived;
    let (head, shared) = (&request.head, &worker.shared);
    let refuse = |counted: usize, problem| {
        shared.release(counted);
        Taken::Records(refusal(head, problem))
    };
    let coding = match admit(caller, request, write.topic) {
        Ok(coding) => coding,
        Err(problem) => return refuse(received, problem),
    };
    let body_bytes = request.body.len();
    let more = body_bytes.saturating_sub(received);
    if more > 0 && !shared.reserve(more, body_bytes) {
        let problem = Problem::new(503, "too many bytes are in flight; try again");
        return refuse(received, problem);
    }
    shared.release(received.saturating_sub(body_bytes));
    let Some(coding) = coding else {
        return stage(worker, caller, head, write);
    };
    let text = encoding::decode(coding, request.body, shared);
    shared.release(body_bytes);
    let text = match text {
        Ok(text) => text,
        Err(problem) => return refuse(0, problem),
    };
    // A budget is of what was sent, decoded: it could be had a hundred times over otherwise.
    if let Err(problem) = caller.count_bytes(text.len()) {
        return refuse(text.len(), problem);
    }
    let content = ingest::Content {
        body: &text,
        ..write.content
    };
    stage(worker, caller, head, Write { content, ..write })
}

/// Whether the sender may write this; returns the coding of the body. The bytes of one without a coding are counted.
fn admit(
    caller: &CallerOfConnection,
    request: &http1::Request<'_, '_>,
    topic: &str,
) -> Result<Option<Coding>, Problem> {
    caller.caller.check_write(topic)?;
    let coding = encoding::coding(request.head.content_encoding)?;
    if coding.is_none() {
        caller.count_bytes(request.body.len())?;
    }
    Ok(coding)
}

/// Stages records whose bytes are counted as in flight.
fn stage(
    worker: &Worker,
    caller: &CallerOfConnection,
    head: &Head<'_, '_>,
    write: Write<'_>,
) -> Taken {
    let Write {
        topic,
        content,
        protocol,
    } = write;
    let by = By {
        shared: &worker.shared,
        caller: &caller.caller,
    };
    let staged = worker.staged.borrow_mut().stage(by, topic, content);
    let (answer, records) = match staged {
        Ok((share, records)) => (Answer::Log(worker.cycle(), share), records),
        Err(NotStaged::Problem(problem)) => {
            let refused = Refused::new(protocol, problem, content.body);
            (Answer::Refused(refused), 0)
        }
        Err(NotStaged::NoTopicYet) => {
            worker.shared.release(content.body.len());
            return Taken::NoTopicYet(topic.into());
        }
    };
    Taken::Records(Due {
        call: match protocol {
            None => Call::PutRecords,
            Some(_) => Call::WriteInflux,
        },
        answer,
        body_bytes: content.body.len(),
        records,
        persistence: head.persistence,
        content: Content::Sent,
        protocol,
    })
}
