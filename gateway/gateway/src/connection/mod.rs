//! A client's connection: reads pipelined requests of HTTP/1.1 and answers them in their order; `http2` serves those that are streams.
//!
//! Records are staged as they are read. The worker hands all records of a cycle to the log together, and their requests wait in
//! line for the outcome. Any other call is a barrier: it starts when all earlier ones are answered, and later ones are read when
//! it is answered (RFC 9112, section 9.3.2, lets only safe methods overtake).

mod due;
mod ending;
mod handshake;
mod http2;
mod stream;
mod take;
mod wait;

use std::{
    collections::VecDeque,
    future::poll_fn,
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use tokio::time::Sleep;

use crate::{
    answers::{answer, answer::AnswerHead, problem::Problem},
    call,
    calls::{AnswerMemory, RestOfPage},
    clients::admission::Admission,
    clients::identity::{caller::CallerOfConnection, certificate::Certificate},
    http1::{self, Persistence, Reader, SLOTS, Slots, Step},
    ingest::influx::Protocol,
    log::cycle::Cycle,
    metrics::{Call, HttpVersion, add},
    worker::Worker,
};
use due::{Answer, Content, Due, Outcome, Refused};
pub(crate) use ending::linger;
use ending::{Ended, INPUT_BYTES, OUT_PAUSE_BYTES};
pub(crate) use handshake::serve_encrypted;
use http2::{Http2, Parts};
use stream::{Stream, wait_for_departure};
use take::{Arrived, Out, Taken, judge_before_body, take};

/// What the connection does with further input.
enum Intake {
    Open,
    /// A call that waits for its turn.
    Barrier(Box<call::Owned>),
    /// The next request is answered from memory as soon as all earlier ones are; it stays in the input.
    Behind,
    /// The next request's topic is being looked up; the request stays in the input.
    Topic(Box<str>),
    /// The client speaks HTTP/2.
    Http2,
    /// Nothing more is read.
    Closed,
}

/// What the connection waits for; each has its timeout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Head,
    Body,
}

/// A connection over a plain or an encrypted stream.
pub(crate) struct Connection<S> {
    worker: Rc<Worker>,
    /// Counts the connection until it ends.
    _admission: Admission,
    caller: CallerOfConnection,
    stream: S,
    reader: Reader,
    input: Vec<u8>,
    due: VecDeque<Due>,
    intake: Intake,
    out: Vec<u8>,
    sent: usize,
    /// Counts the bytes of a large answer in `out`.
    held: Option<Arc<AnswerMemory>>,
    /// The rest of an answer whose first part is in `out`.
    rest: Option<Box<RestOfPage>>,
    /// When the client last read some bytes, if answers are pending.
    stuck_since: Option<Instant>,
    /// Bytes of a body being received, already counted as in flight.
    received: usize,
    /// Those of them that arrived before the current time of `--body-timeout`.
    received_before: usize,
    continued: bool,
    /// The next request has been judged by its head.
    is_judged: bool,
    /// No request has arrived.
    is_first: bool,
    phase: Phase,
    phase_since: Instant,
    timer: Pin<Box<Sleep>>,
    timer_at: Instant,
    /// It wakes this task.
    timer_is_armed: bool,
    woken_by: Option<Rc<Cycle>>,
    entered: Option<u64>,
    timed_out: bool,
    /// Complete requests may be left in the input.
    stopped_short: bool,
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        let in_flight =
            self.take_received() + self.due.iter().map(|due| due.body_bytes).sum::<usize>();
        self.worker.shared.release(in_flight);
        if let Some(number) = self.entered {
            self.worker.leave(number);
        }
    }
}

impl<S> Connection<S> {
    /// The bytes of the body being received, which the client does not keep any longer.
    fn take_received(&mut self) -> usize {
        let received = std::mem::take(&mut self.received);
        // Who sends it has not changed since: a request is judged once, before its body.
        let memory = self.caller.caller.memory();
        memory.in_flight.give_back(received);
        received
    }
}

