//! The sessions of one worker, one for each of its connections: where each stands, what it sends next, and what an answer
//! makes of it. The worker says what happens on connections, the pace when a session may begin.
//!
//! What the worker's loop calls per request is never inlined there: requests made ahead go through the same loop, which is to
//! stay small.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use super::{
    OnFailure, Scenario, ScenarioError,
    compile::compile,
    feeds::{Feeds, Taker},
    program::{Operation, Program},
    record::Records,
    session::{Session, Standing},
};
use crate::{
    Failure, Job,
    chance::Stream,
    clock::whole_nanoseconds,
    pace::{Pace, pause},
    reader::Answer,
    recorder::{Due, Instants, Recorder},
    share::Share,
};

/// Streams of chance that no worker's number reaches.
const CHANCE_OF_SESSIONS: u64 = 1 << 32;
const CHANCE_OF_FEEDS: u64 = CHANCE_OF_SESSIONS + 1;

/// All sessions of a worker.
#[derive(Debug)]
pub(crate) struct Sessions {
    scenario: Arc<Scenario>,
    program: Program,
    /// By connection.
    sessions: Vec<Session>,
    feeds: Feeds,
    records: Records,
    /// When pauses end; entries of sessions that were lost stay until then.
    pausing: BinaryHeap<Reverse<(u64, u32)>>,
    chance: Stream,
    worker: u64,
    workers: u64,
    started: u64,
    under_way: usize,
    /// The feed for whose rows no session starts any more.
    used_up: Option<usize>,
    request_timeout: u64,
    body_kept_max_bytes: usize,
    is_secure: bool,
    scratch: Vec<u8>,
}

/// An answer that has come whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole<'a> {
    pub(crate) answer: Answer,
    pub(crate) head: &'a [u8],
    /// When, in nanoseconds since 1970.
    pub(crate) unix: u64,
    pub(crate) instants: Instants,
}

impl Sessions {
    /// Sessions for a worker's connections.
    pub(crate) fn new(
        job: &Job,
        scenario: &Arc<Scenario>,
        share: &Share,
    ) -> Result<Self, ScenarioError> {
        let program = compile(scenario)?;
        let (rows, variables) = (scenario.feeds.len(), program.variables);
        let sessions = (0..share.targets.len() as u64)
            .map(|id| {
                let user = id * share.workers as u64 + share.worker as u64;
                Session::new(user, rows, variables)
            })
            .collect();
        let feeds = Feeds::new(
            scenario.feeds.len(),
            (share.worker, share.workers),
            Stream::new(job.seed, CHANCE_OF_FEEDS),
        );
        Ok(Self {
            scenario: Arc::clone(scenario),
            program,
            sessions,
            feeds,
            records: Records::new(share),
            pausing: BinaryHeap::with_capacity(share.targets.len()),
            chance: Stream::new(job.seed, CHANCE_OF_SESSIONS),
            worker: share.worker as u64,
            workers: share.workers as u64,
            started: 0,
            under_way: 0,
            used_up: None,
            request_timeout: whole_nanoseconds(job.limits.request_timeout),
            body_kept_max_bytes: job.limits.body_kept_max_bytes,
            is_secure: job.transport.tls.is_some(),
            scratch: Vec::new(),
        })
    }

    /// Whether this connection's next session may begin: it has none, and rows are left.
    pub(crate) fn wants(&self, id: u32) -> bool {
        self.sessions[id as usize].standing == Standing::Idle && self.used_up.is_none()
    }

    /// Whether a session has begun and not ended.
    pub(crate) fn are_under_way(&self) -> bool {
        self.under_way > 0
    }

    /// The name of the feed that was used up.
    pub(crate) fn used_up(&self) -> Option<&str> {
        self.used_up
            .map(|feed| self.scenario.feeds[feed].name.as_str())
    }

    /// When the next pause ends.
    pub(crate) fn next_instant(&self) -> Option<u64> {
        self.pausing.peek().map(|Reverse((instant, _))| *instant)
    }

