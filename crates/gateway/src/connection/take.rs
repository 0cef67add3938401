//! One request sorted: its records staged for the store, or kept for the router.

use super::{Answer, Due};
use crate::call;
use crate::http1;
use crate::ingest;
use crate::metrics::Call;
use crate::problem::Problem;
use crate::store::Chunk;
use crate::worker::Worker;

/// What became of a request.
pub(super) enum Taken {
    Records(Due),
    Call(Box<call::Owned>),
}

/// Sorts a request: records are staged, anything else is kept for its turn.
pub(super) fn take(worker: &Worker, request: &http1::Request<'_, '_>, announced: usize) -> Taken {
    let head = &request.head;
    let target = match head.method {
        "PUT" | "POST" => ingest::records_target(head.target),
        _ => None,
    };
    let Some(target) = target else {
        worker.shared.release(announced);
        return Taken::Call(Box::new(call::Owned::of(request)));
    };
    let body_bytes = request.body.len();
    let more = body_bytes.saturating_sub(announced);
    let staged = if more > 0 && !worker.shared.reserve(more) {
        worker.shared.release(announced);
        let problem = Problem::new(503, "too many bytes are in flight; try again");
        return Taken::Records(Due {
            call: Call::PutRecords,
            answer: Answer::Problem(Box::new(problem)),
            body_bytes: 0,
            records: 0,
            last: !head.keep_alive,
        });
    } else {
        worker.shared.release(announced.saturating_sub(body_bytes));
        stage(worker, target, request)
    };
    let (answer, records) = match staged {
        Ok(records) => (Answer::Staged, records),
        Err(problem) => (Answer::Problem(Box::new(problem)), 0),
    };
    Taken::Records(Due {
        call: Call::PutRecords,
        answer,
        body_bytes,
        records,
        last: !head.keep_alive,
    })
}

/// Adds the body's records to what this turn hands to the store, all or none of them.
fn stage(
    worker: &Worker,
    target: ingest::Ingest<'_>,
    request: &http1::Request<'_, '_>,
) -> Result<u32, Problem> {
    let Some(slot) = worker.topic(target.topic) else {
        return stage_first(worker, target, request);
    };
    let mut staged = worker.staged.borrow_mut();
    let (chunk, mark) = staged.chunk(slot);
    let before = chunk.count;
    match ingest::read_into(chunk, target.query, request, &worker.shared.clock) {
        Ok(()) => Ok(chunk.count - before),
        Err(problem) => {
            chunk.take_back(mark);
            Err(problem)
        }
    }
}

/// The same for a topic's first records. Without records there is no topic, so the body is read before there is one.
fn stage_first(
    worker: &Worker,
    target: ingest::Ingest<'_>,
    request: &http1::Request<'_, '_>,
) -> Result<u32, Problem> {
    ingest::check_topic(target.topic)?;
    let mut first = Chunk::default();
    ingest::read_into(&mut first, target.query, request, &worker.shared.clock)?;
    let slot = worker.new_topic(target.topic)?;
    worker.staged.borrow_mut().chunk(slot).0.append(&first);
    Ok(first.count)
}
