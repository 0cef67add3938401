//! What becomes of the requests on the streams of a connection, from the events in its bytes.

use waggle_wire::{
    http1::answer::{Answer, ReadError},
    http2::{
        client::{Event, WholeAnswer, Why},
        error::ConnectionError,
    },
};

use super::judge::{Begun, Complete, Failed, Judge, Place};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::{flight::Flight, http2::Session},
};

/// What a mistake of the server in a connection counts as, and how it is shown. A server that has not spoken HTTP/2 yet may speak another version.
#[cold]
pub(super) fn connection_failure(
    error: &ConnectionError,
    is_handshake: bool,
    input: &[u8],
) -> (Failure, String) {
    let kind = match is_handshake {
        true => Failure::Handshake(HandshakeFailure::NoProtocol),
        false => Failure::Protocol,
    };
    let text = match is_handshake && input.starts_with(b"HTTP/1.") {
        true => "the server speaks HTTP/1.1, which may be meant".to_owned(),
        false => error.to_string(),
    };
    (kind, text)
}

pub(super) struct StreamAnswers<'w> {
    pub(super) judge: &'w mut Judge,
    pub(super) http2: &'w mut Session,
    /// Of the connection.
    pub(super) id: u32,
    /// Sessions on each connection.
    pub(super) lanes: u32,
    pub(super) done: u64,
    /// The only piece of a body that is not complete yet, and its slot.
    pub(super) last: (usize, &'w [u8]),
}

impl<'w> StreamAnswers<'w> {
    /// Takes an answer that has arrived as a whole.
    #[inline(always)]
    pub(super) fn take_answer<const HEADS: bool>(&mut self, answer: WholeAnswer<'w>) {
        let WholeAnswer {
            slot,
            status,
            bytes,
        } = answer;
        if bytes.len() as u64 > self.http2.body_max_bytes() {
            return self.take_too_long(slot);
        }
        let (stream, head) = self.http2.stream_and_head(slot);
        let Some(flight) = stream.flight.take() else {
            return;
        };
        let place = Place {
            connection: self.id,
            session: self.id * self.lanes + flight.lane,
        };
        let head = if HEADS { head } else { &[] };
        let state = &mut stream.kept.state;
        if HEADS && let Some(inspection) = &mut state.inspection {
            inspection.note_arrival(self.done);
        }
        if !bytes.is_empty() {
            let begun = Begun { status, head };
            self.judge.take_body::<HEADS>(state, place, begun, bytes);
        }
        let complete = Complete {
            answer: Answer {
                status,
                keep_alive: true,
            },
            head,
            body: Some(bytes),
            flight,
            done: self.done,
        };
        self.judge.take_whole::<HEADS>(state, place, complete);
        if HEADS {
            self.http2.wake(flight.lane);
        }
    }

    /// Takes an event; false: the request of that slot is to be sent again. `HEADS`: there are sessions, or answers are inspected.
    #[inline(always)]
    pub(super) fn take<const HEADS: bool>(
        &mut self,
        event: Event<'w>,
        plain: &mut Vec<u8>,
    ) -> bool {
        match event {
            Event::Ready => {}
            Event::Head { slot, .. } => {
                if HEADS {
                    self.http2.begin_answer(slot, self.done);
                }
            }
            Event::Body {
                slot,
                status,
                bytes,
                is_whole,
            } => {
                let place = match HEADS {
                    true => self.place_of_slot(slot),
                    false => self.place(0),
                };
                let stream = self.http2.stream(slot);
                let is_first = stream.received == 0;
                stream.received += bytes.len() as u64;
                let kept = &mut *stream.kept;
                let head = if HEADS { &kept.head[..] } else { &[] };
                let begun = Begun { status, head };
                self.judge
                    .take_body::<HEADS>(&mut kept.state, place, begun, bytes);
                let received = stream.received;
                self.last = (slot, if is_first { bytes } else { &[] });
                if received > self.http2.body_max_bytes() {
                    if !is_whole {
                        self.http2.client.cancel(slot, plain);
                    }
                    self.take_too_long(slot);
                } else if is_whole {
                    self.take_whole::<HEADS>(slot, status, is_first.then_some(bytes));
                }
            }
            Event::Whole { slot, status } => {
                let body = match self.http2.stream(slot).received {
                    0 => Some(&[][..]),
                    _ if self.last.0 == slot && !self.last.1.is_empty() => Some(self.last.1),
                    _ => None,
                };
                self.take_whole::<HEADS>(slot, status, body);
            }
            Event::Failed {
                why: Why::NotProcessed,
                ..
            } if !self.http2.is_blamed() => return false,
            Event::Failed { slot, why } => self.take_failure(slot, why),
        }
        true
    }

    /// The place of a request of a session.
    #[inline]
    fn place(&self, lane: u32) -> Place {
        Place {
            connection: self.id,
            session: self.id * self.lanes + lane,
        }
    }

    /// The place of the request in a slot.
    #[inline]
    fn place_of_slot(&mut self, slot: usize) -> Place {
        let flight = self.http2.stream(slot).flight;
        self.place(flight.map_or(0, |flight| flight.lane))
    }

    /// An answer is complete.
    #[inline(always)]
    fn take_whole<const HEADS: bool>(&mut self, slot: usize, status: u16, body: Option<&[u8]>) {
        if HEADS {
            self.http2.begin_answer(slot, self.done);
        }
        let Some(flight) = self.http2.stream(slot).flight.take() else {
            return;
        };
        let place = self.place(flight.lane);
        let stream = self.http2.stream(slot);
        let kept = &mut *stream.kept;
        let complete = Complete {
            answer: Answer {
                status,
                keep_alive: true,
            },
            head: if HEADS { &kept.head } else { &[] },
            body,
            flight,
            done: self.done,
        };
        self.judge
            .take_whole::<HEADS>(&mut kept.state, place, complete);
        if HEADS {
            kept.head.clear();
            self.http2.wake(flight.lane);
        }
    }

    /// A body is above the limit.
    #[cold]
    fn take_too_long(&mut self, slot: usize) {
        let most = self.http2.body_max_bytes();
        let text = ReadError::BodyTooLong(most).to_string();
        self.fail(slot, Failure::Malformed, text);
    }

    /// A request has failed, and its connection has not.
    #[cold]
    fn take_failure(&mut self, slot: usize, why: Why) {
        let (failure, text) = match why {
            Why::Malformed(problem) => (Failure::Malformed, problem.to_owned()),
            Why::Reset(_) if self.http2.is_blamed() => (Failure::Protocol, self.http2.blame_text()),
            // If it is not blamed, the request is sent again.
            Why::NotProcessed => (Failure::Protocol, self.http2.blame_text()),
            Why::Reset(code) => {
                let text = format!("the server reset the stream: {code}");
                (Failure::Reset, text)
            }
        };
        self.fail(slot, failure, text);
    }

    fn fail(&mut self, slot: usize, failure: Failure, text: String) {
        let Some(flight) = self.http2.end_stream(slot) else {
            return;
        };
        let place = self.place(flight.lane);
        let failed = Failed {
            failure,
            text,
            done: self.done,
        };
        self.judge.take_failure(place, flight, failed);
        self.http2.wake(flight.lane);
    }

    /// The request in a slot, which the server has not processed: it is sent again over the next connection.
    #[cold]
    pub(super) fn take_back(&mut self, slot: usize) -> Option<Flight> {
        let flight = self.http2.end_stream(slot)?;
        let place = self.place(flight.lane);
        if let Some(sessions) = &mut self.judge.sessions {
            sessions.await_connection(place.session);
        }
        Some(flight)
    }
}
