//! Opens connections at a rate that listeners can follow, closes them when they end, and reconnects after a pause.

use std::{cmp::Reverse, collections::BinaryHeap};

use rustix::io::Errno;

use super::{Worker, answers::Ending, limits::TICK_NS};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::{connection::Phase, flight::Flight, http2::Session},
};

/// Connections opened at the start and then per tick: the backlog of a listener is often only 128, and a connection that does not
/// fit into it waits a second for its retry.
const OPENED_AT_ONCE: u64 = 64;

/// When each connection is first opened.
pub(super) fn first_openings(
    connections: usize,
    all_at_once: bool,
) -> BinaryHeap<Reverse<(u64, u32)>> {
    let tick = if all_at_once { 0 } else { TICK_NS };
    (0..u32::try_from(connections).unwrap_or(u32::MAX))
        .map(|id| Reverse((u64::from(id) / OPENED_AT_ONCE * tick, id)))
        .collect()
}

impl Worker {
    /// Opens the connections that are due.
    #[inline]
    pub(super) fn open_due(&mut self) {
        while let Some(&Reverse((instant, id))) = self.to_open.peek()
            && instant <= self.seen
        {
            self.to_open.pop();
            if !self.judge.pacer.opens(id) {
                continue;
            }
            let until = self.seen.saturating_add(self.limits.connect_timeout);
            match self.connections[id as usize].connect(&self.epoll, id, self.seen, until) {
                Ok(true) => self.on_connect(id, self.judge.clock.now()),
                Ok(false) => {}
                Err(error) => self.not_connected(id, error),
            }
        }
    }

    /// An attempt to connect has succeeded or failed.
    pub(super) fn on_connect(&mut self, id: u32, now: u64) {
        match self.connections[id as usize].finish_connect(now) {
            Ok(took) => {
                self.judge.recorder.record_connect(took);
                if self.protocol_stacks.is_some() {
                    self.begin_stack(id);
                } else {
                    self.open(id);
                }
            }
            Err(error) => self.not_connected(id, error),
        }
    }

    /// Requests may go over a connection from now on.
    pub(super) fn open(&mut self, id: u32) {
        self.connections[id as usize].open(self.seen);
        let http2 = self.connections[id as usize].http2();
        let is_narrow = http2.is_some_and(Session::is_narrow);
        self.judge.recorder.record_open(http2.is_some(), is_narrow);
        self.shared.is_open(self.seen);
        if !self.connections[id as usize].flight.is_empty() {
            self.send_again(id);
        }
        self.send(id, usize::MAX);
    }

    fn not_connected(&mut self, id: u32, error: Errno) {
        let failure = match error {
            Errno::CONNREFUSED => Failure::Refused,
            Errno::ADDRNOTAVAIL => Failure::NoPort,
            _ => Failure::ConnectFailed,
        };
        self.not_established(id, failure);
    }

    /// A connection, or its handshake, has failed.
    pub(super) fn not_established(&mut self, id: u32, failure: Failure) {
        self.judge.recorder.record_other_failure(failure);
        // The close sends the alert of TLS.
        self.connections[id as usize].close();
        self.session_lost(id, false, self.seen);
        self.judge.pacer.on_connection_error(id, failure, self.seen);
        self.end_client(id, self.seen);
        self.open_after_pause(id);
    }

    /// Closes the connections of a client that has ended early.
    fn end_client(&mut self, id: u32, now: u64) {
        let Some(connections) = self.judge.pacer.take_ended(id) else {
            return;
        };
        for other in connections {
            let was_open = self.connections[other as usize].phase == Phase::Open;
            self.connections[other as usize].close();
            if was_open {
                self.judge.recorder.record_disconnect();
            }
            self.fail_flights(other, Ending::ClientEnded, now);
        }
    }

    /// Notifies the sessions of a connection that it is closed.
    pub(super) fn session_lost(&mut self, id: u32, is_agreed: bool, now: u64) {
        let Some(sessions) = &mut self.judge.sessions else {
            return;
        };
        let (pacer, recorder) = (&mut self.judge.pacer, &mut self.judge.recorder);
        let first = id * sessions.lanes();
        for session in first..first + sessions.lanes() {
            match is_agreed {
                true => sessions.handle_agreed_close(session, now, pacer, recorder),
                false => sessions.handle_lost_connection(session, now, pacer, recorder),
            }
        }
    }

    /// Timeout of an answer to a session, in nanoseconds.
    pub(super) fn request_timeout(&self, session: u32) -> u64 {
        match &self.judge.sessions {
            None => self.limits.request_timeout,
            Some(sessions) => sessions.timeout(session),
        }
    }

