//! The joint: one thread, its event loop and its connections. While it runs it shares only the stop flags with other workers.
//!
//! `requests` sends what is due, `answers` receives, `judge` judges what was received, `connections` opens and closes connections,
//! `secure` does what is different with TLS and HTTP/2, `streams` sends and receives on streams; this file has the loop, its timers
//! and its end.

mod answers;
mod connections;
mod judge;
mod limits;
mod requests;
mod secure;
mod stream_answers;
mod streams;
mod timers;

use crate::{
    control::{replacement::Content, shared::Shared, validate::StartError},
    inspection::Inspector,
    job::{
        Job, What,
        partition::{Partition, Route},
    },
    machine::{
        clock::{Clock, timespec, whole_nanoseconds},
        time_slice,
    },
    pacing::pacer::Pacer,
    protocol::{
        answer_matcher::AnswerMatcher,
        connection::{Connection, Phase},
        http2::StreamSettings,
        stack::ProtocolStacks,
    },
    random::stream::RandomStream,
    recording::{
        examples::Examples,
        outcome::{ClientOutcome, Example},
        recorder::{Exchange, Recorder, Totals},
        request_outcomes::RequestOutcomes,
    },
    requests::{
        expect::Expect,
        prepared::Prepared,
        writer::{Requests, Writer},
    },
    scenario::{kept::Kept, mismatch::Mismatch},
    sessions::{compile::ScenarioError, worker_sessions::Sessions},
    transport::tls::session::PLAIN_BYTES,
};
use judge::Judge;
use limits::{Nanoseconds, TICK_NS};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, atomic::Ordering},
};
use timers::Timers;

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, Event, EventFlags},
    fd::OwnedFd,
};
use waggle_wire::http1::answer::{Heads, ReadLimits, Reader};

/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 1_024;
/// Bytes received at a time.
const INPUT_BYTES: usize = PLAIN_BYTES;

/// The random stream for stamps of prepared requests; those of sessions and feeds are next to it.
const RANDOM_OF_REQUESTS: u64 = (1 << 32) + 2;

/// One worker, set up and ready to run.
pub(crate) struct Worker {
    judge: Judge,
    limits: Nanoseconds,
    epoll: OwnedFd,
    timers: Timers,
    events: Vec<Event>,
    connections: Vec<Connection>,
    writer: Writer,
    heads: Heads,
    /// `None` for plain HTTP/1.1.
    protocol_stacks: Option<Box<ProtocolStacks>>,
    max_tracked_requests: u64,
    /// A connection ends with its answer even if the server would keep it, because the request asks for that.
    closes: bool,
    sent: u64,
    max_requests: u64,
    /// When to open which closed connection; each is in it at most once.
    to_open: BinaryHeap<Reverse<(u64, u32)>>,
    /// Connections with more to read than the limit of one cycle.
    to_read: Vec<u32>,
    input: Box<[u8]>,
    out: Vec<u8>,
    /// When the last wait for events returned.
    seen: u64,
    ticks: u64,
    has_ticked: bool,
    /// Nothing new is sent; pending answers are awaited until this instant.
    finishing_until: Option<u64>,
    shared: Arc<Shared>,
    /// Number of this worker among those that share its state.
    number: usize,
    /// Replacements of what it sends that it has seen.
    replaced: u64,
}

/// The results of a worker.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) totals: Totals,
    /// The name of the scenario's feed that was used up.
    pub(crate) feed_used_up: Option<String>,
    pub(crate) kept: Option<Kept>,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) examples: Vec<Example>,
    pub(crate) account: Option<RequestOutcomes>,
    pub(crate) clients: Vec<ClientOutcome>,
    /// The loop's cycle in which it sent the first request.
    pub(crate) first_sent: Option<u64>,
    pub(crate) ran_for: u64,
}

