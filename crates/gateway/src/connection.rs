//! One client's connection: requests read, several at once if they come so, and answered in their order.
//!
//! Requests with records are handed to the store as they are read, all of one turn together, and wait in line for
//! the commit. Any other call is a barrier: it starts when all before it are answered, and nothing after it is read
//! until it is answered (RFC 9112, section 9.3.2, lets only safe methods overtake).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::answer;
use crate::call;
use crate::http1::{self, Reader, SLOTS, Slots, Step};
use crate::ingest;
use crate::metrics::{Call, add};
use crate::problem::Problem;
use crate::store::{Fate, Ticket};
use crate::worker::Worker;

/// Room for reading; also what a quiet connection keeps.
const INPUT_BYTES: usize = 16 * 1024;
/// Reading pauses while more than this of answers waits to be sent.
const OUT_PAUSE_BYTES: usize = 256 * 1024;
/// After an early close, what the client still sends is read and dropped for this long, so that it sees the answer
/// and not a reset.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 1024 * 1024;

/// An answer due, in the order of requests.
struct Due {
    call: Call,
    answer: Answer,
    body_bytes: usize,
    records: u32,
    /// The connection ends after it.
    last: bool,
}

enum Answer {
    /// Read in this turn, not yet handed to the store.
    Staged,
    Commit(Ticket),
    Problem(Box<Problem>),
}

/// What becomes of what the client sends.
enum Intake {
    Open,
    /// A call that waits for its turn.
    Barrier(Box<call::Owned>),
    /// Nothing more is read.
    Closed,
}

/// What is awaited from the client; each has its time limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Head,
    Body,
}

pub(crate) struct Connection {
    worker: Rc<Worker>,
    stream: TcpStream,
    reader: Reader,
    input: Vec<u8>,
    due: VecDeque<Due>,
    intake: Intake,
    out: Vec<u8>,
    sent: usize,
    /// Bytes of a body being received, already counted as in flight.
    announced: usize,
    continued: bool,
    phase: Phase,
    phase_since: Instant,
    timer: Pin<Box<Sleep>>,
    timer_at: Instant,
    woken_by: Option<Ticket>,
    entered: Option<u64>,
    timed_out: bool,
    /// Whole requests may be left in the input.
    stopped_short: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let in_flight = self.announced + self.due.iter().map(|due| due.body_bytes).sum::<usize>();
        self.worker.shared.release(in_flight);
        self.worker.shared.connection_ended();
        if let Some(number) = self.entered {
            self.worker.leave(number);
        }
    }
}