    /// Ends an open connection and schedules its reconnection. A server that closes it with an answer has processed none of the requests
    /// behind that (RFC 9112, section 9.6): they stay in flight, and are sent again over the next connection.
    pub(super) fn end(&mut self, id: u32, ending: Ending, now: u64) {
        self.judge.recorder.advance(now);
        // If this side asked for the close, the server may have executed what is behind.
        let is_agreed = ending == Ending::Agreed && !self.closes && self.judge.sessions.is_none();
        let streams: Option<Vec<_>> = self.connections[id as usize]
            .http2()
            .map(|http2| http2.flights().collect());
        self.connections[id as usize].close();
        self.judge.recorder.record_disconnect();
        match streams {
            // What the server has not processed is sent again.
            Some(streams) => self.fail_streams(&streams, id, ending, now),
            None if is_agreed => {}
            None => self.fail_flights(id, ending, now),
        }
        self.end_client(id, now);
        let is_agreed = matches!(ending, Ending::Agreed | Ending::Unused);
        self.session_lost(id, is_agreed, now);
        let connection = &mut self.connections[id as usize];
        if connection.has_answered {
            connection.back_off = self.limits.reconnect_first;
        }
        if ending == Ending::Agreed {
            self.open_at(self.seen, id);
        } else {
            self.open_after_pause(id);
        }
    }

    /// A send failed. Answers received before that are still read.
    pub(super) fn lost_in_sending(&mut self, id: u32) {
        self.receive(id, true);
        if self.connections[id as usize].phase == Phase::Open {
            self.end(id, Ending::Cut, self.judge.clock.now());
        }
    }

    /// Ends attempts to connect that timed out, and connections whose oldest request timed out.
    pub(super) fn end_overdue(&mut self) {
        for id in 0..u32::try_from(self.connections.len()).unwrap_or(u32::MAX) {
            self.end_waiting(id);
            let connection = &self.connections[id as usize];
            match connection.phase {
                Phase::Connecting { until, .. } if until <= self.seen => {
                    self.not_connected(id, Errno::TIMEDOUT)
                }
                Phase::Handshaking { until, .. } if until <= self.seen => {
                    self.handshake_failed(id, HandshakeFailure::TimedOut);
                }
                Phase::Open if connection.has_streams() => self.end_overdue_streams(id),
                Phase::Open => self.end_if_overdue(id),
                Phase::Connecting { .. } | Phase::Handshaking { .. } | Phase::Closed => {}
            }
        }
    }

    /// Ends overdue requests that wait for a new connection.
    fn end_waiting(&mut self, id: u32) {
        let first = self.place(id).session;
        let (limit, seen) = (self.limits.request_timeout, self.seen);
        let connection = &mut self.connections[id as usize];
        let is_waiting = connection.phase != Phase::Open || connection.has_streams();
        if !is_waiting || connection.flight.is_empty() {
            return;
        }
        let sessions = self.judge.sessions.as_deref();
        let timeout = |flight: &Flight| {
            sessions.map_or(limit, |sessions| sessions.timeout(first + flight.lane))
        };
        let waiting = std::mem::take(&mut connection.flight);
        let (overdue, rest): (Vec<_>, _) = waiting
            .into_iter()
            .partition(|flight| flight.sent.saturating_add(timeout(flight)) <= seen);
        connection.flight = rest.into();
        if let Some(sessions) = &mut self.judge.sessions {
            for flight in &overdue {
                sessions.stop_awaiting_connection(first + flight.lane);
            }
        }
        self.time_out(id, overdue);
    }

    /// Ends an open connection whose oldest request is overdue: later answers can only follow it. A request that was answered
    /// before it was sent completely has the same timeout again for its rest, because the rest blocks the connection.
    pub(super) fn end_if_overdue(&mut self, id: u32) {
        let connection = &self.connections[id as usize];
        let oldest = match connection.flight.front() {
            Some(flight) => flight.sent,
            None if connection.has_unsent() => connection.room_since,
            None => return,
        };
        if oldest.saturating_add(self.request_timeout(self.place(id).session)) <= self.seen {
            self.end(id, Ending::Overdue, self.judge.clock.now());
        }
    }

    /// Waits for room for the bytes that a connection could not send.
    pub(super) fn await_room(&mut self, id: u32) {
        if self.connections[id as usize]
            .await_room(&self.epoll, id)
            .is_err()
        {
            self.end(id, Ending::Cut, self.judge.clock.now());
        }
    }

    pub(super) fn open_after_pause(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        let pause = connection.back_off;
        connection.back_off = pause.saturating_mul(2).min(self.limits.reconnect_max);
        self.open_at(self.seen.saturating_add(pause), id);
    }

    fn open_at(&mut self, instant: u64, id: u32) {
        let is_needed =
            self.finishing_until.is_none() || !self.connections[id as usize].flight.is_empty();
        if is_needed && self.judge.pacer.opens(id) {
            self.to_open.push(Reverse((instant, id)));
        }
    }
}
