//! The runner's side: takes in agents, keeps their control connections, and opens loads on them.

mod accept;
mod facts;
mod member;
mod shared;
mod turns;

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::{
    net::TcpStream,
    runtime::{self, Handle},
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_rustls::server::TlsStream;
use waggle_load::Link;

use crate::{
    clocks::{ClockReading, clock_error},
    host::CpuThrottle,
    join_file::JoinFile,
    link::blocking_halves,
    messages::SILENCE_TIMEOUT,
    program::ProgramId,
    tls::RunIdentity,
};

use facts::AGENTS_MAX;
pub use facts::{AgentUse, Asked, FleetError, FleetMember, Notice};
use member::Member;
use shared::{Place, Shared};
use turns::{AT_ONCE_MAX, Turns};

/// How long an agent may take to open a load connection.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Readings of a clock before and after a load; the best one counts.
const READINGS: u32 = 20;
/// How long all readings of one kind may take.
const READINGS_TIMEOUT: Duration = SILENCE_TIMEOUT;
/// How long to look for the reason of a load connection that has ended.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);
const REASON_INTERVAL: Duration = Duration::from_millis(5);

/// The agents of a run. Dropping it ends them.
pub struct Fleet {
    shared: Arc<Shared>,
    runtime: Handle,
    join: JoinFile,
    local: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("join", &self.join)
            .finish_non_exhaustive()
    }
}

/// What was read of each agent before a load that goes on. When it is dropped, loads have readings of their own again.
pub struct LoadUse {
    shared: Arc<Shared>,
    before: Vec<Before>,
}

/// What was read of an agent before a load.
#[derive(Debug)]
struct Before {
    member: FleetMember,
    clock: ClockReading,
    throttle: Option<CpuThrottle>,
}

/// What is read of an agent before and after a load.
struct Reading {
    number: usize,
    clock: ClockReading,
    throttle: Option<CpuThrottle>,
}

impl fmt::Debug for LoadUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadUse").field(&self.before).finish()
    }
}

impl Drop for LoadUse {
    fn drop(&mut self) {
        let mut places = self.shared.places();
        for before in &self.before {
            if let Some(member) = &mut places[before.member.number - 1].member {
                member.end_load();
            }
        }
    }
}

