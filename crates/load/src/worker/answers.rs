//! Receiving: reads answers from bytes and records each with its three instants.

use waggle_wire::http1::answer::{AtClose, Event, quote};

use super::{
    Worker,
    judge::{Begun, Complete, Place},
};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::connection::{Phase, Received},
    recording::examples::Examples,
};

/// How often one connection may fill the whole buffer before the other connections are served.
pub(super) const READS_MAX: usize = 16;

/// Why this side closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The answer announced the close, or the server closed with nothing in flight.
    Agreed,
    /// The same before the first answer: nothing has failed, but it is not reopened at once.
    Unused,
    /// The server closed or reset it with answers pending.
    Cut,
    /// The bytes were not an answer.
    Malformed,
    /// Bytes arrived that answer no request.
    Unsolicited,
    /// An answer timed out.
    Overdue,
    /// TLS ended it before the first answer.
    Handshake(HandshakeFailure),
    /// A protocol error of HTTP/2.
    Protocol,
    /// Another connection of its client failed.
    ClientEnded,
}

impl Worker {
    /// Receives. `is_ending`: the kernel reported the end of the connection.
    #[inline]
    pub(super) fn receive(&mut self, id: u32, is_ending: bool) {
        if self.protocol_stacks.is_some() {
            return self.receive_secure(id, is_ending);
        }
        for _ in 0..READS_MAX {
            match self.connections[id as usize].receive(&mut self.input) {
                Received::Bytes(length) => {
                    let done = self.judge.clock.now();
                    self.judge.recorder.advance(done);
                    self.judge.recorder.record_received(length);
                    if let Err(ending) = self.take_answers(id, length, done) {
                        return self.end(id, ending, done);
                    }
                    // Less than the buffer holds: that was all, and later bytes raise another event.
                    if length < self.input.len() && !is_ending {
                        return;
                    }
                }
                Received::Nothing => return,
                Received::End => return self.closed_by_server(id),
                Received::Lost => return self.end(id, Ending::Cut, self.judge.clock.now()),
            }
        }
        self.read_later(id);
    }

    pub(super) fn read_later(&mut self, id: u32) {
        if !self.to_read.contains(&id) {
            self.to_read.push(id);
        }
    }