    /// A connection whose session's pause has ended.
    pub(crate) fn next_awake(&mut self, now: u64) -> Option<u32> {
        while let Some(&Reverse((until, id))) = self.pausing.peek()
            && until <= now
        {
            self.pausing.pop();
            if self.sessions[id as usize].standing == (Standing::Pausing { until }) {
                return Some(id);
            }
        }
        None
    }

    /// The time that the answer on this connection may take.
    pub(crate) fn timeout(&self, id: u32) -> u64 {
        let request = &self.program.requests[self.sessions[id as usize].request];
        request.timeout.unwrap_or(self.request_timeout)
    }

    /// The shortest of all times that answers may take.
    pub(crate) fn timeout_min(&self) -> u64 {
        let own = self.program.requests.iter();
        own.filter_map(|request| request.timeout)
            .fold(self.request_timeout, u64::min)
    }

    /// Takes one request for a connection with room: since when it was due; `None` if there is none for it now.
    #[inline(never)]
    pub(crate) fn take(
        &mut self,
        id: u32,
        now: u64,
        pace: &mut Pace,
        recorder: &mut Recorder,
    ) -> Option<u64> {
        loop {
            match self.sessions[id as usize].standing {
                Standing::Idle => self.start(id, now, pace, recorder)?,
                Standing::Ready { due } => return Some(due),
                Standing::Pausing { until } if until <= now => {
                    self.go_on(id, until, pace, recorder);
                }
                Standing::Pausing { .. } | Standing::Waiting => return None,
            }
        }
    }

    /// Starts a session if one may begin.
    fn start(&mut self, id: u32, now: u64, pace: &mut Pace, recorder: &mut Recorder) -> Option<()> {
        if self.used_up.is_some() {
            return None;
        }
        let due = pace.take(id, now)?;
        let number = self.started * self.workers + self.worker + 1;
        let drawn = self.chance.inner(number).bits(0) % self.program.weight;
        let flow = self
            .program
            .flows
            .partition_point(|flow| flow.weight_up_to <= drawn);
        let needed = &self.program.flows[flow].feeds;
        let feeds = &self.scenario.feeds;
        self.used_up = needed
            .iter()
            .copied()
            .find(|feed| self.feeds.is_used_up(*feed, &feeds[*feed]));
        if self.used_up.is_some() {
            unsent(recorder);
            return None;
        }
        let session = &mut self.sessions[id as usize];
        session.begin(flow, number, self.chance.inner(number));
        let taker = Taker {
            session: number,
            user: session.memory.user,
        };
        for &feed in needed {
            session.memory.rows[feed] = self.feeds.take(feed, &feeds[feed], taker);
        }
        self.started += 1;
        self.under_way += 1;
        recorder.sessions().started += 1;
        self.go_on(id, due, pace, recorder);
        Some(())
    }

    /// Goes on with what comes next, at an instant that has come.
    fn go_on(&mut self, id: u32, at: u64, pace: &mut Pace, recorder: &mut Recorder) {
        let session = &mut self.sessions[id as usize];
        let operations = &self.program.flows[session.flow].operations;
        loop {
            let Some(operation) = operations.get(session.next) else {
                recorder.sessions().completed += 1;
                return self.end(id, at, pace, recorder);
            };
            session.next += 1;
            match *operation {
                Operation::Request(request) => {
                    session.request = request;
                    session.standing = Standing::Ready { due: at };
                    return;
                }
                Operation::Pause(think) => {
                    let chance = &mut session.memory.chance;
                    let until = at.saturating_add(pause(think, chance.stream, chance.next()));
                    session.standing = Standing::Pausing { until };
                    self.pausing.push(Reverse((until, id)));
                    return;
                }
                Operation::Begin { times } => session.memory.begin_rounds(times),
                Operation::Again { from } => {
                    if session.memory.next_round() {
                        session.next = from;
                    }
                }
            }
        }
    }