impl Worker {
    /// Allocates everything that the run needs, so that the run itself allocates nothing.
    pub(crate) fn set_up(
        job: Job,
        partition: &Partition,
        exchange: Exchange,
        shared: Arc<Shared>,
    ) -> Result<Self, StartError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timers = Timers::new(&epoll, TICK_NS)?;
        // Only open load waits for instants; the default timer slack of 50 µs would be lag.
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
        // Refused in some containers: then it is late if it shares its CPU.
        time_slice::shorten().ok();
        let pacer = Pacer::new(
            &job,
            (partition.worker, partition.workers),
            partition.routes.len(),
            partition.max_requests,
        );
        let mut limits = Nanoseconds::new(&job, &pacer);
        let read_limits = ReadLimits::from(&job.limits);
        let connection =
            |route: &Route| Connection::new(*route, partition.pipelining, limits.reconnect_first);
        let mut connections: Vec<Connection> = partition.routes.iter().map(connection).collect();
        let interval = whole_nanoseconds(job.interval);
        let (writer, matcher, sessions) = make_sender(&job, partition)?;
        if let Some(sessions) = &sessions {
            limits.watch_timeout(sessions.timeout_min());
            for connection in &mut connections {
                connection.reader = Reader::keeping_heads();
            }
        }
        let inspector = make_inspector(&job, &mut connections);
        let streams = StreamSettings {
            streams_max: partition.pipelining,
            limits: read_limits,
            is_tls: job.transport.tls.is_some(),
            is_inspected: inspector.is_some(),
            has_sessions: sessions.is_some(),
        };
        let number = exchange.source;
        let to_open = connections::first_openings(connections.len(), pacer.opens_all_at_once());
        let judge = Judge {
            matcher,
            inspector,
            sessions,
            examples: Examples::default(),
            recorder: Recorder::new(partition, exchange, interval),
            account: job.max_tracked_requests.map(RequestOutcomes::with_capacity),
            pacer,
            clock: Clock::start(),
        };
        Ok(Self {
            epoll,
            timers,
            events: Vec::with_capacity(EVENTS_MAX),
            heads: Heads::new(read_limits),
            judge,
            protocol_stacks: ProtocolStacks::new(&job.transport, streams, connections.len()),
            max_tracked_requests: job.max_tracked_requests.unwrap_or(u64::MAX),
            closes: asks_to_close(&job.what),
            sent: 0,
            max_requests: partition.max_requests,
            to_open,
            to_read: Vec::with_capacity(connections.len()),
            connections,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            out: Vec::with_capacity(INPUT_BYTES),
            seen: 0,
            ticks: 0,
            has_ticked: false,
            finishing_until: None,
            shared,
            number,
            replaced: 0,
            limits,
            writer,
        })
    }

    /// Runs until stopped, exhausted or at the job's end, and until pending answers have arrived or timed out.
    pub(crate) fn run(mut self, clock: Clock) -> End {
        self.judge.clock = clock;
        clock.wait_for_start();
        let mut first_sent = None;
        while !self.is_over() {
            self.wait();
            self.seen = self.judge.clock.now();
            if self.seen >= self.limits.end {
                // Before time advances: requests due before the end belong to the interval that ends there.
                self.finish(self.seen);
            }
            self.judge.recorder.advance(self.seen);
            if self.shared.replacements.generation() != self.replaced {
                self.take_replacement();
            }
            for index in 0..self.events.len() {
                self.handle(self.events[index]);
            }
            self.read_on();
            self.send_due();
            self.open_due();
            if first_sent.is_none() && self.sent > 0 {
                first_sent = Some(self.seen);
            }
            if std::mem::take(&mut self.has_ticked) {
                self.on_tick();
            }
            if matches!(self.judge.pacer, Pacer::Clients(_)) && self.is_exhausted() {
                self.finish(self.seen);
            }
        }
        self.close_gracefully();
        let now = self.judge.clock.now();
        let feed_used_up = self
            .judge
            .sessions
            .as_ref()
            .and_then(|sessions| sessions.used_up().map(str::to_owned));
        let (kept, mismatches) = self
            .judge
            .sessions
            .map(|sessions| sessions.into_results())
            .unzip();
        End {
            totals: self.judge.recorder.finish(now),
            feed_used_up,
            kept,
            mismatches: mismatches.unwrap_or_default(),
            examples: self.judge.examples.into_vec(),
            account: self.judge.account,
            clients: self.judge.pacer.into_clients(),
            first_sent,
            ran_for: now,
        }
    }

    /// Sends other texts from now on. What they replace is freed by the thread that replaced it.
    #[cold]
    fn take_replacement(&mut self) {
        let (writer, sessions) = (&mut self.writer, &mut self.judge.sessions);
        let connections = &mut self.connections;
        let replacements = &self.shared.replacements;
        self.replaced = replacements.exchange(self.number, |content| match (content, sessions) {
            (Content::Requests(requests), None) => {
                writer.exchange_requests(requests);
                connections.iter_mut().for_each(Connection::forget_prepared);
            }
            (Content::Program(program), Some(sessions)) => sessions.exchange_program(program),
            _ => unreachable!("a replacement has the shape of what it replaces"),
        });
    }

    /// Waits for events, timers included: the wait itself has a timeout only if there is something to do.
    #[inline]
    fn wait(&mut self) {
        let opening = self.to_open.peek().map(|Reverse((instant, _))| *instant);
        let mut instant = earlier_instant(self.judge.pacer.next_instant(), opening);
        if let Some(sessions) = &self.judge.sessions {
            instant = earlier_instant(instant, sessions.next_instant());
        }
        let is_due = instant.is_some_and(|instant| instant <= self.judge.clock.now());
        let at_once = is_due || !self.to_read.is_empty();
        if let (false, Some(instant)) = (at_once, instant) {
            self.timers.ring_at(instant, &self.judge.clock);
        }
        let timeout = at_once.then(|| timespec(0));
        self.events.clear();
        // Even if it was interrupted, the events and the clock show what to do.
        let _ = epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            timeout.as_ref(),
        );
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        let (number, flags) = (event.data.u64(), event.flags);
        let Ok(id) = u32::try_from(number) else {
            self.has_ticked |= self.timers.has_ticked(number);
            return;
        };
        let is_ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        match self.connections[id as usize].phase {
            Phase::Open => {
                if is_ending || flags.contains(EventFlags::IN) {
                    self.receive(id, is_ending);
                }
                if self.connections[id as usize].has_unsent() {
                    self.send_rest(id);
                }
                self.send(id, usize::MAX);
            }
            Phase::Connecting { .. } => {
                self.on_connect(id, self.seen);
                // An event that shows more than the connection, such as its end, is the only one.
                match self.connections[id as usize].phase {
                    Phase::Open if is_ending || flags.contains(EventFlags::IN) => {
                        self.receive(id, true);
                    }
                    Phase::Handshaking { .. } => self.on_handshake(id, flags),
                    _ => {}
                }
            }
            Phase::Handshaking { .. } => self.on_handshake(id, flags),
            // Closed earlier in the same cycle.
            Phase::Closed => {}
        }
    }

    fn on_tick(&mut self) {
        self.ticks += 1;
        if self.judge.recorder.connections_open() > 0 {
            self.shared.is_open(self.seen);
        } else if let Some(most) = self.limits.unconnected
            && self.finishing_until.is_none()
        {
            self.shared.end_unconnected(self.seen, most);
        }
        let must_stop = self.shared.stop.load(Ordering::Relaxed)
            || self.sent >= self.max_requests
            || self.is_exhausted();
        if must_stop {
            self.finish(self.seen);
        }
        if self.ticks.is_multiple_of(self.limits.scan_ticks) {
            self.end_overdue();
        }
    }

    /// Whether nothing will be sent any more. Running sessions continue to their ends.
    fn is_exhausted(&self) -> bool {
        match &self.judge.sessions {
            None => self.judge.pacer.is_exhausted(),
            Some(sessions) => {
                !sessions.are_under_way()
                    && (self.judge.pacer.is_exhausted() || sessions.start_no_more())
            }
        }
    }

    /// Stops sending new requests.
    fn finish(&mut self, now: u64) {
        if self.finishing_until.is_none() {
            self.finishing_until = Some(now.saturating_add(self.limits.finish));
            let last = self.judge.pacer.give_up(self.last_due(now));
            self.judge.recorder.fell_due(last.due, last.skipped);
            if let Some(sessions) = &mut self.judge.sessions {
                sessions.give_up(&mut self.judge.recorder);
            }
            // Requests that were sent still wait for a new connection.
            let connections = &self.connections;
            self.to_open
                .retain(|Reverse((_, id))| !connections[*id as usize].flight.is_empty());
        }
    }

    /// The last instant up to `now` at which something may fall due.
    #[inline]
    fn last_due(&self, now: u64) -> u64 {
        now.min(self.limits.max_duration.saturating_sub(1))
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.finishing_until
            .is_some_and(|until| self.judge.recorder.in_flight() == 0 || self.seen >= until)
    }
}

