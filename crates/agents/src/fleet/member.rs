//! The control connection of one agent: its clock is read each second, and more closely before and after a load.

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use tokio::{
    io::{ReadHalf, WriteHalf, split},
    net::TcpStream,
    sync::{mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_rustls::server::TlsStream;

use super::{
    facts::{FleetMember, Notice},
    shared::{Loss, Shared},
};
use crate::{
    clocks::{ClockReading, Exchange, best_reading, monotonic_ns, unix_ns},
    host::CpuThrottle,
    messages::{self, FromAgent, PING_INTERVAL, SILENCE_TIMEOUT, ToAgent},
};

/// Orders that may wait.
const ORDERS_MAX: usize = 16;
/// Messages that may wait.
const MESSAGES_MAX: usize = 16;
/// Readings that are kept of a load; of a longer one every second is dropped, again and again.
const READINGS_MAX: usize = 4_096;
/// How long a message may take to be sent.
const SEND_TIMEOUT: Duration = SILENCE_TIMEOUT;

/// What the runner asks of an agent.
pub(super) enum Order {
    ReadClock {
        readings: u32,
        reply: oneshot::Sender<ClockReading>,
    },
    Throttle {
        reply: oneshot::Sender<Option<CpuThrottle>>,
    },
    Open {
        load: u64,
    },
    End,
}

pub(super) fn orders() -> (mpsc::Sender<Order>, mpsc::Receiver<Order>) {
    mpsc::channel(ORDERS_MAX)
}

/// An agent that is there.
pub(super) struct Member {
    pub(super) info: FleetMember,
    pub(super) orders: mpsc::Sender<Order>,
    /// The shortest one so far.
    round_trip_ns: Option<u64>,
    load: Option<LoadReadings>,
}

/// The readings of a load that goes on.
struct LoadReadings {
    before: ClockReading,
    between: Vec<ClockReading>,
}

impl Member {
    pub(super) fn new(info: FleetMember, orders: mpsc::Sender<Order>) -> Self {
        Self {
            info,
            orders,
            round_trip_ns: None,
            load: None,
        }
    }

    pub(super) fn begin_load(&mut self, before: ClockReading) {
        self.load = Some(LoadReadings {
            before,
            between: Vec::new(),
        });
    }

    pub(super) fn reading_of_load(&self) -> Option<ClockReading> {
        self.load.as_ref().map(|load| load.before)
    }

    /// The readings in between.
    pub(super) fn end_load(&mut self) -> Vec<ClockReading> {
        self.load.take().map_or_else(Vec::new, |load| load.between)
    }

    /// The shortest one so far; `None`: there was no reading yet.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip_ns.map(Duration::from_nanos)
    }

    fn note_round_trip(&mut self, reading: &ClockReading) {
        let round_trip = reading.bound_ns.saturating_mul(2);
        let shortest = self
            .round_trip_ns
            .map_or(round_trip, |known| known.min(round_trip));
        self.round_trip_ns = Some(shortest);
    }

    fn add(&mut self, reading: ClockReading) {
        let Some(load) = &mut self.load else { return };
        load.between.push(reading);
        if load.between.len() == READINGS_MAX {
            let mut number = 0_u32;
            load.between.retain(|_| {
                number += 1;
                number.is_multiple_of(2)
            });
        }
    }
}

/// An agent that has just joined.
pub(super) struct Joined {
    pub(super) stream: TlsStream<TcpStream>,
    pub(super) member: FleetMember,
    pub(super) orders: mpsc::Receiver<Order>,
}

/// Frees the place of an agent.
pub(super) fn leave(shared: &Shared, member: &FleetMember, why: &str) {
    let joined = {
        let mut places = shared.places();
        let place = &mut places[member.number - 1];
        place.member = None;
        place.lost = Some(Loss {
            name: member.host.name.clone(),
            why: why.to_owned(),
        });
        places.iter().filter(|place| place.member.is_some()).count()
    };
    // Those who wait for its connections need not.
    shared
        .asked_connections()
        .retain(|(number, _), _| *number != member.number);
    shared.joined.send_replace(joined);
}

/// Keeps the connection until it or the run ends.
pub(super) async fn lead(joined: Joined, shared: &Arc<Shared>) {
    let Joined {
        stream,
        member,
        orders,
    } = joined;
    let (reader, writer) = split(stream);
    let (sender, messages) = mpsc::channel(MESSAGES_MAX);
    let reading = tokio::spawn(read_messages(reader, sender));
    let conversation = Conversation {
        shared,
        number: member.number,
        writer,
        sent: HashMap::new(),
        next_id: 0,
        close_reading: None,
        throttle: HashMap::new(),
    };
    let ended = conversation.lead(orders, messages).await;
    reading.abort();
    match ended {
        Ok(()) => leave(shared, &member, "the run is over"),
        Err(why) => {
            leave(shared, &member, &why);
            shared.notice(Notice::Lost {
                member,
                of: shared.of,
                why,
            });
        }
    }
}

/// A message, with the runner's clock when it had arrived.
type Heard = (u64, FromAgent);

async fn read_messages(
    mut from: ReadHalf<TlsStream<TcpStream>>,
    to: mpsc::Sender<io::Result<Option<Heard>>>,
) {
    loop {
        let message = messages::read(&mut from).await;
        let heard = message.map(|message| message.map(|message| (monotonic_ns(), message)));
        let is_last = !matches!(heard, Ok(Some(_)));
        if to.send(heard).await.is_err() || is_last {
            return;
        }
    }
}

/// A ping under way.
struct Ping {
    asked_ns: u64,
    asked_unix_ns: u64,
    is_close: bool,
}

/// Readings one after the other, for the best of them.
struct CloseReading {
    left: u32,
    readings: Vec<ClockReading>,
    reply: oneshot::Sender<ClockReading>,
}

struct Conversation<'a> {
    shared: &'a Shared,
    number: usize,
    writer: WriteHalf<TlsStream<TcpStream>>,
    sent: HashMap<u64, Ping>,
    next_id: u64,
    close_reading: Option<CloseReading>,
    throttle: HashMap<u64, oneshot::Sender<Option<CpuThrottle>>>,
}

