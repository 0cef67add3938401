//! *When*, for every load model: which connection may send a request now, and since when it was due.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    ops::Range,
};

use waggle_spec::{LoadModel, Think};

use super::{
    clients::Clients,
    rate_profile::{NEVER, RateProfile},
    schedule::{Schedule, Walk},
    user_stages::UserStages,
};
use crate::{
    failure::Failure, job::Job, machine::clock::whole_nanoseconds, random::stream::RandomStream,
    recording::outcome::ClientOutcome,
};

/// Limit on the steps of a schedule in one cycle of the worker, so that nothing else starves.
const STEPS_MAX: u64 = 16_384;

/// The pacer of one worker. Connections have a number within the worker.
#[derive(Debug)]
pub(crate) enum Pacer {
    /// A connection may send whenever it has room.
    Closed,
    Open(Box<Open>),
    Users(Box<Users>),
    Clients(Box<Clients>),
}

/// Requests fall due by a schedule; waiting ones are only counted, because a second walk gives their instants.
#[derive(Debug)]
pub(crate) struct Open {
    /// The next request that will fall due.
    ahead: Walk,
    /// The next request to be sent.
    behind: Walk,
    due_max: u64,
    max_requests: u64,
    /// Connections with room, longest idle first.
    with_room: VecDeque<u32>,
}

/// Each connection is a user: a request, its answer, a pause.
#[derive(Debug)]
pub(crate) struct Users {
    timing: UserTiming,
    /// When the pause of each user ends.
    pausing: BinaryHeap<Reverse<(u64, u32)>>,
    /// Users whose pause has ended and whose connection was not handled since.
    awake: Vec<u32>,
    /// Of each user: since when a request is due, and its number of pauses.
    users: Vec<(Option<u64>, u64)>,
}

/// When users send, as a function of their number and their count of pauses.
#[derive(Debug)]
struct UserTiming {
    think_time: Think,
    random: RandomStream,
    stages: UserStages,
    worker: u64,
    workers: u64,
}

/// Requests that fell due by a schedule.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueCounts {
    pub(crate) due: u64,
    /// Skipped because too many were waiting.
    pub(crate) skipped: u64,
}

impl Pacer {
    /// The pacer of `worker` out of `workers`, which has `connections` and sends at most `max_requests`.
    pub(crate) fn new(
        job: &Job,
        (worker, workers): (usize, usize),
        connections: usize,
        max_requests: u64,
    ) -> Self {
        match &job.model {
            LoadModel::Closed { .. } => Self::Closed,
            LoadModel::Open {
                rate_per_s,
                arrivals,
                ..
            } => {
                let course = RateProfile::new(*rate_per_s, &job.stages);
                let schedule = Schedule::new(*arrivals, course, worker, workers, job.seed);
                Self::Open(Box::new(Open {
                    ahead: schedule.walk(),
                    behind: schedule.walk(),
                    due_max: job.limits.due_max as u64,
                    max_requests,
                    with_room: VecDeque::with_capacity(connections),
                }))
            }
            &LoadModel::Clients {
                clients,
                connections,
                requests,
                on_socket_error,
            } => {
                let numbers = (worker..clients as usize).step_by(workers);
                let clients = Clients::new(numbers, connections, requests, on_socket_error);
                Self::Clients(Box::new(clients))
            }
            LoadModel::Users { think_time, .. } => Self::Users(Box::new(Users::new(
                UserTiming {
                    think_time: *think_time,
                    random: RandomStream::new(job.seed, worker as u64),
                    stages: UserStages::new(&job.stages),
                    worker: worker as u64,
                    workers: workers as u64,
                },
                connections,
            ))),
        }
    }

    /// Collects the requests that fall due up to `now`; only a part of them if they are too many for one cycle.
    #[inline]
    pub(crate) fn collect_due(&mut self, now: u64) -> DueCounts {
        match self {
            Self::Closed | Self::Clients(_) => DueCounts::default(),
            Self::Open(open) => open.collect_due(now),
            Self::Users(users) => {
                users.wake(now);
                DueCounts::default()
            }
        }
    }

    /// When the next request falls due.
    #[inline]
    pub(crate) fn next_instant(&self) -> Option<u64> {
        match self {
            Self::Closed | Self::Clients(_) => None,
            Self::Open(open) => {
                let due = open.ahead.due();
                (open.ahead.index() < open.max_requests && due != NEVER).then_some(due)
            }
            Self::Users(users) => users.pausing.peek().map(|Reverse((instant, _))| *instant),
        }
    }