/// Whether a connection ends with its answer because a request asks for that.
fn asks_to_close(what: &What) -> bool {
    match what {
        What::Requests { requests, .. } => requests.iter().any(Prepared::asks_to_close),
        What::Scenario(_) => false,
    }
}

/// Creates what writes requests and checks answers: a writer and a matcher, or sessions.
fn make_sender(
    job: &Job,
    partition: &Partition,
) -> Result<(Writer, AnswerMatcher, Option<Box<Sessions>>), ScenarioError> {
    let (requests, expect, sessions) = match &job.what {
        What::Requests {
            requests, expect, ..
        } => (
            Requests::new(requests.clone(), &job.transport),
            expect,
            None,
        ),
        What::Scenario(scenario) => {
            let sessions = Sessions::new(job, scenario, partition)?;
            let none = Requests::default();
            (none, &Expect::default(), Some(Box::new(sessions)))
        }
    };
    let writer = Writer::new(
        requests,
        partition.worker,
        partition.workers,
        RandomStream::new(job.seed, RANDOM_OF_REQUESTS),
    );
    Ok((writer, AnswerMatcher::new(expect), sessions))
}

/// Creates what inspects answers, if the job asks for that.
fn make_inspector(job: &Job, connections: &mut [Connection]) -> Option<Inspector> {
    let What::Requests {
        inspect: Some(inspect),
        ..
    } = &job.what
    else {
        return None;
    };
    for connection in connections {
        connection.begin_inspection();
    }
    Some(Inspector::new(inspect))
}

fn earlier_instant(instant: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (instant, other) {
        (Some(instant), Some(other)) => Some(instant.min(other)),
        (instant, other) => instant.or(other),
    }
}