impl<S: Stream> Connection<S> {
    /// `certificate` is what the client has shown.
    pub(crate) fn new(
        worker: Rc<Worker>,
        stream: S,
        admission: Admission,
        certificate: Option<Box<Certificate>>,
    ) -> Self {
        let settings = &worker.shared.settings;
        let now = Instant::now();
        let timer_at = now + settings.head_timeout;
        Self {
            reader: Reader::new(http1::Limits {
                head_max_bytes: settings.head_max_bytes,
                body_max_bytes: settings.body_max_bytes,
            }),
            stream,
            input: Vec::new(),
            due: VecDeque::new(),
            intake: Intake::Open,
            out: Vec::new(),
            sent: 0,
            held: None,
            rest: None,
            stuck_since: None,
            received: 0,
            received_before: 0,
            continued: false,
            is_judged: false,
            is_first: true,
            phase: Phase::Head,
            phase_since: now,
            timer: Box::pin(tokio::time::sleep_until(timer_at.into())),
            timer_at,
            timer_is_armed: false,
            woken_by: None,
            entered: None,
            timed_out: false,
            stopped_short: false,
            caller: CallerOfConnection::new(
                Arc::clone(&worker.shared.gate),
                Arc::clone(admission.client()),
                certificate,
            ),
            worker,
            _admission: admission,
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            self.take_requests();
            if matches!(self.intake, Intake::Http2) {
                return self.run_http2().await;
            }
            self.settle();
            if self.due.is_empty() && matches!(self.intake, Intake::Behind) {
                self.intake = Intake::Open;
                continue;
            }
            if self.due.is_empty() && self.out.len() == self.sent {
                if let Some(rest) = self.rest.take() {
                    if self.continue_answer(rest).await.is_err() {
                        return;
                    }
                    continue;
                }
                match std::mem::replace(&mut self.intake, Intake::Open) {
                    Intake::Open | Intake::Behind | Intake::Http2 => {}
                    Intake::Topic(name) => self.intake = Intake::Topic(name),
                    Intake::Barrier(owned) => {
                        if self.answer_call(*owned).await.is_err() {
                            return;
                        }
                        continue;
                    }
                    Intake::Closed => break,
                }
            }
            if poll_fn(|context| self.wait(context)).await.is_err() {
                return;
            }
        }
        self.linger().await;
    }

    /// Serves the connection by HTTP/2, from its first byte on.
    pub(crate) async fn run_http2(mut self) {
        let parts = Parts {
            worker: &self.worker,
            caller: &mut self.caller,
            socket: &mut self.stream,
            entered: &mut self.entered,
        };
        Http2::new(parts, std::mem::take(&mut self.input))
            .run()
            .await;
    }

    /// Reads every request that has arrived completely.
    fn take_requests(&mut self) {
        let mut offset = 0;
        while matches!(self.intake, Intake::Open) && self.has_room() {
            match self.take_request(offset) {
                Some(length) => offset += length,
                None => break,
            }
        }
        let took = offset > 0;
        self.stopped_short = matches!(self.intake, Intake::Open) && !self.has_room();
        self.input.drain(..offset);
        if self.input.is_empty() && self.input.capacity() > 4 * INPUT_BYTES {
            self.input = Vec::new();
        }
        if self.is_to_end() {
            self.intake = Intake::Closed;
        }
        if took {
            self.phase_since = Instant::now();
        }
    }

    /// Whether draining has begun and no body is being received: no further requests are read.
    fn is_to_end(&self) -> bool {
        let is_open = matches!(self.intake, Intake::Open);
        is_open && self.worker.draining.get() && self.phase != Phase::Body
    }

    /// Whether another request may be read.
    fn has_room(&self) -> bool {
        self.due.len() < self.worker.shared.settings.pipelining_max
            && self.out.len() - self.sent < OUT_PAUSE_BYTES
            && self.rest.is_none()
    }

