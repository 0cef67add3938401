//! The joint: one thread, its event loop and its connections; nothing is shared with other workers while it runs but
//! the wish to stop.
//!
//! `requests` sends what is due, `answers` takes what comes, `links` opens and closes connections, `layered` does what is
//! different with TLS and HTTP/2; here are the loop, its timers and its end.

mod answers;
mod layered;
mod links;
mod requests;
mod timers;

use answers::Ending;
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, atomic::Ordering},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, Event, EventFlags},
    fd::OwnedFd,
};
use timers::Timers;

use crate::{
    Account, Expect, Job, Prepared, ScenarioError, StartError, What,
    chance::Stream,
    clock::{Clock, timespec, whole_nanoseconds},
    connection::{Connection, Phase},
    head::{Heads, ReadLimits},
    judge::Judge,
    layers::Layering,
    pace::Pace,
    reader::Reader,
    recorder::{Exchange, Recorder, Totals},
    scenario::Sessions,
    share::Share,
    shared::{Shared, unconnected_at_most},
    time_slice,
    tls::PLAIN_BYTES,
    writer::Writer,
};

/// How often a worker looks at whether it should stop, and at what has taken too long.
const TICK_NS: u64 = 10_000_000;
/// Timeouts are looked for at every so many ticks at most.
const SCAN_TICKS_MAX: u64 = 10;
/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 1_024;
/// Bytes received at a time.
const INPUT_BYTES: usize = PLAIN_BYTES;

/// The stream of random stamps of requests made ahead; those of sessions and feeds are next to it.
const CHANCE_OF_REQUESTS: u64 = (1 << 32) + 2;

/// One worker, set up and ready to run.
pub(crate) struct Worker {
    clock: Clock,
    limits: Nanoseconds,
    epoll: OwnedFd,
    timers: Timers,
    events: Vec<Event>,
    connections: Vec<Connection>,
    pace: Pace,
    writer: Writer,
    heads: Heads,
    judge: Judge,
    /// What sends instead of the writer, and judges instead of the judge, where the job is a scenario.
    sessions: Option<Box<Sessions>>,
    recorder: Recorder,
    /// None where HTTP/1.1 goes in the clear.
    layering: Option<Box<Layering>>,
    account: Option<Account>,
    account_at_most: u64,
    /// A connection ends with its answer even if the server would keep it: the request has asked for that.
    closes: bool,
    sent: u64,
    requests_at_most: u64,
    /// When which closed connection is to be opened; each stands in it once at most.
    to_open: BinaryHeap<Reverse<(u64, u32)>>,
    /// Connections that have more to read than one turn may take.
    to_read: Vec<u32>,
    input: Box<[u8]>,
    out: Vec<u8>,
    /// When the kernel last said what has happened.
    seen: u64,
    ticks: u64,
    has_ticked: bool,
    /// Nothing new is sent; answers are awaited until this instant.
    finishing_until: Option<u64>,
    shared: Arc<Shared>,
}

/// The limits of the job in the unit of the loop.
struct Nanoseconds {
    request_timeout: u64,
    connect_timeout: u64,
    reconnect_first: u64,
    reconnect_max: u64,
    finish: u64,
    /// Nothing falls due from here on.
    at_most: u64,
    /// Nothing is sent from here on: the same, or the end of the stages before it.
    end: u64,
    scan_ticks: u64,
    unconnected: Option<u64>,
}

/// What is left of a worker.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) totals: Totals,
    /// The name of the scenario's feed that was used up.
    pub(crate) feed_used_up: Option<String>,
    pub(crate) account: Option<Account>,
    pub(crate) ran_for: u64,
}

