//! The sessions of one worker, one per connection, or one per stream of a connection: their states, their next requests, and their answers. The worker reports what
//! happens on connections, the pacer decides when a session may begin.
//! Functions that the worker's loop calls per request are never inlined: prepared requests use the same loop, which must stay small.

use std::sync::Arc;

use waggle_spec::OnFailure;

mod connection_ends;

use super::{
    compile::{ScenarioError, compile},
    feeds::{Feeds, RowUser},
    pauses::Pauses,
    program::{Operation, Program, RequestProgram},
    record_stamps::Records,
    session::{AfterRound, Session, SessionState, Surroundings, Whole},
};
use crate::{
    failure::Failure,
    job::{
        Job,
        partition::{Due, Partition},
    },
    machine::clock::whole_nanoseconds,
    pacing::pacer::{Pacer, pause},
    random::stream::RandomStream,
    recording::recorder::Recorder,
    requests::head_block::Lengths,
    scenario::{
        kept::Kept,
        mismatch::{FirstMismatches, Mismatch},
        model::{Retries, Scenario},
        rows::FeedRow,
    },
};

/// Random streams with numbers above those of workers.
const RANDOM_OF_SESSIONS: u64 = 1 << 32;
const RANDOM_OF_FEEDS: u64 = RANDOM_OF_SESSIONS + 1;

/// All sessions of a worker.
#[derive(Debug)]
pub(crate) struct Sessions {
    scenario: Arc<Scenario>,
    program: Program,
    /// By number: those of connection `id` are `id × lanes` and what follows.
    sessions: Vec<Session>,
    /// Sessions per connection: one over HTTP/1.1, one for each stream over HTTP/2.
    lanes: u32,
    feeds: Feeds,
    records: Records,
    pauses: Pauses,
    random: RandomStream,
    worker: u64,
    workers: u64,
    started: u64,
    under_way: usize,
    /// The feed that is used up, so that no session starts any more.
    used_up: Option<usize>,
    /// Sessions of earlier loads, before the first one.
    done: u64,
    /// The most sessions of this worker.
    sessions_max: u64,
    retries: Option<Retries>,
    kept: Kept,
    mismatches: FirstMismatches,
    request_timeout: u64,
    body_kept_max_bytes: usize,
    is_secure: bool,
    scratch: Vec<u8>,
}

/// A request that a session has written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended {
    pub(crate) is_head: bool,
    /// Its number in the request outcomes.
    pub(crate) index: u64,
    pub(crate) lengths: Lengths,
}

impl Sessions {
    /// Sessions for a worker's connections.
    pub(crate) fn new(
        job: &Job,
        scenario: &Arc<Scenario>,
        partition: &Partition,
    ) -> Result<Self, ScenarioError> {
        let program = compile(scenario)?;
        let (rows, variables) = (scenario.feeds.len(), program.variables);
        let (worker, workers) = (partition.worker as u64, partition.workers as u64);
        let lanes = partition.lanes;
        // Users are numbered by connection: workers with unequal numbers of connections leave no gap and share no number.
        let first = |route| (route * workers + worker) * lanes as u64;
        let routes = 0..partition.routes.len() as u64;
        let users = routes.flat_map(|route| first(route)..first(route) + lanes as u64);
        let sessions = users.map(|user| Session::new(user, rows, variables));
        let preparation = scenario.preparation.as_ref();
        let done = preparation.map_or(0, |preparation| preparation.done);
        let place = (partition.worker, partition.workers);
        let random = RandomStream::new(job.seed, RANDOM_OF_FEEDS);
        let feeds = Feeds::new(&scenario.feeds, done, place, random);
        Ok(Self {
            scenario: Arc::clone(scenario),
            done,
            sessions_max: preparation.map_or(u64::MAX, |preparation| {
                (preparation.sessions + workers - 1 - worker) / workers
            }),
            retries: preparation.map(|preparation| preparation.retries.clone()),
            kept: Kept::new(program.keeps.len()),
            mismatches: FirstMismatches::default(),
            program,
            sessions: sessions.collect(),
            lanes: u32::try_from(lanes).unwrap_or(u32::MAX),
            feeds,
            records: Records::new(partition),
            pauses: Pauses::with_capacity(partition.routes.len() * partition.lanes),
            random: RandomStream::new(job.seed, RANDOM_OF_SESSIONS),
            worker,
            workers,
            started: 0,
            under_way: 0,
            used_up: None,
            request_timeout: whole_nanoseconds(job.limits.request_timeout),
            body_kept_max_bytes: job.limits.body_kept_max_bytes,
            is_secure: job.transport.tls.is_some(),
            scratch: Vec::new(),
        })
    }

    /// Exchanges the program for one of the same shape; sessions under way go on with it.
    pub(crate) fn exchange_program(&mut self, program: &mut Program) {
        std::mem::swap(&mut self.program, program);
    }

    /// Sessions per connection.
    #[inline]
    pub(crate) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Whether a session may begin here: there is none, and rows are left.
    pub(crate) fn wants(&self, id: u32) -> bool {
        self.is_idle(id) && !self.start_no_more()
    }