impl Fleet {
    /// Begins to take in agents; must be called outside of a runtime's own thread or on one that may block for a moment.
    ///
    /// # Errors
    /// The address is not to be had.
    pub fn start(asked: &Asked, notices: mpsc::Sender<Notice>) -> Result<Self, FleetError> {
        if !(1..=AGENTS_MAX).contains(&asked.agents) {
            return Err(FleetError::Count {
                agents: asked.agents,
            });
        }
        let identity = RunIdentity::make()?;
        let listen = |problem| FleetError::Listen {
            address: asked.listen,
            problem,
        };
        let listener = std::net::TcpListener::bind(asked.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let local = listener.local_addr().map_err(listen)?;
        let join = JoinFile {
            run: asked.run.clone(),
            addresses: addresses(asked, local),
            token: identity.token.clone(),
            certificate: identity.certificate,
        };
        let shared = Arc::new(Shared {
            of: asked.agents,
            token: identity.token,
            program: ProgramId::read(),
            places: Mutex::new((0..asked.agents).map(|_| Place::default()).collect()),
            asked: Mutex::default(),
            next_load: AtomicU64::new(1),
            turns: Turns::new(),
            joined: watch::Sender::new(0),
            notices,
        });
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(FleetError::Thread)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let theirs = Arc::clone(&shared);
        let acceptor = identity.acceptor;
        let run = move || {
            runtime.block_on(accept::take_in(listener, acceptor, theirs, ended));
        };
        let thread = thread::Builder::new().name("agents".to_owned()).spawn(run);
        let thread = thread.map_err(FleetError::Thread)?;
        Ok(Self {
            shared,
            runtime: handle,
            join,
            local,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// What agents need to join.
    #[must_use]
    pub fn join_file(&self) -> &JoinFile {
        &self.join
    }

    /// The port at which it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.local.port()
    }

    /// The agents that are there, in the order of their numbers.
    #[must_use]
    pub fn members(&self) -> Vec<FleetMember> {
        let places = self.shared.places();
        let members = places.iter().filter_map(|place| place.member.as_ref());
        members.map(|member| member.info.clone()).collect()
    }

    /// How many the run has.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.shared.of
    }

    /// Waits until the first agents are there, as many as make a load.
    ///
    /// # Errors
    /// They are not after this time; the text names those that are, and those that are lost.
    pub async fn wait_for_agents(
        &self,
        agents: usize,
        at_most: Duration,
    ) -> Result<Vec<FleetMember>, FleetError> {
        let mut joined = self.shared.joined.subscribe();
        let are_there = |_: &usize| self.shared.are_there(agents);
        let is_late = timeout(at_most, joined.wait_for(are_there)).await.is_err();
        let mut members = self.members();
        members.retain(|member| member.number <= agents);
        if !is_late && members.len() >= agents {
            return Ok(members);
        }
        let named = |member: &FleetMember| format!("{} ({})", member.number, member.host.name);
        Err(FleetError::Missing {
            joined: members.iter().map(named).collect(),
            lost: self.losses(agents),
            of: agents,
            after: at_most,
        })
    }

    /// Those of the first agents that were there and are lost, with the reason.
    fn losses(&self, agents: usize) -> Vec<String> {
        let places = self.shared.places();
        let first = (1..).zip(places.iter().take(agents));
        first
            .filter_map(|(number, place)| place.loss_text(number))
            .collect()
    }

    /// Reads the clocks of the first agents, as many as make a load, which begins now.
    ///
    /// # Errors
    /// An agent is lost or does not answer.
    pub async fn begin_load(&self, agents: usize) -> Result<LoadUse, FleetError> {
        let mut load = LoadUse {
            shared: Arc::clone(&self.shared),
            before: Vec::with_capacity(agents),
        };
        let readings = stream::iter(1..=agents).map(|number| self.read(number));
        let mut readings = readings.buffered(AT_ONCE_MAX);
        while let Some(reading) = readings.next().await {
            let Reading {
                number,
                clock,
                throttle,
            } = reading?;
            let mut places = self.shared.places();
            let member = places[number - 1].member.as_mut();
            let Some(member) = member else {
                drop(places);
                return Err(self.lost_error(number));
            };
            member.begin_load(clock);
            load.before.push(Before {
                member: member.info.clone(),
                clock,
                throttle,
            });
        }
        Ok(load)
    }

    /// Reads the clocks again after the load.
    ///
    /// # Errors
    /// An agent is lost or does not answer.
    pub async fn end_load(&self, load: &LoadUse) -> Result<Vec<AgentUse>, FleetError> {
        let mut uses = Vec::with_capacity(load.before.len());
        let numbers = load.before.iter().map(|before| before.member.number);
        let readings = stream::iter(numbers).map(|number| self.read(number));
        let readings = readings.buffered(AT_ONCE_MAX);
        let mut readings = readings.zip(stream::iter(&load.before));
        while let Some((reading, before)) = readings.next().await {
            let Reading {
                number,
                clock: after,
                throttle,
            } = reading?;
            let between = {
                let mut places = self.shared.places();
                let known = places[number - 1].member.as_mut();
                known.map(Member::end_load).unwrap_or_default()
            };
            uses.push(AgentUse {
                member: before.member.clone(),
                clock: clock_error(before.clock, &between, after),
                throttle: throttle
                    .zip(before.throttle)
                    .map(|(after, before)| after.difference(before)),
            });
        }
        Ok(uses)
    }

    /// Opens a load connection to each of these agents, counted from 1. Blocks; for a thread outside of a runtime.
    ///
    /// # Errors
    /// An agent is lost, or opens no connection in time.
    pub fn open(&self, numbers: impl IntoIterator<Item = usize>) -> Result<Vec<Link>, FleetError> {
        let links = stream::iter(numbers).map(|number| self.open_on(number));
        self.runtime
            .block_on(links.buffered(AT_ONCE_MAX).try_collect())
    }

    async fn open_on(&self, number: usize) -> Result<Link, FleetError> {
        // That of the load which goes on; the others, such as a preparation, have readings of their own.
        let clock = match self.member_fact(number, Member::reading_of_load) {
            Some(clock) => clock,
            None => self.read_clock(number).await?,
        };
        let stream = self.load_connection(number).await?;
        let (reports, orders) = blocking_halves(stream, &self.runtime);
        let shared = Arc::clone(&self.shared);
        let name = self.name(number);
        Ok(Link {
            orders: Box::new(orders),
            reports: Box::new(reports),
            agent: Some(name),
            clock_offset_ns: clock.offset_ns,
            round_trip: Duration::from_nanos(clock.bound_ns.saturating_mul(2)),
            ending: Box::new(move || ending(&shared, number)),
        })
    }

    async fn load_connection(&self, number: usize) -> Result<TlsStream<TcpStream>, FleetError> {
        let load = self.shared.next_load.fetch_add(1, Ordering::Relaxed);
        let mut asked = self.shared.expect_connection(number, load);
        self.order(number, member::Order::Open { load }).await?;
        let connection = timeout(OPEN_TIMEOUT, &mut asked.connected).await;
        let Ok(Ok(connection)) = connection else {
            let why = format!(
                "it opened no load connection within {} s",
                OPEN_TIMEOUT.as_secs()
            );
            return Err(match self.shared.loss(number) {
                Some(_) => self.lost_error(number),
                None => self.shared.error(number, why),
            });
        };
        Ok(connection)
    }

    fn name(&self, number: usize) -> String {
        let places = self.shared.places();
        let name = places.get(number - 1).and_then(Place::name);
        name.unwrap_or("lost").to_owned()
    }

    fn lost_error(&self, number: usize) -> FleetError {
        let lost = self.shared.loss(number);
        let why = lost.unwrap_or_else(|| "it has not joined".to_owned());
        self.shared.error(number, format!("it is lost: {why}"))
    }

    async fn order(&self, number: usize, order: member::Order) -> Result<(), FleetError> {
        let orders = self.member_fact(number, |member| Some(member.orders.clone()));
        let Some(orders) = orders else {
            return Err(self.lost_error(number));
        };
        let sent = timeout(SILENCE_TIMEOUT, orders.send(order)).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            _ => Err(self.lost_error(number)),
        }
    }

    /// The answer to an order, which the agent's connection gives.
    async fn answer<T>(
        &self,
        number: usize,
        order: impl FnOnce(oneshot::Sender<T>) -> member::Order,
    ) -> Result<T, FleetError> {
        let (sender, answered) = oneshot::channel();
        self.order(number, order(sender)).await?;
        match timeout(READINGS_TIMEOUT, answered).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.lost_error(number)),
            Err(_) => {
                let seconds = READINGS_TIMEOUT.as_secs();
                Err(self
                    .shared
                    .error(number, format!("it has not answered within {seconds} s")))
            }
        }
    }

    /// What is known of an agent that is there.
    fn member_fact<T>(&self, number: usize, fact: impl FnOnce(&Member) -> Option<T>) -> Option<T> {
        let places = self.shared.places();
        let place = places.get(number - 1)?;
        place.member.as_ref().and_then(fact)
    }

    async fn read(&self, number: usize) -> Result<Reading, FleetError> {
        Ok(Reading {
            number,
            clock: self.read_clock(number).await?,
            throttle: self.throttle(number).await?,
        })
    }

    async fn read_clock(&self, number: usize) -> Result<ClockReading, FleetError> {
        let round_trip = self.member_fact(number, Member::round_trip);
        let _turn = self.shared.turns.take(round_trip).await;
        let order = |reply| member::Order::ReadClock {
            readings: READINGS,
            reply,
        };
        self.answer(number, order).await
    }

    async fn throttle(&self, number: usize) -> Result<Option<CpuThrottle>, FleetError> {
        self.answer(number, |reply| member::Order::Throttle { reply })
            .await
    }
}