    /// Continues with connections that had more to read than the limit of one cycle.
    #[inline]
    pub(super) fn read_on(&mut self) {
        if self.to_read.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.to_read) {
            // It may have ended since, and be reconnecting.
            match self.connections[id as usize].phase {
                Phase::Open | Phase::Handshaking { .. } => {
                    self.receive(id, true);
                    self.send(id, usize::MAX);
                }
                Phase::Connecting { .. } | Phase::Closed => {}
            }
        }
    }

    /// Reads the answers in the first `length` bytes of the input.
    #[inline]
    pub(super) fn take_answers(&mut self, id: u32, length: usize, done: u64) -> Result<(), Ending> {
        if self.judge.sessions.is_none() && self.judge.inspector.is_none() {
            self.take_answers_of::<false>(id, length, done)
        } else {
            self.take_answers_of::<true>(id, length, done)
        }
    }

    /// Compiled twice, so that prepared requests pay nothing for sessions and inspections in their loop; both need heads.
    #[inline]
    fn take_answers_of<const HEADS: bool>(
        &mut self,
        id: u32,
        length: usize,
        done: u64,
    ) -> Result<(), Ending> {
        let place = self.place(id);
        let connection = &mut self.connections[id as usize];
        let judge = &mut self.judge;
        let mut input = &self.input[..length];
        // The body being read, and whether all of it is among these bytes, in one piece.
        let mut body: &[u8] = &[];
        let mut is_whole = connection.reader.status().is_none();
        loop {
            let Some(&flight) = connection.flight.front() else {
                return if input.is_empty() {
                    Ok(())
                } else {
                    let has_answered = connection.has_answered;
                    Err(ending_of_idle(input, has_answered, &mut judge.examples))
                };
            };
            if HEADS
                && let Some(inspection) = &mut connection.answer.inspection
                && !input.is_empty()
            {
                inspection.note_arrival(done);
            }
            match connection.reader.next_keeping::<HEADS>(
                &mut self.heads,
                &mut input,
                flight.is_head,
            ) {
                Ok(None) => return Ok(()),
                Ok(Some(Event::Body(piece))) => {
                    is_whole &= body.is_empty();
                    body = piece;
                    let status = connection.reader.status().unwrap_or_default();
                    let head = connection.reader.head();
                    let begun = Begun { status, head };
                    judge.take_body::<HEADS>(&mut connection.answer, place, begun, piece);
                }
                Ok(Some(Event::Whole(answer))) => {
                    connection.flight.pop_front();
                    connection.has_answered = true;
                    connection.room_since = self.seen;
                    let complete = Complete {
                        answer,
                        head: connection.reader.head(),
                        body: is_whole.then_some(body),
                        flight,
                        done,
                    };
                    judge.take_whole::<HEADS>(&mut connection.answer, place, complete);
                    (body, is_whole) = (&[], true);
                    if !answer.keep_alive || self.closes {
                        return Err(Ending::Agreed);
                    }
                }
                Err(error) => {
                    judge.note_malformed(place, &error);
                    return Err(Ending::Malformed);
                }
            }
        }
    }

    /// The place of a connection, and of its only session over HTTP/1.1.
    #[inline]
    pub(super) fn place(&self, id: u32) -> Place {
        let lanes = self
            .judge
            .sessions
            .as_ref()
            .map_or(1, |sessions| sessions.lanes());
        Place {
            connection: id,
            session: id * lanes,
        }
    }

    pub(super) fn closed_by_server(&mut self, id: u32) {
        let done = self.judge.clock.now();
        self.judge.recorder.advance(done);
        let place = self.place(id);
        let connection = &mut self.connections[id as usize];
        let at_close = connection.reader.close();
        match (at_close, connection.flight.front().copied()) {
            (AtClose::Whole(answer), Some(flight)) => {
                connection.flight.pop_front();
                connection.has_answered = true;
                let complete = Complete {
                    answer,
                    head: connection.reader.head(),
                    body: None,
                    flight,
                    done,
                };
                let judge = &mut self.judge;
                judge.take_whole::<true>(&mut connection.answer, place, complete);
                self.end(id, Ending::Agreed, done);
            }
            (AtClose::Between, None) => {
                let ending = ending_without_requests(connection.has_answered);
                self.end(id, ending, done);
            }
            _ => self.end(id, Ending::Cut, done),
        }
    }

    /// Requests in flight on a closed connection will not be answered. They are not sent again, because the server may have executed
    /// them; [`Self::end`] says when it has not.
    pub(super) fn fail_flights(&mut self, id: u32, ending: Ending, now: u64) {
        if self.connections[id as usize].flight.is_empty() {
            self.note_end_without_requests(id, ending, now);
        }
        let place = self.place(id);
        let timeout = self.request_timeout(place.session);
        let connection = &mut self.connections[id as usize];
        let mut is_first = true;
        while let Some(flight) = connection.flight.pop_front() {
            let failure = match ending {
                Ending::Malformed if is_first => Failure::Malformed,
                _ => failure_at_end(ending, now.saturating_sub(flight.sent) >= timeout),
            };
            is_first = false;
            self.judge.end_without_answer(place, flight, failure, now);
        }
    }

    /// A connection has ended without requests in flight.
    pub(super) fn note_end_without_requests(&mut self, id: u32, ending: Ending, now: u64) {
        let failure = match ending {
            Ending::Malformed => Some(Failure::Malformed),
            Ending::Unsolicited => Some(Failure::UnsolicitedAnswer),
            Ending::Protocol => Some(Failure::Protocol),
            Ending::Handshake(failure) => Some(Failure::Handshake(failure)),
            Ending::Cut => Some(Failure::Reset),
            Ending::Agreed | Ending::Unused | Ending::Overdue | Ending::ClientEnded => None,
        };
        if let Some(failure) = failure {
            self.judge.recorder.record_other_failure(failure);
        }
        if !matches!(ending, Ending::Agreed | Ending::ClientEnded) {
            let failure = failure.unwrap_or(Failure::Reset);
            self.judge.pacer.on_connection_error(id, failure, now);
        }
    }
}

/// The failure of a request by the end of its connection.
pub(super) fn failure_at_end(ending: Ending, is_overdue: bool) -> Failure {
    match ending {
        Ending::Protocol => Failure::Protocol,
        Ending::Handshake(failure) => Failure::Handshake(failure),
        Ending::ClientEnded => Failure::ClientEnded,
        Ending::Overdue if is_overdue => Failure::TimedOut,
        _ => Failure::Reset,
    }
}

/// What bytes mean that arrive on a connection without requests in flight. A server that ends an idle connection may say so with a
/// 408 (RFC 9110, section 15.5.9).
#[cold]
fn ending_of_idle(bytes: &[u8], has_answered: bool, examples: &mut Examples) -> Ending {
    let is_request_timeout =
        bytes.starts_with(b"HTTP/1.") && matches!(bytes.get(8..13), Some(b" 408 " | b" 408\r"));
    match is_request_timeout {
        true => ending_without_requests(has_answered),
        false => {
            examples.note(Failure::UnsolicitedAnswer, None, || quote(bytes));
            Ending::Unsolicited
        }
    }
}

/// The server has ended a connection in order, without requests in flight.
pub(super) fn ending_without_requests(has_answered: bool) -> Ending {
    match has_answered {
        true => Ending::Agreed,
        false => Ending::Unused,
    }
}