    /// Reads the request that starts at `offset`; returns its length if it is complete and the next one may be read.
    fn take_request(&mut self, offset: usize) -> Option<usize> {
        let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
        let step = self.reader.next(&self.input[offset..], &mut slots);
        let phase = match step {
            Ok(Step::Whole { request, length }) => {
                let persistence = request.head.persistence;
                let received = std::mem::take(&mut self.received);
                if received > 0 {
                    let memory = self.caller.caller.memory();
                    memory.in_flight.give_back(received);
                }
                self.continued = false;
                self.is_first = false;
                self.phase = Phase::Idle;
                let out = if self.due.is_empty() {
                    Out::Next(&mut self.out)
                } else {
                    Out::Behind
                };
                let arrived = Arrived {
                    request,
                    received,
                    is_judged: std::mem::take(&mut self.is_judged),
                };
                let taken = take(&self.worker, &mut self.caller, &arrived, out);
                return self.keep(taken, persistence).then_some(length);
            }
            // The first head is due from the start of the connection.
            Ok(Step::Idle) if offset == 0 && self.phase == Phase::Head => Phase::Head,
            Ok(Step::Idle) => Phase::Idle,
            Ok(Step::Head) => Phase::Head,
            Ok(Step::Body {
                head,
                received,
                expects_continue,
            }) => {
                let judged = head.map_or(Ok(()), |head| {
                    judge_before_body(&self.worker, &mut self.caller, &head)
                });
                self.is_judged = true;
                let counted = judged.map(|()| self.receive_body(received, expects_continue));
                match counted {
                    Ok(Ok(())) => {}
                    Ok(Err(problem)) => self.refuse(offset, problem),
                    Err(due) => self.close_with(due),
                }
                Phase::Body
            }
            Ok(Step::Http2) => self.begin_http2(offset),
            Err(refusal) => {
                let is_head = self.reader.is_head(&self.input[offset..]);
                self.refuse(offset, Problem::new(refusal.status, refusal.problem));
                if let (true, Some(due)) = (is_head, self.due.back_mut()) {
                    due.content = Content::Withheld;
                }
                Phase::Idle
            }
        };
        if phase != self.phase {
            self.phase = phase;
            self.phase_since = Instant::now();
            self.received_before = 0;
        }
        None
    }

    /// Keeps what a request has become; false if it stays in the input.
    fn keep(&mut self, taken: Taken, persistence: Persistence) -> bool {
        match taken {
            // A reading alone is of a stream.
            Taken::Answered | Taken::Reading(_) => return true,
            Taken::Records(due) => self.due.push_back(due),
            Taken::Call(owned) => self.intake = Intake::Barrier(owned),
            Taken::Behind => return self.repeat_after(Intake::Behind),
            Taken::NoTopicYet(name) => return self.repeat_after(Intake::Topic(name)),
        }
        if persistence == Persistence::Closed && matches!(self.intake, Intake::Open) {
            self.intake = Intake::Closed;
        }
        true
    }

    /// Leaves a request, which is judged, in the input until it can be dispatched.
    fn repeat_after(&mut self, intake: Intake) -> bool {
        self.is_judged = true;
        self.intake = intake;
        false
    }

    /// Begins HTTP/2, if nothing has come before it: a proxy may send on what its client says.
    fn begin_http2(&mut self, offset: usize) -> Phase {
        if self.is_first {
            self.intake = Intake::Http2;
        } else {
            let problem = "HTTP/2 begins with its connection, not behind a request";
            self.refuse(offset, Problem::new(400, problem));
        }
        Phase::Idle
    }

    /// Counts what has arrived of a body, or refuses it.
    fn receive_body(&mut self, received: usize, expects_continue: bool) -> Result<(), Problem> {
        let more = received.saturating_sub(self.received);
        if more > 0 {
            let caller = &self.caller.caller;
            caller.take_in_flight(more)?;
            if !self.worker.shared.reserve(more, received) {
                caller.memory().in_flight.give_back(more);
                let problem = "too many bytes are in flight; try again";
                return Err(Problem::new(503, problem));
            }
        }
        self.received += more;
        // Sent only after all earlier answers, or the client would take it for one of them.
        if expects_continue && !self.continued && self.due.is_empty() {
            self.out.extend_from_slice(answer::CONTINUE);
            self.continued = true;
        }
        Ok(())
    }