impl Worker {
    /// Makes everything that the run needs, so that the run itself makes nothing.
    pub(crate) fn set_up(
        job: Job,
        share: &Share,
        exchange: Exchange,
        shared: Arc<Shared>,
    ) -> Result<Self, StartError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timers = Timers::new(&epoll, TICK_NS)?;
        // Only open load waits for instants; the default slack of 50 µs would be lag.
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
        // Refused in some containers: then it is later where it shares its CPU.
        time_slice::shorten().ok();
        let pace = Pace::new(
            &job,
            (share.worker, share.workers),
            share.targets.len(),
            share.requests_at_most,
        );
        let mut limits = Nanoseconds::new(&job, &pace);
        let read_limits = ReadLimits {
            head_max_bytes: job.limits.head_max_bytes,
            body_max_bytes: job.limits.body_max_bytes,
        };
        let mut connections: Vec<Connection> = share
            .targets
            .iter()
            .map(|target| Connection::new(*target, share.pipelining, limits.reconnect_first))
            .collect();
        let interval = whole_nanoseconds(job.interval);
        let (writer, judge, sessions) = make_sender(&job, share)?;
        if let Some(sessions) = &sessions {
            limits.look_for(sessions.timeout_min());
            for connection in &mut connections {
                connection.reader = Reader::keeping_heads();
            }
        }
        Ok(Self {
            clock: Clock::start(),
            epoll,
            timers,
            events: Vec::with_capacity(EVENTS_MAX),
            pace,
            heads: Heads::new(read_limits),
            judge,
            recorder: Recorder::new(share, exchange, interval),
            layering: Layering::new(
                &job.transport,
                read_limits,
                (connections.len(), share.pipelining),
            ),
            account: job.account_at_most.map(Account::with_capacity),
            account_at_most: job.account_at_most.unwrap_or(u64::MAX),
            closes: match &job.what {
                What::Requests { requests, .. } => requests.iter().any(Prepared::asks_to_close),
                What::Scenario(_) => false,
            },
            sent: 0,
            requests_at_most: share.requests_at_most,
            to_open: links::first_openings(connections.len()),
            to_read: Vec::with_capacity(connections.len()),
            connections,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            out: Vec::with_capacity(INPUT_BYTES),
            seen: 0,
            ticks: 0,
            has_ticked: false,
            finishing_until: None,
            shared,
            limits,
            writer,
            sessions,
        })
    }

    /// Runs until stopped, exhausted or at the job's end, and until the answers under way have come or their time is up.
    pub(crate) fn run(mut self, clock: Clock) -> End {
        self.clock = clock;
        while !self.is_over() {
            self.wait();
            self.seen = self.clock.now();
            if self.seen >= self.limits.end {
                // Before time goes on: what is due before the end belongs to the interval that ends there.
                self.finish(self.seen);
            }
            self.recorder.advance(self.seen);
            for place in 0..self.events.len() {
                self.handle(self.events[place]);
            }
            self.read_on();
            self.send_due();
            self.open_due();
            if std::mem::take(&mut self.has_ticked) {
                self.look_around();
            }
        }
        self.say_good_bye();
        let now = self.clock.now();
        End {
            totals: self.recorder.finish(now),
            feed_used_up: self
                .sessions
                .and_then(|sessions| sessions.used_up().map(str::to_owned)),
            account: self.account,
            ran_for: now,
        }
    }

    /// Waits for events, among which are the timers: the wait itself has no timeout but where there is something to do.
    #[inline]
    fn wait(&mut self) {
        let opening = self.to_open.peek().map(|Reverse((instant, _))| *instant);
        let mut instant = earlier_instant(self.pace.next_instant(), opening);
        if let Some(sessions) = &self.sessions {
            instant = earlier_instant(instant, sessions.next_instant());
        }
        let is_due = instant.is_some_and(|instant| instant <= self.clock.now());
        let at_once = is_due || !self.to_read.is_empty();
        if let (false, Some(instant)) = (at_once, instant) {
            self.timers.ring_at(instant, &self.clock);
        }
        let timeout = at_once.then(|| timespec(0));
        self.events.clear();
        // Interrupted or not, what there is to do shows in the events and in the clock.
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
                self.on_connect(id);
                // An event that tells of more than the connection, such as its end, is the only one there will be.
                match self.connections[id as usize].phase {
                    Phase::Open if is_ending || flags.contains(EventFlags::IN) => {
                        self.receive(id, true);
                    }
                    Phase::Shaking { .. } => self.shake(id, flags),
                    _ => {}
                }
            }
            Phase::Shaking { .. } => self.shake(id, flags),
            // Closed by something earlier in the same round.
            Phase::Closed => {}
        }
    }

    fn look_around(&mut self) {
        self.ticks += 1;
        if self.recorder.connections_open() > 0 {
            self.shared.is_open(self.seen);
        } else if let Some(most) = self.limits.unconnected
            && self.finishing_until.is_none()
        {
            self.shared.end_unconnected(self.seen, most);
        }
        let must_stop = self.shared.stop.load(Ordering::Relaxed)
            || self.sent >= self.requests_at_most
            || self.is_exhausted();
        if must_stop {
            self.finish(self.seen);
        }
        if self.ticks.is_multiple_of(self.limits.scan_ticks) {
            self.end_overdue();
        }
    }

    /// Whether nothing will be sent any more. Sessions that have begun go on to their ends.
    fn is_exhausted(&self) -> bool {
        match &self.sessions {
            None => self.pace.is_exhausted(),
            Some(sessions) => {
                !sessions.are_under_way()
                    && (self.pace.is_exhausted() || sessions.used_up().is_some())
            }
        }
    }

    /// Sends nothing new from here on.
    fn finish(&mut self, now: u64) {
        if self.finishing_until.is_none() {
            self.finishing_until = Some(now.saturating_add(self.limits.finish));
            let last = self.pace.give_up(self.last_due(now));
            self.recorder.fell_due(last.due, last.skipped);
            if let Some(sessions) = &mut self.sessions {
                sessions.give_up(&mut self.recorder);
            }
            self.to_open.clear();
        }
    }

    /// The last instant up to `now` at which something may fall due.
    #[inline]
    fn last_due(&self, now: u64) -> u64 {
        now.min(self.limits.at_most.saturating_sub(1))
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.finishing_until
            .is_some_and(|until| self.recorder.in_flight() == 0 || self.seen >= until)
    }
}