/// How an agent ended whose load connection has ended, as the rest of `agent 2 of 3 ended …`.
fn ending(shared: &Shared, number: usize) -> Option<String> {
    let deadline = Instant::now() + REASON_TIMEOUT;
    loop {
        if let Some(why) = shared.loss(number) {
            return Some(format!("({why})"));
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(REASON_INTERVAL);
    }
}

/// Where agents reach the runner.
fn addresses(asked: &Asked, local: SocketAddr) -> Vec<String> {
    if asked.advertise.is_empty() {
        return vec![local.to_string()];
    }
    let hosts = asked.advertise.iter();
    hosts.map(|host| with_port(host, local.port())).collect()
}

/// `HOST:PORT` of a host that may have its port already.
fn with_port(host: &str, port: u16) -> String {
    let has_port = match host.rsplit_once(':') {
        // An address of IPv6 has colons of its own.
        Some((name, port)) => {
            (!name.contains(':') || name.ends_with(']')) && port.parse::<u16>().is_ok()
        }
        None => false,
    };
    match has_port {
        true => host.to_owned(),
        false if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Agents are told; the thread then ends, and with it the runtime and all connections.
        self.end.take();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_port;

    #[test]
    fn hosts_get_the_port_unless_they_have_one() {
        let check = |host: &str, expected: &str| assert_eq!(with_port(host, 7), expected);
        check("10.0.0.5", "10.0.0.5:7");
        check("10.0.0.5:80", "10.0.0.5:80");
        check("runner.example", "runner.example:7");
        check("runner.example:80", "runner.example:80");
        check("::1", "[::1]:7");
        check("[::1]", "[::1]:7");
        check("[::1]:80", "[::1]:80");
    }
}