    /// Writes the request that was taken; gives whether it is a HEAD, and its number in the account. `unix`: nanoseconds
    /// since 1970.
    #[inline(never)]
    pub(crate) fn append(
        &mut self,
        out: &mut Vec<u8>,
        id: u32,
        unix: u64,
        recorder: &mut Recorder,
    ) -> (bool, u64) {
        let session = &mut self.sessions[id as usize];
        let request = &self.program.requests[session.request];
        let (index, record) = self.records.stamp(request, unix);
        session.memory.record = record;
        session.write(
            request,
            (&self.scenario.feeds, &self.program.hosts),
            (self.is_secure, unix),
            (out, &mut self.scratch),
        );
        // A schedule knows of the first request of a session only.
        if session.has_sent && recorder.due() == Due::BySchedule {
            recorder.fell_due(1, 0);
        }
        session.has_sent = true;
        session.standing = Standing::Waiting;
        recorder.step_sent(request.step);
        (request.is_head, index)
    }

    /// Takes the next piece of the body of the answer under way.
    #[inline(never)]
    pub(crate) fn body(&mut self, id: u32, piece: &[u8]) {
        let session = &mut self.sessions[id as usize];
        let request = &self.program.requests[session.request];
        session.take_body(request, piece, self.body_kept_max_bytes);
    }

    /// Takes an answer that is whole: judges it, notes it for its step, and lets the session go on or end.
    #[inline(never)]
    pub(crate) fn handle_answer(
        &mut self,
        id: u32,
        whole: Whole<'_>,
        pace: &mut Pace,
        recorder: &mut Recorder,
    ) -> Result<(), Failure> {
        let session = &mut self.sessions[id as usize];
        let request = &self.program.requests[session.request];
        let answer = (whole.answer, whole.head, whole.unix);
        let sources = (&*self.scenario.feeds, &*self.program.hosts);
        let judged = session.judge(request, answer, sources, &mut self.scratch);
        session.forget_answer();
        recorder.step_ended(request.step, judged, whole.instants);
        let done = whole.instants.done;
        if judged.is_ok() || request.on_failure == OnFailure::GoOn {
            self.go_on(id, done, pace, recorder);
        } else {
            recorder.sessions().failed += 1;
            self.end(id, done, pace, recorder);
        }
        judged
    }

    /// A request will not be answered, which is noted for its step; its connection is about to be lost.
    pub(crate) fn handle_failure(
        &self,
        id: u32,
        failure: Failure,
        instants: Instants,
        recorder: &mut Recorder,
    ) {
        let request = &self.program.requests[self.sessions[id as usize].request];
        recorder.step_ended(request.step, Err(failure), instants);
    }

    /// The connection is gone, `is_agreed` where both sides knew that it would be. Then a session goes on with the next
    /// one, unless an answer was under way.
    pub(crate) fn handle_lost_connection(
        &mut self,
        id: u32,
        is_agreed: bool,
        now: u64,
        (pace, recorder): (&mut Pace, &mut Recorder),
    ) {
        let session = &mut self.sessions[id as usize];
        let ends = match session.standing {
            Standing::Idle => false,
            Standing::Waiting => true,
            Standing::Ready { .. } | Standing::Pausing { .. } => !is_agreed,
        };
        session.forget_answer();
        if ends {
            recorder.sessions().failed += 1;
            self.end(id, now, pace, recorder);
        }
    }

    /// The load is over: what fell due with a session that has sent nothing will not be sent any more.
    pub(crate) fn give_up(&mut self, recorder: &mut Recorder) {
        for session in &mut self.sessions {
            if session.standing != Standing::Idle && !session.has_sent {
                session.has_sent = true;
                unsent(recorder);
            }
        }
    }

    fn end(&mut self, id: u32, now: u64, pace: &mut Pace, recorder: &mut Recorder) {
        let session = &mut self.sessions[id as usize];
        session.standing = Standing::Idle;
        if !session.has_sent {
            unsent(recorder);
        }
        self.under_way -= 1;
        pace.on_request_end(id, now);
    }
}

/// What was due for a session and will not be sent: only a schedule counts that.
fn unsent(recorder: &mut Recorder) {
    if recorder.due() == Due::BySchedule {
        recorder.fell_due(0, 1);
    }
}