/// What sends and judges: the writer and the judge, or sessions.
fn make_sender(
    job: &Job,
    share: &Share,
) -> Result<(Writer, Judge, Option<Box<Sessions>>), ScenarioError> {
    let (requests, expect, sessions) = match &job.what {
        What::Requests { requests, expect } => (requests.clone(), expect, None),
        What::Scenario(scenario) => {
            let sessions = Sessions::new(job, scenario, share)?;
            (Vec::new(), &Expect::default(), Some(Box::new(sessions)))
        }
    };
    let writer = Writer::new(
        requests,
        share.worker,
        share.workers,
        Stream::new(job.seed, CHANCE_OF_REQUESTS),
    );
    Ok((writer, Judge::new(expect), sessions))
}

impl Nanoseconds {
    fn new(job: &Job, pace: &Pace) -> Self {
        let limits = &job.limits;
        let at_most = whole_nanoseconds(job.at_most);
        let request_timeout = whole_nanoseconds(limits.request_timeout);
        let shortest = request_timeout.min(whole_nanoseconds(limits.connect_timeout));
        Self {
            request_timeout,
            connect_timeout: whole_nanoseconds(limits.connect_timeout),
            reconnect_first: whole_nanoseconds(limits.reconnect_first),
            reconnect_max: whole_nanoseconds(limits.reconnect_max),
            finish: whole_nanoseconds(limits.finish),
            at_most,
            end: at_most.min(pace.end()),
            scan_ticks: scan_ticks(shortest),
            unconnected: unconnected_at_most(job).map(whole_nanoseconds),
        }
    }

    /// Some answers may take no longer than this.
    fn look_for(&mut self, timeout: u64) {
        self.scan_ticks = self.scan_ticks.min(scan_ticks(timeout));
    }
}

/// A twentieth of the time is near enough for a timeout.
fn scan_ticks(timeout: u64) -> u64 {
    (timeout / 20 / TICK_NS).clamp(1, SCAN_TICKS_MAX)
}

fn earlier_instant(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