impl Connection {
    pub(crate) fn new(worker: Rc<Worker>, stream: TcpStream) -> Self {
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
            announced: 0,
            continued: false,
            // A client that connects and says nothing is a slow head.
            phase: Phase::Head,
            phase_since: now,
            timer: Box::pin(tokio::time::sleep_until(timer_at.into())),
            timer_at,
            woken_by: None,
            entered: None,
            timed_out: false,
            stopped_short: false,
            worker,
        }
    }

    pub(crate) async fn run(mut self) {
        loop {
            self.take_requests();
            self.settle();
            if self.due.is_empty() && self.out.len() == self.sent {
                match std::mem::replace(&mut self.intake, Intake::Open) {
                    Intake::Open => {}
                    Intake::Barrier(owned) => {
                        self.answer_call(*owned).await;
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

    /// Reads every request that has come whole, and hands their records to the store at once.
    fn take_requests(&mut self) {
        let mut at = 0;
        while matches!(self.intake, Intake::Open) && self.has_room() {
            match self.take_request(at) {
                Some(length) => at += length,
                None => break,
            }
        }
        let took = at > 0;
        self.stopped_short = matches!(self.intake, Intake::Open) && !self.has_room();
        self.input.drain(..at);
        if self.input.is_empty() && self.input.capacity() > 4 * INPUT_BYTES {
            self.input = Vec::new();
        }
        self.submit();
        if self.worker.draining.get() && matches!(self.intake, Intake::Open) {
            self.intake = Intake::Closed;
        }
        if took {
            self.phase_since = Instant::now();
        }
    }

    /// Another request may be taken on.
    fn has_room(&self) -> bool {
        self.due.len() < self.worker.shared.settings.pipelining_max
            && self.out.len() - self.sent < OUT_PAUSE_BYTES
    }

    /// Reads the request that starts at `at`; its length, if it has come whole and the next may be looked at.
    fn take_request(&mut self, at: usize) -> Option<usize> {
        let mut slots: Slots<'_> = [const { MaybeUninit::uninit() }; SLOTS];
        let step = self.reader.next(&self.input[at..], &mut slots);
        let phase = match step {
            Ok(Step::Whole { request, length }) => {
                let last = !request.head.keep_alive;
                let announced = std::mem::take(&mut self.announced);
                self.continued = false;
                let taken = take(&self.worker, &request, announced);
                match taken {
                    Taken::Records(due) => self.due.push_back(due),
                    Taken::Call(owned) => self.intake = Intake::Barrier(owned),
                }
                if last && matches!(self.intake, Intake::Open) {
                    self.intake = Intake::Closed;
                }
                return Some(length);
            }
            Ok(Step::Idle) => Phase::Idle,
            Ok(Step::Head) => Phase::Head,
            Ok(Step::Body {
                announced,
                expects_continue,
            }) => {
                self.receive_body(announced, expects_continue);
                Phase::Body
            }
            Ok(Step::Http2) => {
                self.refuse(Problem::new(505, "HTTP/2 is not served; use HTTP/1.1"));
                Phase::Idle
            }
            Err(refusal) => {
                self.refuse(Problem::new(refusal.status, refusal.problem));
                Phase::Idle
            }
        };
        if phase != self.phase {
            self.phase = phase;
            self.phase_since = Instant::now();
        }
        None
    }

    /// Counts a body that is on its way, or turns it away.
    fn receive_body(&mut self, announced: usize, expects_continue: bool) {
        let more = announced.saturating_sub(self.announced);
        if more > 0 && !self.worker.shared.reserve(more) {
            self.refuse(Problem::new(503, "too many bytes are in flight; try again"));
            return;
        }
        self.announced += more;
        // Sent only when all answers before it are, or it would be taken for one of them.
        if expects_continue && !self.continued && self.due.is_empty() {
            self.out.extend_from_slice(answer::CONTINUE);
            self.continued = true;
        }
    }

    /// Answers with a problem after all that is due, and ends.
    fn refuse(&mut self, problem: Problem) {
        let body_bytes = std::mem::take(&mut self.announced);
        self.due.push_back(Due {
            call: Call::Other,
            answer: Answer::Problem(Box::new(problem)),
            body_bytes,
            records: 0,
            last: true,
        });
        self.intake = Intake::Closed;
    }

    /// Hands what this turn staged to the store.
    fn submit(&mut self) {
        let mut staged = self.worker.staged.borrow_mut();
        if staged.is_empty() {
            return;
        }
        let submitted = self
            .worker
            .shared
            .store
            .queue
            .submit(&mut staged, self.worker.number);
        staged.clear();
        drop(staged);
        for due in self
            .due
            .iter_mut()
            .rev()
            .filter(|due| matches!(due.answer, Answer::Staged))
        {
            due.answer = match &submitted {
                Ok(ticket) => Answer::Commit(ticket.clone()),
                Err(_) => Answer::Problem(Box::new(Problem::new(
                    503,
                    "too many records wait for the store; try again",
                ))),
            };
        }
    }

    /// Writes the answers that are known, up to the first that is not.
    fn settle(&mut self) {
        let (mut released, mut records) = (0, 0);
        let worker = &*self.worker;
        let stock = worker.stock.borrow();
        while let Some(due) = self.due.front() {
            let status = match &due.answer {
                Answer::Staged => break,
                Answer::Commit(ticket) => match ticket.fate() {
                    Fate::Pending => break,
                    Fate::Durable => {
                        stock.no_content(&mut self.out, due.last);
                        records += u64::from(due.records);
                        204
                    }
                    Fate::Failed => {
                        stock.problem(&mut self.out, &Problem::store_failed(), due.last);
                        503
                    }
                },
                Answer::Problem(problem) => {
                    stock.problem(&mut self.out, problem, due.last);
                    problem.status
                }
            };
            worker.metrics.answered(due.call, status);
            released += due.body_bytes;
            self.due.pop_front();
        }
        drop(stock);
        if released > 0 {
            worker.shared.release(released);
            add(&worker.metrics.body_bytes, released as u64);
        }
        add(&worker.metrics.records, records);
    }

    /// Answers a call by the router.
    async fn answer_call(&mut self, owned: call::Owned) {
        let last = owned.last || self.worker.draining.get();
        let answered = call::answer(&self.worker.router, owned).await;
        self.worker.metrics.answered(answered.call, answered.status);
        self.worker.stock.borrow().head(
            &mut self.out,
            answered.status,
            &answered.fields(),
            answered.length,
            last,
        );
        self.out.extend_from_slice(&answered.body);
        if last {
            self.intake = Intake::Closed;
        }
        self.phase_since = Instant::now();
    }
}

/// What became of a request.
enum Taken {
    Records(Due),
    Call(Box<call::Owned>),
}

/// Sorts a request: records are staged, anything else is kept for its turn.
fn take(worker: &Worker, request: &http1::Request<'_, '_>, announced: usize) -> Taken {
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
    let slot = worker.topic(target.topic)?;
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

/// Waiting: sockets and timers.
impl Connection {
    /// Ready when something has moved; an error ends the connection at once.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        if self.entered.is_none() {
            self.entered = Some(self.worker.enter(context.waker().clone()));
        }
        let mut moved = self.worker.draining.get() && matches!(self.intake, Intake::Open);
        moved |= self.stopped_short && self.has_room();
        moved |= self.write(context)?;
        moved |= self.read(context)?;
        moved |= self.see_commit(context);
        moved |= self.see_timer(context)?;
        if moved {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    fn write(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let mut moved = false;
        while self.sent < self.out.len() {
            match Pin::new(&mut self.stream).poll_write(context, &self.out[self.sent..]) {
                Poll::Ready(Ok(0) | Err(_)) => return Err(Ended),
                Poll::Ready(Ok(count)) => self.sent += count,
                Poll::Pending => return Ok(moved),
            }
            moved = true;
        }
        if self.sent > 0 {
            self.phase_since = Instant::now();
            self.sent = 0;
            self.out.clear();
            if self.out.capacity() > OUT_PAUSE_BYTES {
                self.out = Vec::new();
            }
        }
        Ok(moved)
    }

    fn read(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        // What was received before comes first, or an end of the stream would cut it off.
        if self.stopped_short || !self.has_room() || !matches!(self.intake, Intake::Open) {
            return Ok(false);
        }
        if self.input.capacity() - self.input.len() < INPUT_BYTES / 4 {
            self.input.reserve(INPUT_BYTES);
        }
        match pin!(self.stream.read_buf(&mut self.input)).poll(context) {
            Poll::Ready(Ok(0)) => {
                self.intake = Intake::Closed;
                Ok(true)
            }
            Poll::Ready(Ok(_)) => Ok(true),
            Poll::Ready(Err(_)) => Err(Ended),
            Poll::Pending => Ok(false),
        }
    }

    /// Whether the first answer due is known; if not, has this task woken when it is.
    fn see_commit(&mut self, context: &mut Context<'_>) -> bool {
        let Some(Due {
            answer: Answer::Commit(ticket),
            ..
        }) = self.due.front()
        else {
            return false;
        };
        if ticket.fate() != Fate::Pending {
            return true;
        }
        let known = self.woken_by.as_ref().is_some_and(|known| known.is(ticket));
        if !known {
            self.worker.wake_when_settled(ticket, context.waker());
            self.woken_by = Some(ticket.clone());
        }
        false
    }

    /// Sees to it that no client takes longer than it may.
    fn see_timer(&mut self, context: &mut Context<'_>) -> Result<bool, Ended> {
        let Some(deadline) = self.deadline() else {
            return Ok(false);
        };
        if deadline < self.timer_at {
            self.set_timer(deadline);
        }
        while self.timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= deadline {
                return self.out_of_time();
            }
            // Set long ago for something that has moved since.
            self.set_timer(deadline);
        }
        Ok(false)
    }

    fn set_timer(&mut self, at: Instant) {
        self.timer_at = at;
        self.timer.as_mut().reset(at.into());
    }

    fn deadline(&self) -> Option<Instant> {
        let settings = &self.worker.shared.settings;
        let allowed = if self.sent < self.out.len() {
            settings.write_timeout
        } else if !self.due.is_empty() {
            return None;
        } else {
            match self.phase {
                Phase::Idle => settings.idle_timeout,
                Phase::Head => settings.head_timeout,
                Phase::Body => settings.body_timeout,
            }
        };
        Some(self.phase_since + allowed)
    }

    fn out_of_time(&mut self) -> Result<bool, Ended> {
        let writing = self.sent < self.out.len();
        if writing || self.timed_out || matches!(self.phase, Phase::Idle) || self.input.is_empty() {
            return Err(Ended);
        }
        self.timed_out = true;
        self.refuse(Problem::new(408, "the request did not come in time"));
        Ok(true)
    }

    /// Ends the connection so that the client can read the last answer.
    async fn linger(&mut self) {
        if self.stream.shutdown().await.is_err() {
            return;
        }
        let mut dropped = 0;
        let reading = async {
            let mut scrap = vec![0; 4096];
            while dropped < LINGER_BYTES {
                match self.stream.read(&mut scrap).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => dropped += count,
                }
            }
        };
        // Whether the client hung up or not, the connection ends here.
        let _ = tokio::time::timeout(LINGER, reading).await;
    }
}

/// The connection is of no more use.
struct Ended;
