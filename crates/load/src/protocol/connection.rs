//! *How*: one HTTP/1.1 connection: its socket, its requests in flight, and the answer being read.
//!
//! It only executes: when to send, whether an answer is a success and when to reconnect is decided elsewhere. The socket is
//! registered edge-triggered: no call to epoll per request. For writing it is registered only if that has to wait, for the connection or
//! for room: else a new connection would wake the worker once more, to say that there is room.

use std::collections::VecDeque;

use rustix::{
    event::epoll::{self, EventData, EventFlags},
    fd::OwnedFd,
    io::Errno,
    net::{RecvFlags, SendFlags, SocketFlags, SocketType},
};

use waggle_wire::http1::answer::Reader;

use super::{answer_state::AnswerState, flight::Flight, stack::ProtocolStack};
use crate::{job::partition::Route, machine::source_address};

/// Buffer for unsent bytes that a connection keeps after they were sent; a larger one is freed.
const UNSENT_ROOM_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    route: Route,
    socket: Option<OwnedFd>,
    /// Whether there is an event when the socket has room.
    awaits_room: bool,
    pub(crate) phase: Phase,
    pub(crate) reader: Reader,
    /// Of the answer being read, over HTTP/1.1.
    pub(crate) answer: AnswerState,
    /// In order of sending, at most `pipelining` of them; over HTTP/2 those that the server has not processed and that are sent again.
    pub(crate) flight: VecDeque<Flight>,
    /// TLS and HTTP/2 between the socket and the answers; `None` for plain HTTP/1.1.
    pub(crate) stack: Option<Box<ProtocolStack>>,
    pipelining: usize,
    /// Bytes that the socket did not accept; nothing else is sent before they are.
    unsent: Vec<u8>,
    /// How many of them the socket has accepted since; never all.
    gone: usize,
    /// Since when the next request could have been sent, as far as the worker knows.
    pub(crate) room_since: u64,
    /// Whether the pacer knows that there is room.
    pub(crate) room_is_noted: bool,
    /// Whether an answer has arrived since it was opened.
    pub(crate) has_answered: bool,
    /// The pause before it is reopened after a failure.
    pub(crate) back_off: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    /// `until`: when the attempt times out.
    Connecting {
        since: u64,
        until: u64,
    },
    /// Connected at `since`; the handshakes above the socket time out at `until`.
    Handshaking {
        since: u64,
        until: u64,
    },
    Open,
}

/// The result of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    All,
    /// The socket is full; the rest is kept and sent when there is room.
    Part,
    /// The peer is gone.
    Lost,
}

/// The result of receiving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    Bytes(usize),
    Nothing,
    /// Closed in order by the peer.
    End,
    Lost,
}

impl Connection {
    pub(crate) fn new(route: Route, pipelining: usize, back_off: u64) -> Self {
        Self {
            route,
            socket: None,
            awaits_room: false,
            phase: Phase::Closed,
            reader: Reader::default(),
            answer: AnswerState::default(),
            flight: VecDeque::with_capacity(pipelining),
            stack: None,
            pipelining,
            unsent: Vec::new(),
            gone: 0,
            room_since: 0,
            room_is_noted: false,
            has_answered: false,
            back_off,
        }
    }

    /// From now on its answers are inspected, for which their heads are kept.
    pub(crate) fn begin_inspection(&mut self) {
        self.reader = Reader::keeping_heads();
        self.answer = AnswerState::new(true);
    }

    /// Begins to connect; events have the number `id`. True: it is connected, as it is at once on the loopback interface.
    pub(crate) fn connect(
        &mut self,
        epoll: &OwnedFd,
        id: u32,
        now: u64,
        until: u64,
    ) -> Result<bool, Errno> {
        let Route { source, target } = self.route;
        let family = source_address::family(target.ip());
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(source) = source {
            source_address::bind(&socket, source)?;
        }
        match rustix::net::connect(&socket, &target) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        let is_connected = rustix::net::getpeername(&socket).is_ok();
        self.awaits_room = !is_connected;
        let data = EventData::new_u64(u64::from(id));
        epoll::add(epoll, &socket, data, interest(self.awaits_room))?;
        self.socket = Some(socket);
        self.phase = Phase::Connecting { since: now, until };
        Ok(is_connected)
    }

