//! Dispatch of a request: its records are staged for the log, or it is kept for the router.

use super::{Answer, Content, Due};
use crate::{
    answers::problem::Problem,
    call,
    calls::latest,
    clients::identity::caller::CallerOfConnection,
    http1, ingest,
    log::backend::{By, NotStaged},
    metrics::Call,
    worker::Worker,
};

/// Result of the dispatch.
pub(super) enum Taken {
    Records(Due),
    Call(Box<call::Owned>),
    /// It is answered.
    Answered,
    /// Not dispatched: it can be answered when all earlier ones are. To be repeated.
    Behind,
    /// Not dispatched: its topic is new and being looked up. To be repeated.
    NoTopicYet(Box<str>),
}

/// The answer to a request that its sender may not send.
fn refusal(head: &http1::Head<'_, '_>, problem: Problem) -> Due {
    let is_write = ingest::records_target(head.target).is_some();
    Due {
        call: if is_write {
            Call::PutRecords
        } else {
            Call::Other
        },
        answer: Answer::Problem(Box::new(problem)),
        body_bytes: 0,
        records: 0,
        persistence: head.persistence,
        content: if head.method == "HEAD" {
            Content::Withheld
        } else {
            Content::Sent
        },
    }
}

/// A complete request.
pub(super) struct Arrived<'a, 'slots> {
    pub(super) request: http1::Request<'a, 'slots>,
    /// Bytes of its body that are counted as in flight.
    pub(super) received: usize,
}

/// Output for an answer that is known at once.
pub(super) enum Out<'a> {
    /// All earlier answers are written.
    Next(&'a mut Vec<u8>),
    Behind,
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
    } = arrived;
    let head = &request.head;
    if let Err(problem) = caller.judge(head) {
        worker.shared.release(received);
        return Taken::Records(refusal(head, problem));
    }
    let caller = &*caller;
    if latest::is_plain_form(request) && !worker.draining.get() {
        let Out::Next(out) = out else {
            return Taken::Behind;
        };
        if latest::answer(worker, &caller.caller, head, out) {
            worker.metrics.count_answer(Call::Latest, 200);
            return Taken::Answered;
        }
    }
    let target = match head.method {
        "PUT" | "POST" => ingest::records_target(head.target),
        _ => None,
    };
    let Some(target) = target else {
        worker.shared.release(received);
        return Taken::Call(Box::new(call::Owned::new(
            request,
            &worker.shared,
            &caller.caller,
        )));
    };
    let taken = |answer, body_bytes, records| {
        Taken::Records(Due {
            call: Call::PutRecords,
            answer,
            body_bytes,
            records,
            persistence: head.persistence,
            content: Content::Sent,
        })
    };
    let judged = caller.caller.check_write(target.topic);
    if let Err(problem) = judged.and_then(|()| caller.count_bytes(request.body.len())) {
        worker.shared.release(received);
        return Taken::Records(refusal(head, problem));
    }
    let body_bytes = request.body.len();
    let more = body_bytes.saturating_sub(received);
    if more > 0 && !worker.shared.reserve(more, body_bytes) {
        worker.shared.release(received);
        let problem = Problem::new(503, "too many bytes are in flight; try again");
        return taken(Answer::Problem(Box::new(problem)), 0, 0);
    }
    worker.shared.release(received.saturating_sub(body_bytes));
    let by = By {
        shared: &worker.shared,
        caller: &caller.caller,
    };
    let staged = worker.staged.borrow_mut().stage(by, target, request);
    match staged {
        Ok((share, records)) => taken(Answer::Log(worker.cycle(), share), body_bytes, records),
        Err(NotStaged::Problem(problem)) => {
            taken(Answer::Problem(Box::new(problem)), body_bytes, 0)
        }
        Err(NotStaged::NoTopicYet) => {
            worker.shared.release(body_bytes);
            Taken::NoTopicYet(target.topic.into())
        }
    }
}