    pub(crate) fn is_idle(&self, id: u32) -> bool {
        self.sessions[id as usize].state == SessionState::Idle
    }

    /// Whether no session starts any more, because a feed is used up or because all have started.
    pub(crate) fn start_no_more(&self) -> bool {
        self.used_up.is_some() || self.started >= self.sessions_max
    }

    /// What sessions kept, and the first mismatch of each step.
    pub(crate) fn into_results(self) -> (Kept, Vec<Mismatch>) {
        (self.kept, self.mismatches.into_vec())
    }

    /// Whether any session is running.
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
        self.pauses.next_instant()
    }

    /// A session whose pause has ended.
    pub(crate) fn next_awake(&mut self, now: u64) -> Option<u32> {
        while let Some((until, id)) = self.pauses.take_ended(now) {
            if self.sessions[id as usize].state == (SessionState::Pausing { until }) {
                return Some(id);
            }
        }
        None
    }

    /// The request of a session.
    #[inline]
    fn request(&self, id: u32) -> &RequestProgram {
        &self.program.requests[self.sessions[id as usize].request]
    }

    /// A session, its request, and what it shares with the others.
    #[inline]
    fn current(&mut self, id: u32) -> (&mut Session, &RequestProgram, Surroundings<'_>) {
        let session = &mut self.sessions[id as usize];
        let request = &self.program.requests[session.request];
        let surroundings = Surroundings {
            feeds: &self.scenario.feeds,
            hosts: &self.program.hosts,
            is_secure: self.is_secure,
            mismatches: &mut self.mismatches,
            scratch: &mut self.scratch,
        };
        (session, request, surroundings)
    }

    /// Timeout of the answer to a session, in nanoseconds.
    pub(crate) fn timeout(&self, id: u32) -> u64 {
        let timeout = self.request(id).timeout;
        timeout.unwrap_or(self.request_timeout)
    }

    /// The shortest timeout of all requests, in nanoseconds.
    pub(crate) fn timeout_min(&self) -> u64 {
        let requests = self.program.requests.iter();
        requests
            .filter_map(|request| request.timeout)
            .fold(self.request_timeout, u64::min)
    }

    /// Takes one request of a session whose connection has room: since when it has been due; `None` if there is none for it now.
    #[inline(never)]
    pub(crate) fn take(
        &mut self,
        id: u32,
        now: u64,
        pacer: &mut Pacer,
        recorder: &mut Recorder,
    ) -> Option<u64> {
        loop {
            match self.sessions[id as usize].state {
                SessionState::Idle => self.start(id, now, pacer, recorder)?,
                SessionState::Ready { due } => return Some(due),
                SessionState::Pausing { until } if until <= now => {
                    let session = &mut self.sessions[id as usize];
                    if session.tries > 0 {
                        session.state = SessionState::Ready { due: until };
                    } else {
                        self.resume(id, until, pacer, recorder);
                    }
                }
                SessionState::Pausing { .. }
                | SessionState::Waiting
                | SessionState::Unprocessed => return None,
            }
        }
    }

    /// Starts a session if one may begin.
    fn start(
        &mut self,
        id: u32,
        now: u64,
        pacer: &mut Pacer,
        recorder: &mut Recorder,
    ) -> Option<()> {
        if self.start_no_more() {
            return None;
        }
        let due = pacer.take(id / self.lanes, now)?;
        let number = self.done + self.started * self.workers + self.worker + 1;
        let drawn = self.random.inner(number).bits(0) % self.program.weight;
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
            recorder.skip_of_schedule();
            return None;
        }
        let session = &mut self.sessions[id as usize];
        session.begin(flow, number, self.random.inner(number));
        session.due = due;
        let taker = RowUser {
            session: number,
            user: session.memory.user,
        };
        for &feed in needed {
            session.memory.rows[feed] = self.feeds.take(feed, &feeds[feed], taker);
        }
        self.started += 1;
        self.under_way += 1;
        recorder.sessions().started += 1;
        self.resume(id, due, pacer, recorder);
        Some(())
    }

    /// Continues a session with its next operation, at an instant in the past.
    fn resume(&mut self, id: u32, instant: u64, pacer: &mut Pacer, recorder: &mut Recorder) {
        let session = &mut self.sessions[id as usize];
        let operations = &self.program.flows[session.flow].operations;
        loop {
            let Some(operation) = operations.get(session.next) else {
                recorder.record_session(instant.saturating_sub(session.due));
                let keeps = &self.program.keeps;
                if !keeps.is_empty() {
                    let memory = &session.memory;
                    self.kept
                        .push(memory.session, memory.captured_values(keeps));
                }
                return self.end(id, instant, pacer, recorder);
            };
            session.next += 1;
            match *operation {
                Operation::Request(request) => {
                    session.request = request;
                    session.tries = 0;
                    session.state = SessionState::Ready { due: instant };
                    return;
                }
                Operation::Pause(think_time) => {
                    let random = &mut session.memory.random;
                    let until =
                        instant.saturating_add(pause(think_time, random.stream, random.next()));
                    session.state = SessionState::Pausing { until };
                    self.pauses.add(until, id);
                    return;
                }
                Operation::Begin { number } => {
                    let program = &self.program.loops[number];
                    session.memory.begin_rounds(program, &self.scenario.feeds);
                }
                Operation::Again { number, from } => {
                    let program = &self.program.loops[number];
                    match session.memory.next_round(program) {
                        AfterRound::Round => session.next = from,
                        AfterRound::Limit if program.ends_session_at_limit() => {
                            recorder.record_other_failure(Failure::TooManyRounds);
                            recorder.sessions().failed += 1;
                            return self.end(id, instant, pacer, recorder);
                        }
                        AfterRound::Rest | AfterRound::Limit => {}
                    }
                }
            }
        }
    }

    /// Writes the taken request. `unix`: nanoseconds since 1970.
    #[inline(never)]
    pub(crate) fn append(
        &mut self,
        out: &mut Vec<u8>,
        id: u32,
        unix: u64,
        recorder: &mut Recorder,
    ) -> Appended {
        let request = &self.program.requests[self.sessions[id as usize].request];
        let (index, record) = self.records.stamp(request, unix);
        let (session, request, surroundings) = self.current(id);
        session.memory.record = record;
        let lengths = session.write(request, surroundings, unix, out);
        // A schedule counts only the first request of a session.
        if session.has_sent && recorder.due() == Due::BySchedule {
            recorder.fell_due(1, 0);
        }
        session.has_sent = true;
        session.tries += 1;
        session.state = SessionState::Waiting;
        recorder.step_sent(request.step);
        Appended {
            is_head: request.is_head,
            index,
            lengths,
        }
    }

    /// The step of the request whose answer is pending.
    #[inline]
    pub(crate) fn step(&self, id: u32) -> usize {
        self.request(id).step
    }

    /// Whether a status of the pending answer is a success.
    #[inline]
    pub(crate) fn expects(&self, id: u32, status: u16) -> bool {
        self.request(id).matcher.expects(status)
    }

    /// The rows of a session, also after its end.
    #[cold]
    pub(crate) fn rows(&self, id: u32) -> Vec<FeedRow> {
        let Session { flow, memory, .. } = &self.sessions[id as usize];
        memory.taken_rows(&self.program.flows[*flow].feeds, &self.scenario.feeds)
    }

    /// Takes the next piece of the body of the pending answer.
    #[inline(never)]
    pub(crate) fn body(&mut self, id: u32, piece: &[u8]) {
        let session = &mut self.sessions[id as usize];
        let request = &self.program.requests[session.request];
        session.take_body(request, piece, self.body_kept_max_bytes);
    }

    /// Takes a complete answer: checks it, records it for its step, and continues or ends the session.
    #[inline(never)]
    pub(crate) fn handle_answer(
        &mut self,
        id: u32,
        whole: Whole<'_>,
        pacer: &mut Pacer,
        recorder: &mut Recorder,
    ) -> Result<(), Failure> {
        let (session, request, surroundings) = self.current(id);
        let judged = session.check_answer(request, whole, surroundings);
        session.forget_answer();
        let (step, on_failure, tries) = (request.step, request.on_failure, session.tries);
        recorder.step_ended(step, judged, whole.instants);
        let done = whole.instants.done;
        let pause = match (judged, &self.retries) {
            (Err(failure), Some(retries)) => {
                retries.pause_after_answer(failure, tries, whole.head, whole.unix)
            }
            _ => None,
        };
        if let Some(pause) = pause {
            self.repeat(id, done.saturating_add(pause), recorder);
        } else if judged.is_ok() || on_failure == OnFailure::Continue {
            self.sessions[id as usize].tries = 0;
            self.resume(id, done, pacer, recorder);
        } else {
            recorder.sessions().failed += 1;
            self.end(id, done, pacer, recorder);
        }
        if matches!(judged, Err(Failure::CheckFailed | Failure::NotCaptured))
            && self.mismatches.lacks_rows(step)
        {
            let rows = self.rows(id);
            self.mismatches.set_rows(step, rows);
        }
        judged
    }

    /// Sends the last request of a session again, at an instant.
    fn repeat(&mut self, id: u32, until: u64, recorder: &mut Recorder) {
        recorder.sessions().retries += 1;
        self.sessions[id as usize].state = SessionState::Pausing { until };
        self.pauses.add(until, id);
    }

    /// The load has ended: the due requests of sessions that have sent nothing will not be sent.
    pub(crate) fn give_up(&mut self, recorder: &mut Recorder) {
        for session in &mut self.sessions {
            if session.state != SessionState::Idle && !session.has_sent {
                session.has_sent = true;
                recorder.skip_of_schedule();
            }
        }
    }

    fn end(&mut self, id: u32, now: u64, pacer: &mut Pacer, recorder: &mut Recorder) {
        let session = &mut self.sessions[id as usize];
        session.state = SessionState::Idle;
        if !session.has_sent {
            recorder.skip_of_schedule();
        }
        self.under_way -= 1;
        pacer.on_request_end(id / self.lanes, now, Ok(()));
    }
}