    /// Answers the request at `offset` with a problem after all due answers, and closes.
    fn refuse(&mut self, offset: usize, problem: Problem) {
        let body_bytes = self.take_received();
        let protocol = Protocol::from_input(&self.input[offset..]);
        self.close_with(Due {
            call: Call::Other,
            answer: Answer::Refused(Refused::new(protocol, problem, b"")),
            body_bytes,
            records: 0,
            persistence: Persistence::Closed,
            content: Content::Sent,
            protocol,
        });
    }

    /// Gives this answer after all due ones, and closes.
    fn close_with(&mut self, due: Due) {
        self.due.push_back(due);
        self.intake = Intake::Closed;
    }

    /// Writes the known answers, up to the first pending one.
    fn settle(&mut self) {
        let (mut released, mut received, mut records) = (0, 0, 0);
        let worker = &*self.worker;
        let canned = worker.canned.borrow();
        while let Some(due) = self.due.front() {
            let status = match due.outcome(&worker.shared.backend) {
                Outcome::Pending => break,
                Outcome::Durable => {
                    match due.protocol {
                        None => canned.no_content(&mut self.out, due.persistence),
                        Some(protocol) => {
                            protocol.no_content(&canned, &mut self.out, due.persistence);
                        }
                    }
                    records += u64::from(due.records);
                    204
                }
                Outcome::Failed(refused) => refused.write(due, &canned, &mut self.out),
                Outcome::Refused(refused) => refused.write(due, &canned, &mut self.out),
            };
            let metrics = &worker.metrics;
            metrics.count_answer(HttpVersion::One, due.call, status);
            released += due.body_bytes;
            if matches!(due.call, Call::PutRecords | Call::WriteInflux) {
                received += due.body_bytes as u64;
            }
            self.due.pop_front();
        }
        drop(canned);
        if released > 0 {
            worker.shared.release(released);
        }
        add(&worker.metrics.body_bytes, received);
        add(&worker.metrics.records, records);
    }

    /// Reads the next part of an answer. After an error the connection is closed, so that the client sees that a part is missing.
    async fn continue_answer(&mut self, mut rest: Box<RestOfPage>) -> Result<(), Ended> {
        let (part, memory) = rest.next_part().await.ok_or(Ended)?;
        self.out.extend_from_slice(&part);
        self.held = Some(memory);
        self.rest = (rest.length() > 0).then_some(rest);
        self.phase_since = Instant::now();
        Ok(())
    }

    /// Has the router answer a call. A read ends if its client leaves meanwhile; what changes something goes on.
    async fn answer_call(&mut self, owned: call::Owned) -> Result<(), Ended> {
        let persistence = if self.worker.draining.get() {
            Persistence::Closed
        } else {
            owned.persistence
        };
        let is_read = owned.is_read();
        let answering = call::answer(&self.worker.router, owned);
        let answered = tokio::select! {
            biased;
            answered = answering => answered,
            () = wait_for_departure(self.stream.socket()), if is_read => {
                let abandoned = &self.worker.shared.gauges.requests_abandoned;
                abandoned.fetch_add(1, Ordering::Relaxed);
                return Err(Ended);
            }
        };
        let metrics = &self.worker.metrics;
        metrics.count_answer(HttpVersion::One, answered.call, answered.status);
        let head = AnswerHead {
            status: answered.status,
            fields: &answered.fields(),
            length: answered.length,
            persistence,
        };
        self.worker.canned.borrow().head(&mut self.out, &head);
        self.out.extend_from_slice(&answered.body);
        self.held = answered.held;
        self.rest = answered.rest;
        if persistence == Persistence::Closed {
            self.intake = Intake::Closed;
        }
        self.phase_since = Instant::now();
        Ok(())
    }
}