    /// Has the socket's events say when there is room, for bytes that it did not accept.
    pub(crate) fn await_room(&mut self, epoll: &OwnedFd, id: u32) -> Result<(), Errno> {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.awaits_room) else {
            return Ok(());
        };
        self.awaits_room = true;
        let data = EventData::new_u64(u64::from(id));
        epoll::modify(epoll, socket, data, interest(self.awaits_room))
    }

    /// Ends an attempt to connect: how long it took, in nanoseconds, or why it failed.
    pub(crate) fn finish_connect(&mut self, now: u64) -> Result<u64, Errno> {
        let (Some(socket), Phase::Connecting { since, .. }) = (&self.socket, self.phase) else {
            return Err(Errno::NOTCONN);
        };
        rustix::net::sockopt::socket_error(socket)??;
        Ok(now.saturating_sub(since))
    }

    /// Requests may go from now on.
    pub(crate) fn open(&mut self, now: u64) {
        self.phase = Phase::Open;
        self.room_since = now;
        self.has_answered = false;
    }

    /// Closes the socket and drops what was half read or unsent. The requests in flight are left to the caller.
    pub(crate) fn close(&mut self) {
        if let Some(stack) = self.stack.take() {
            stack.close(&mut self.unsent);
            // Best effort: the peer may be gone already.
            let _ = self.send_now(&self.unsent[self.gone..]);
        }
        self.socket = None;
        self.phase = Phase::Closed;
        self.reader.reset();
        self.answer.reset();
        self.unsent.clear();
        self.gone = 0;
    }

    /// A session of its streams may have something to send.
    pub(crate) fn wake(&mut self, lane: u32) {
        if let Some(http2) = self.stack.as_mut().and_then(|stack| stack.http2.as_mut()) {
            http2.wake(lane);
        }
    }

    /// The prepared requests are others from now on.
    pub(crate) fn forget_prepared(&mut self) {
        if let Some(http2) = self.stack.as_mut().and_then(|stack| stack.http2.as_mut()) {
            http2.forget_prepared();
        }
    }

    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.flight.len() < self.pipelining && self.phase == Phase::Open && self.unsent.is_empty()
    }

    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends bytes. The connection must have room.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Sent {
        if let Some(stack) = &mut self.stack {
            stack.seal(bytes, &mut self.unsent);
            return self.send_rest();
        }
        self.send_plain(bytes)
    }

    /// Sends the bytes that the socket did not accept before.
    pub(crate) fn send_rest(&mut self) -> Sent {
        match self.send_now(&self.unsent[self.gone..]) {
            Ok(length) => {
                self.gone += length;
                if self.gone < self.unsent.len() {
                    return Sent::Part;
                }
                self.gone = 0;
                self.unsent.clear();
                self.unsent.shrink_to(UNSENT_ROOM_BYTES);
                Sent::All
            }
            Err(_) => Sent::Lost,
        }
    }

    /// Sends pending output of TLS and HTTP/2 until the socket is full; also returns the number of HTTP bytes in it.
    pub(crate) fn send_stack(&mut self, now: u64) -> (Sent, usize) {
        if !self.unsent.is_empty() {
            let left = self.unsent.len() - self.gone;
            let sent = self.send_rest();
            let is_moving = sent == Sent::All || self.unsent.len() - self.gone < left;
            if let Some(stack) = self.stack.as_mut().filter(|_| is_moving) {
                stack.moved = now;
            }
            if sent != Sent::All {
                return (sent, 0);
            }
        }
        let Some(mut stack) = self.stack.take() else {
            return (Sent::All, 0);
        };
        let length = stack.plain.len();
        let sent = match &mut stack.tls {
            None if length == 0 => Sent::All,
            None => self.send_plain(&stack.plain),
            Some(tls) => {
                tls.take_sealed(&mut self.unsent);
                if length > 0 {
                    tls.seal(&stack.plain, &mut self.unsent);
                }
                match self.unsent.is_empty() {
                    true => Sent::All,
                    false => self.send_rest(),
                }
            }
        };
        stack.plain.clear();
        stack.plain.shrink_to(UNSENT_ROOM_BYTES);
        stack.control_bytes = 0;
        stack.moved = now;
        self.stack = Some(stack);
        (sent, length)
    }

    /// Sends bytes and keeps those that the socket does not accept.
    #[inline]
    fn send_plain(&mut self, bytes: &[u8]) -> Sent {
        match self.send_now(bytes) {
            Ok(length) if length == bytes.len() => Sent::All,
            Ok(length) => {
                self.unsent.extend_from_slice(&bytes[length..]);
                Sent::Part
            }
            Err(_) => Sent::Lost,
        }
    }

    #[inline]
    fn send_now(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let socket = self.socket.as_ref().ok_or(Errno::NOTCONN)?;
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            sent => sent,
        }
    }

    #[inline]
    pub(crate) fn receive(&self, input: &mut [u8]) -> Received {
        let Some(socket) = &self.socket else {
            return Received::Nothing;
        };
        loop {
            match rustix::net::recv(socket, &mut *input, RecvFlags::empty()) {
                Ok((0, _)) => return Received::End,
                Ok((length, _)) => return Received::Bytes(length),
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(Errno::INTR) => {}
                Err(_) => return Received::Lost,
            }
        }
    }
}

fn interest(awaits_room: bool) -> EventFlags {
    let always = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
    match awaits_room {
        true => always | EventFlags::OUT,
        false => always,
    }
}
