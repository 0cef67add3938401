//! *When*, for every load model: which connection may send a request now, and since when it was due.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use crate::{
    Job, Model, Think,
    chance::Stream,
    clock::whole_nanoseconds,
    course::NEVER,
    presence::Presence,
    schedule::{Schedule, Walk},
};

/// So many steps of a schedule are walked in one turn of the worker at most, so that it always comes to all that it has to do.
const STEPS_MAX: u64 = 16_384;

/// The pace of one worker. Connections are named by their number in the worker.
#[derive(Debug)]
pub(crate) enum Pace {
    /// A connection may send whenever it has room.
    Closed,
    Open(Box<Open>),
    Users(Box<Users>),
}

/// Requests fall due by a schedule; those that found no room wait as a number, since their instants can be
/// walked through again.
#[derive(Debug)]
pub(crate) struct Open {
    /// The next request that will fall due.
    ahead: Walk,
    /// The next request to be sent.
    behind: Walk,
    due_max: u64,
    requests_at_most: u64,
    /// Connections with room, the longest idle first.
    with_room: VecDeque<u32>,
}

/// Each connection is a user: a request, its answer, a pause.
#[derive(Debug)]
pub(crate) struct Users {
    habits: Habits,
    /// When each pausing user goes on.
    pausing: BinaryHeap<Reverse<(u64, u32)>>,
    /// Users whose pause has ended and whose connection has not been looked at since.
    awake: Vec<u32>,
    /// Of each user: since when it wants to send, and how many pauses it has made.
    users: Vec<(Option<u64>, u64)>,
}

/// When users go on, as a function of who they are and how often they have paused.
#[derive(Debug)]
struct Habits {
    think: Think,
    chance: Stream,
    presence: Presence,
    worker: u64,
    workers: u64,
}

/// What fell due by a schedule.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fallen {
    pub(crate) due: u64,
    /// Given up because too many were waiting.
    pub(crate) skipped: u64,
}

impl Pace {
    /// The pace of `worker` out of `workers`, which has `connections` and sends at most `requests_at_most`.
    pub(crate) fn new(
        job: &Job,
        (worker, workers): (usize, usize),
        connections: usize,
        requests_at_most: u64,
    ) -> Self {
        match &job.model {
            Model::Closed { .. } => Self::Closed,
            Model::Open { rate, arrivals, .. } => {
                let schedule = Schedule::new(*arrivals, rate, worker, workers, job.seed);
                Self::Open(Box::new(Open {
                    ahead: schedule.walk(),
                    behind: schedule.walk(),
                    due_max: job.limits.due_max as u64,
                    requests_at_most,
                    with_room: VecDeque::with_capacity(connections),
                }))
            }
            Model::Users { think, stages, .. } => Self::Users(Box::new(Users::new(
                Habits {
                    think: *think,
                    chance: Stream::new(job.seed, worker as u64),
                    presence: Presence::new(stages),
                    worker: worker as u64,
                    workers: workers as u64,
                },
                connections,
            ))),
        }
    }

    /// Lets fall due what does so up to `now`; where that is too much for one turn, a part of it.
    #[inline]
    pub(crate) fn fall(&mut self, now: u64) -> Fallen {
        match self {
            Self::Closed => Fallen::default(),
            Self::Open(open) => open.fall(now),
            Self::Users(users) => {
                users.wake(now);
                Fallen::default()
            }
        }
    }

    /// When something falls due next.
    #[inline]
    pub(crate) fn next_instant(&self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Open(open) => {
                let due = open.ahead.due();
                (open.ahead.index() < open.requests_at_most && due != NEVER).then_some(due)
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
        }
    }

    /// Takes one request for a connection with room: since when it was due; `None` if there is none for it.
    #[inline]
    pub(crate) fn take(&mut self, connection: u32, now: u64) -> Option<u64> {
        match self {
            Self::Closed => Some(now),
            Self::Open(open) => open.take(),
            Self::Users(users) => users.users[connection as usize].0.take(),
        }
    }

    /// A connection that should be given what has fallen due; each is named once.
    #[inline]
    pub(crate) fn next_connection(&mut self) -> Option<u32> {
        match self {
            Self::Closed => None,
            Self::Open(open) if open.waiting_count() == 0 => None,
            Self::Open(open) => open.with_room.pop_front(),
            Self::Users(users) => users.awake.pop(),
        }
    }

    /// A connection has room and is not named already. True where it was noted.
    #[inline]
    pub(crate) fn note_room(&mut self, connection: u32) -> bool {
        match self {
            Self::Open(open) => {
                open.with_room.push_back(connection);
                true
            }
            Self::Closed | Self::Users(_) => false,
        }
    }

    /// A request of this connection has come to its end, well or badly.
    #[inline]
    pub(crate) fn on_request_end(&mut self, connection: u32, now: u64) {
        if let Self::Users(users) = self {
            users.pause(connection, now);
        }
    }