    /// Whether there is a request for a connection with room.
    #[inline]
    pub(crate) fn has_for(&self, connection: u32) -> bool {
        match self {
            Self::Closed => true,
            Self::Open(open) => open.waiting_count() > 0,
            Self::Users(users) => users.users[connection as usize].0.is_some(),
            Self::Clients(clients) => clients.has_for(connection),
        }
    }

    /// Takes one request for a connection with room: since when it has been due; `None` if there is none for it.
    #[inline]
    pub(crate) fn take(&mut self, connection: u32, now: u64) -> Option<u64> {
        match self {
            Self::Closed => Some(now),
            Self::Open(open) => open.take(),
            Self::Users(users) => users.users[connection as usize].0.take(),
            Self::Clients(clients) => clients.take(connection, now),
        }
    }

    /// A connection that should get a due request; each is returned once.
    #[inline]
    pub(crate) fn next_connection(&mut self) -> Option<u32> {
        match self {
            Self::Closed | Self::Clients(_) => None,
            Self::Open(open) if open.waiting_count() == 0 => None,
            Self::Open(open) => open.with_room.pop_front(),
            Self::Users(users) => users.awake.pop(),
        }
    }

    /// Notes that a connection has room, if it is not noted already; true if that matters to this model.
    #[inline]
    pub(crate) fn note_room(&mut self, connection: u32) -> bool {
        match self {
            Self::Open(open) => {
                open.with_room.push_back(connection);
                true
            }
            Self::Closed | Self::Users(_) | Self::Clients(_) => false,
        }
    }

    /// A request of this connection has ended, successfully or not.
    #[inline]
    pub(crate) fn on_request_end(&mut self, connection: u32, now: u64, ended: Result<(), Failure>) {
        match self {
            Self::Users(users) => users.pause(connection, now),
            Self::Clients(clients) => clients.on_request_end(connection, now, ended),
            Self::Closed | Self::Open(_) => {}
        }
    }

    /// A connection could not be opened, or ended with nothing in flight although it was not agreed.
    pub(crate) fn on_connection_error(&mut self, connection: u32, failure: Failure, now: u64) {
        if let Self::Clients(clients) = self {
            clients.on_connection_error(connection, failure, now);
        }
    }

    /// Whether a closed connection should be opened.
    pub(crate) fn opens(&mut self, connection: u32) -> bool {
        match self {
            Self::Clients(clients) => clients.opens(connection),
            Self::Closed | Self::Open(_) | Self::Users(_) => true,
        }
    }

    /// The connections to close because the client of this one has ended early; each client's once.
    pub(crate) fn take_ended(&mut self, connection: u32) -> Option<Range<u32>> {
        match self {
            Self::Clients(clients) => clients.take_ended(connection),
            Self::Closed | Self::Open(_) | Self::Users(_) => None,
        }
    }

    /// Whether all connections are opened at the start, and not as many at a time as listeners can follow.
    pub(crate) fn opens_all_at_once(&self) -> bool {
        matches!(self, Self::Clients(_))
    }

    /// What became of the clients, if it is a load of clients.
    pub(crate) fn into_clients(self) -> Vec<ClientOutcome> {
        match self {
            Self::Clients(clients) => clients.into_outcomes(),
            Self::Closed | Self::Open(_) | Self::Users(_) => Vec::new(),
        }
    }

    /// Whether the schedule is at its end, and all of its requests are sent or skipped.
    pub(crate) fn is_exhausted(&self) -> bool {
        match self {
            Self::Closed | Self::Users(_) => false,
            Self::Clients(clients) => clients.have_ended(),
            Self::Open(open) => {
                open.ahead.index() >= open.max_requests && open.waiting_count() == 0
            }
        }
    }

    /// When the stages end; [`NEVER`] without stages.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Closed | Self::Clients(_) => NEVER,
            Self::Users(users) => users.timing.stages.end(),
            Self::Open(open) => open.ahead.end(),
        }
    }

    /// Ends the load: nothing falls due after `last`. Returns the requests that fell due since the last call, and all due
    /// requests that will never be sent.
    pub(crate) fn give_up(&mut self, last: u64) -> DueCounts {
        let mut counts = self.collect_due(last);
        if let Self::Open(open) = self {
            let left = open.max_requests - open.ahead.index();
            let rest = open.ahead.due_until(last).min(left);
            counts.due += rest;
            counts.skipped += rest + open.waiting_count();
        }
        match self {
            Self::Clients(clients) => clients.stop(last),
            Self::Closed | Self::Open(_) | Self::Users(_) => *self = Self::Closed,
        }
        counts
    }
}

impl Open {
    #[inline]
    fn waiting_count(&self) -> u64 {
        self.ahead.index() - self.behind.index()
    }