impl Conversation<'_> {
    /// The error is why the agent is lost.
    async fn lead(
        mut self,
        mut orders: mpsc::Receiver<Order>,
        mut messages: mpsc::Receiver<io::Result<Option<Heard>>>,
    ) -> Result<(), String> {
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                biased;
                message = messages.recv() => match message {
                    Some(Ok(Some((answered_ns, message)))) => {
                        heard = Instant::now();
                        self.take(answered_ns, message).await?;
                    }
                    Some(Err(problem)) if problem.kind() != io::ErrorKind::UnexpectedEof => {
                        return Err(format!("its connection failed: {problem}"));
                    }
                    _ => return Err("its connection was closed".to_owned()),
                },
                // One close reading after the other.
                order = orders.recv(), if self.close_reading.is_none() => match order {
                    Some(Order::End) | None => {
                        self.send(&ToAgent::End).await?;
                        return Ok(());
                    }
                    Some(order) => self.obey(order).await?,
                },
                _ = pings.tick() => {
                    if heard.elapsed() >= SILENCE_TIMEOUT {
                        return Err(format!("it has said nothing for {} s", SILENCE_TIMEOUT.as_secs()));
                    }
                    self.ping(false).await?;
                }
            }
        }
    }

    async fn obey(&mut self, order: Order) -> Result<(), String> {
        match order {
            Order::ReadClock { readings, reply } => {
                self.close_reading = Some(CloseReading {
                    left: readings,
                    readings: Vec::new(),
                    reply,
                });
                self.ping(true).await
            }
            Order::Throttle { reply } => {
                let id = self.number_message();
                self.throttle.insert(id, reply);
                self.send(&ToAgent::Throttle { id }).await
            }
            Order::Open { load } => self.send(&ToAgent::Open { load }).await,
            Order::End => Ok(()),
        }
    }

    async fn take(&mut self, answered_ns: u64, message: FromAgent) -> Result<(), String> {
        let (id, monotonic_ns, unix_ns) = match message {
            FromAgent::Throttle { id, throttle } => {
                if let Some(reply) = self.throttle.remove(&id) {
                    reply.send(throttle).ok();
                }
                return Ok(());
            }
            FromAgent::Pong {
                id,
                monotonic_ns,
                unix_ns,
            } => (id, monotonic_ns, unix_ns),
        };
        let Some(ping) = self.sent.remove(&id) else {
            return Err("it answered what nobody has asked".to_owned());
        };
        let exchange = Exchange {
            asked_ns: ping.asked_ns,
            answered_ns,
            asked_unix_ns: ping.asked_unix_ns,
            monotonic_ns,
            unix_ns,
        };
        let reading = exchange.reading();
        if let Some(member) = &mut self.shared.places()[self.number - 1].member {
            member.note_round_trip(&reading);
            if !ping.is_close {
                member.add(reading);
            }
        }
        if !ping.is_close {
            return Ok(());
        }
        self.take_close(reading).await
    }

    async fn take_close(&mut self, reading: ClockReading) -> Result<(), String> {
        let Some(close) = &mut self.close_reading else {
            return Ok(());
        };
        close.readings.push(reading);
        close.left = close.left.saturating_sub(1);
        // Whoever asked may have given up.
        if close.left > 0 && !close.reply.is_closed() {
            return self.ping(true).await;
        }
        if let Some(close) = self.close_reading.take()
            && let Some(best) = best_reading(close.readings)
        {
            close.reply.send(best).ok();
        }
        Ok(())
    }

    async fn ping(&mut self, is_close: bool) -> Result<(), String> {
        let id = self.number_message();
        let asked_unix_ns = unix_ns();
        let ping = Ping {
            asked_ns: monotonic_ns(),
            asked_unix_ns,
            is_close,
        };
        self.sent.insert(id, ping);
        self.send(&ToAgent::Ping { id }).await
    }

    fn number_message(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    async fn send(&mut self, message: &ToAgent) -> Result<(), String> {
        let sent = timeout(SEND_TIMEOUT, messages::write(&mut self.writer, message)).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(problem)) => Err(format!("its connection failed: {problem}")),
            Err(_) => Err(format!(
                "it has taken nothing for {} s",
                SEND_TIMEOUT.as_secs()
            )),
        }
    }
}