    /// Whether the schedule has come to its last request, and all of them are sent or given up.
    pub(crate) fn is_exhausted(&self) -> bool {
        match self {
            Self::Closed | Self::Users(_) => false,
            Self::Open(open) => {
                open.ahead.index() >= open.requests_at_most && open.waiting_count() == 0
            }
        }
    }

    /// When the stages end; [`NEVER`] without any.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Closed => NEVER,
            Self::Users(users) => users.habits.presence.end(),
            Self::Open(open) => open.ahead.end(),
        }
    }

    /// The load is over, nothing falls due after `last`: what has fallen due since it was asked last, and what was due
    /// and will never be sent.
    pub(crate) fn give_up(&mut self, last: u64) -> Fallen {
        let mut fallen = self.fall(last);
        if let Self::Open(open) = self {
            let left = open.requests_at_most - open.ahead.index();
            let rest = open.ahead.due_until(last).min(left);
            fallen.due += rest;
            fallen.skipped += rest + open.waiting_count();
        }
        *self = Self::Closed;
        fallen
    }
}

impl Open {
    #[inline]
    fn waiting_count(&self) -> u64 {
        self.ahead.index() - self.behind.index()
    }

    #[inline]
    fn fall(&mut self, now: u64) -> Fallen {
        let before = self.ahead.index();
        let most = self.requests_at_most.min(before + STEPS_MAX);
        while self.ahead.due() <= now && self.ahead.index() < most {
            self.ahead.advance();
        }
        let mut skipped = 0;
        // The oldest are given up: what waits stays a range of indices, and those sent are as late as any.
        while self.waiting_count() > self.due_max {
            self.behind.advance();
            skipped += 1;
        }
        Fallen {
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
    fn new(habits: Habits, users: usize) -> Self {
        let pausing = (0..users)
            .filter_map(|user| {
                let user = u32::try_from(user).expect("more users than sockets can exist");
                Some(Reverse((habits.comes_in(user, 0, 0)?, user)))
            })
            .collect();
        Self {
            habits,
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
        if let Some(instant) = self.habits.goes_on(user, *pauses, now) {
            self.pausing.push(Reverse((instant, user)));
        }
        *pauses += 1;
    }
}

impl Habits {
    /// When a user whose n-th pause begins `now` goes on; `None`: never, it is not needed any more.
    fn goes_on(&self, user: u32, n: u64, now: u64) -> Option<u64> {
        let instant = now.saturating_add(self.pause(user, n));
        let stretch = self.presence.next(self.number(user), instant)?;
        if stretch.from <= instant {
            Some(instant)
        } else {
            self.comes_in(user, n, instant)
        }
    }

    /// When a user begins that is not active at `instant`: after what is left of a pause when it is needed, as if it had
    /// been there before. Otherwise all that come together would send together.
    fn comes_in(&self, user: u32, n: u64, mut instant: u64) -> Option<u64> {
        let arrival = self.chance.inner(u64::MAX - n).fraction(u64::from(user));
        let late = rest_of_pause(self.think, arrival, self.chance.inner(u64::from(user)), n);
        loop {
            let stretch = self.presence.next(self.number(user), instant)?;
            let begins = stretch.from.saturating_add(late);
            if begins < stretch.until {
                return Some(begins);
            }
            instant = stretch.until;
        }
    }

    /// The number of a user of this worker among all: users are dealt out to workers in turn.
    fn number(&self, user: u32) -> u64 {
        u64::from(user) * self.workers + self.worker
    }

    /// The n-th pause of a user in nanoseconds.
    fn pause(&self, user: u32, n: u64) -> u64 {
        pause(self.think, self.chance.inner(u64::from(user)), n)
    }
}

/// The n-th pause of a stream of chance, in nanoseconds.
pub(crate) fn pause(think: Think, chance: Stream, n: u64) -> u64 {
    match think {
        Think::Fixed(length) => whole_nanoseconds(length),
        Think::Exponential(mean) => (whole_nanoseconds(mean) as f64 * chance.exponential(n)) as u64,
        Think::Uniform { from, to } => {
            let (from, to) = (whole_nanoseconds(from), whole_nanoseconds(to));
            from + ((to - from) as f64 * chance.fraction(n)) as u64
        }
    }
}

/// What is left of a pause that somebody comes upon at a time of no choice of theirs, who has seen `arrival` of it pass. Longer
/// pauses are come upon more often, in proportion to their length; the rest of an exponential one is as long as a whole one.
fn rest_of_pause(think: Think, arrival: f64, chance: Stream, n: u64) -> u64 {
    let whole = match think {
        Think::Exponential(_) => return pause(think, chance, n),
        Think::Fixed(length) => whole_nanoseconds(length) as f64,
        Think::Uniform { from, to } => {
            let [from, to] = [from, to].map(|end| whole_nanoseconds(end) as f64);
            (from * from + chance.fraction(n) * (to * to - from * from)).sqrt()
        }
    };
    (whole * arrival) as u64
}

#[cfg(test)]
mod tests;