    #[inline]
    fn collect_due(&mut self, now: u64) -> DueCounts {
        let before = self.ahead.index();
        let most = self.max_requests.min(before + STEPS_MAX);
        while self.ahead.due() <= now && self.ahead.index() < most {
            self.ahead.advance();
        }
        let mut skipped = 0;
        // The oldest are skipped: the waiting ones remain a range of indices, and those sent are as late as any.
        while self.waiting_count() > self.due_max {
            self.behind.advance();
            skipped += 1;
        }
        DueCounts {
            due: self.ahead.index() - before,
            skipped,
        }
    }

    #[inline]
    fn take(&mut self) -> Option<u64> {
        (self.waiting_count() > 0).then(|| {
            let due = self.behind.due();
            self.behind.advance();
            due
        })
    }
}

impl Users {
    fn new(timing: UserTiming, users: usize) -> Self {
        let pausing = (0..users)
            .filter_map(|user| {
                let user = u32::try_from(user).expect("more users than sockets can exist");
                Some(Reverse((timing.first_start(user, 0, 0)?, user)))
            })
            .collect();
        Self {
            timing,
            pausing,
            awake: Vec::with_capacity(users),
            users: vec![(None, 1); users],
        }
    }

    fn wake(&mut self, now: u64) {
        while let Some(&Reverse((instant, user))) = self.pausing.peek()
            && instant <= now
        {
            self.pausing.pop();
            self.users[user as usize].0 = Some(instant);
            self.awake.push(user);
        }
    }

    fn pause(&mut self, user: u32, now: u64) {
        let pauses = &mut self.users[user as usize].1;
        if let Some(instant) = self.timing.next_start(user, *pauses, now) {
            self.pausing.push(Reverse((instant, user)));
        }
        *pauses += 1;
    }
}

impl UserTiming {
    /// When a user whose n-th pause begins `now` sends next; `None`: never, it is no longer needed.
    fn next_start(&self, user: u32, n: u64, now: u64) -> Option<u64> {
        let instant = now.saturating_add(self.pause(user, n));
        let stretch = self.stages.next(self.number(user), instant)?;
        if stretch.from <= instant {
            Some(instant)
        } else {
            self.first_start(user, n, instant)
        }
    }

    /// When a user begins that is not active at `instant`: after the rest of a pause, as if it had been active before. Otherwise
    /// users that start together would send together.
    fn first_start(&self, user: u32, n: u64, mut instant: u64) -> Option<u64> {
        let arrival = self.random.inner(u64::MAX - n).fraction(u64::from(user));
        let late = remaining_pause(
            self.think_time,
            arrival,
            self.random.inner(u64::from(user)),
            n,
        );
        loop {
            let stretch = self.stages.next(self.number(user), instant)?;
            let begins = stretch.from.saturating_add(late);
            if begins < stretch.until {
                return Some(begins);
            }
            instant = stretch.until;
        }
    }

    /// The number of a user of this worker among all users: workers get users in turn.
    fn number(&self, user: u32) -> u64 {
        u64::from(user) * self.workers + self.worker
    }

    /// The n-th pause of a user in nanoseconds.
    fn pause(&self, user: u32, n: u64) -> u64 {
        pause(self.think_time, self.random.inner(u64::from(user)), n)
    }
}

/// The n-th pause drawn from a stream, in nanoseconds.
pub(crate) fn pause(think_time: Think, random: RandomStream, n: u64) -> u64 {
    match think_time {
        Think::Fixed(length) => whole_nanoseconds(length),
        Think::Exponential(mean) => (whole_nanoseconds(mean) as f64 * random.exponential(n)) as u64,
        Think::Uniform { from, to } => {
            let (from, to) = (whole_nanoseconds(from), whole_nanoseconds(to));
            from + ((to - from) as f64 * random.fraction(n)) as u64
        }
    }
}

/// The rest of a pause at a random instant, at which the share `arrival` of it has passed. Longer pauses are hit more often, in
/// proportion to their length; the rest of an exponential pause is distributed like a whole one.
fn remaining_pause(think_time: Think, arrival: f64, random: RandomStream, n: u64) -> u64 {
    let whole = match think_time {
        Think::Exponential(_) => return pause(think_time, random, n),
        Think::Fixed(length) => whole_nanoseconds(length) as f64,
        Think::Uniform { from, to } => {
            let [from, to] = [from, to].map(|end| whole_nanoseconds(end) as f64);
            (from * from + random.fraction(n) * (to * to - from * from)).sqrt()
        }
    };
    (whole * arrival) as u64
}

#[cfg(test)]
mod tests;
