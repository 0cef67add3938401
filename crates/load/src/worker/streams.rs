//! Requests and answers on the streams of HTTP/2.

use waggle_wire::http2::client::{Event, Why};

use super::{
    Worker,
    answers::{Ending, ending_without_requests, failure_at_end, note},
    judge::{Complete, Judge, Place},
    requests::possible,
};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::{
        connection::{Connection, Phase},
        flight::Flight,
        http1::reader::{Answer, ReadError},
        http2::{Lane, Sending, Session},
        stack::ProtocolStack,
    },
    recording::request_outcomes::NO_RECORD,
    requests::head_block::Indexed,
};

/// Output is sent when it has this size, so that buffers stay small with large bodies.
const OUT_BYTES: usize = 64 * 1024;

/// Where an answer is: its slot on the connection, and when its bytes arrived.
#[derive(Clone, Copy)]
struct At {
    slot: usize,
    done: u64,
}

impl Worker {
    #[inline]
    pub(super) fn has_streams(&self, id: u32) -> bool {
        self.connections[id as usize].has_streams()
    }

    /// Takes the first `length` bytes of the input, which are frames.
    pub(super) fn take_frames(&mut self, id: u32, length: usize, done: u64) {
        let taken = if self.sessions.is_none() && self.inspector.is_none() {
            self.take_frames_of::<false>(id, length, done)
        } else {
            self.take_frames_of::<true>(id, length, done)
        };
        let connection = &self.connections[id as usize];
        let is_handshaking = matches!(connection.phase, Phase::Handshaking { .. });
        match taken {
            Err(_) if is_handshaking => {
                self.send_stack(id);
                self.handshake_failed(id, HandshakeFailure::NoProtocol);
            }
            Err(ending) => {
                // The server is told why.
                let (_, sent) = self.connections[id as usize].send_stack(self.seen);
                self.recorder.sent_bytes(sent);
                self.end(id, ending, done);
            }
            Ok(()) if is_handshaking && connection.is_ready() => self.open(id),
            Ok(()) if connection.is_spent() => {
                let ending = ending_without_requests(connection.has_answered);
                self.end(id, ending, done);
            }
            Ok(()) => {}
        }
    }

    /// Compiled twice, so that prepared requests pay nothing for heads.
    fn take_frames_of<const HEADS: bool>(
        &mut self,
        id: u32,
        length: usize,
        done: u64,
    ) -> Result<(), Ending> {
        let lanes = self
            .sessions
            .as_ref()
            .map_or(0, |sessions| sessions.lanes());
        let connection = &mut self.connections[id as usize];
        let Some((http2, plain, control_bytes)) = streams_of(&mut connection.stack) else {
            return Ok(());
        };
        let mut judge = Judge {
            matcher: &self.matcher,
            inspector: self.inspector.as_mut(),
            sessions: self.sessions.as_deref_mut(),
            examples: &mut self.examples,
            recorder: &mut self.recorder,
            account: &mut self.account,
            pacer: &mut self.pacer,
            clock: &self.clock,
        };
        let mut input = &self.input[..length];
        let pending = plain.len();
        // The only piece of a body that is not complete yet.
        let mut last: (usize, &[u8]) = (usize::MAX, &[]);
        loop {
            let event = match http2.client.next(&mut input, plain) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    http2.client.blame(error, plain);
                    let text = || error.to_string();
                    judge.examples.note(Failure::Protocol, None, text);
                    return Err(Ending::Protocol);
                }
            };
            match event {
                Event::Ready => {}
                Event::Head { slot, .. } => {
                    if HEADS {
                        http2.begin_answer(slot, done);
                    }
                }
                Event::Body {
                    slot,
                    status,
                    bytes,
                    is_whole,
                } => {
                    let at = At { slot, done };
                    let place = place_of(http2, id, lanes, slot);
                    let stream = http2.stream(slot);
                    let is_first = stream.received == 0;
                    stream.received += bytes.len() as u64;
                    let head = (status, &stream.head[..]);
                    judge.take_body::<HEADS>(&mut stream.answer, place, head, bytes);
                    last = (slot, if is_first { bytes } else { &[] });
                    if stream.received > http2.body_max_bytes() {
                        if !is_whole {
                            http2.client.cancel(slot, plain);
                        }
                        take_too_long(&mut judge, http2, place, at);
                    } else if is_whole {
                        let body = is_first.then_some(bytes);
                        take_whole::<HEADS>(&mut judge, http2, place, (at, status, body));
                    } else {
                        continue;
                    }
                }
                Event::Whole { slot, status } => {
                    let place = place_of(http2, id, lanes, slot);
                    let body = match http2.stream(slot).received {
                        0 => Some(&[][..]),
                        _ if last.0 == slot && !last.1.is_empty() => Some(last.1),
                        _ => None,
                    };
                    let at = At { slot, done };
                    take_whole::<HEADS>(&mut judge, http2, place, (at, status, body));
                }
                Event::Failed {
                    slot,
                    why: Why::NotProcessed,
                } if judge.sessions.is_none() && !http2.is_blamed() => {
                    // It is sent again over the next connection.
                    connection.flight.extend(http2.end_stream(slot));
                    continue;
                }
                Event::Failed { slot, why } => {
                    let place = place_of(http2, id, lanes, slot);
                    take_failure(&mut judge, http2, place, (At { slot, done }, why));
                }
            }
            connection.has_answered |= matches!(event, Event::Whole { .. } | Event::Body { .. });
            connection.room_since = self.seen;
        }
        *control_bytes += plain.len() - pending;
        Ok(())
    }

    /// Sends due requests on free streams, at most `most` requests.
    pub(super) fn send_streams(&mut self, id: u32, most: usize) {
        let mut left = most;
        while left > 0 {
            let requests = self.write_streams(id, left);
            if requests == 0 {
                break;
            }
            left -= requests;
            self.send_stack(id);
        }
        let has_session = self.sessions.as_ref().is_none_or(|sessions| {
            let http2 = self.connections[id as usize].http2();
            !sessions.start_no_more() && http2.is_some_and(Session::has_waiting_lane)
        });
        let connection = &mut self.connections[id as usize];
        if has_session && !connection.room_is_noted && connection.streams_free() > 0 {
            connection.room_is_noted = self.pacer.note_room(id);
        }
    }

    /// Writes requests to the output of a connection and records them as sent; returns their number.
    #[inline]
    fn write_streams(&mut self, id: u32, most: usize) -> usize {
        let wants = |worker: &Self| worker.sessions.is_some() || worker.pacer.has_for(id);
        let is_resending = !self.connections[id as usize].flight.is_empty();
        if !is_resending && (!wants(self) || self.connections[id as usize].streams_free() == 0) {
            return 0;
        }
        let now = self.clock.now();
        if now >= self.limits.end {
            self.finish(now);
            return 0;
        }
        self.recorder.advance(now);
        if is_resending && !self.resend_streams(id) {
            return 0;
        }
        let lanes = self
            .sessions
            .as_ref()
            .map_or(0, |sessions| sessions.lanes());
        let mut requests = 0;
        while requests < most
            && self.connections[id as usize].streams_free() > 0
            && self.sent < self.max_requests.min(self.max_tracked_requests)
            && let Some((due, lane)) = self.next_on_stream(id, lanes, now)
        {
            let number = self.sent;
            self.sent += 1;
            let unix = self.clock.unix(now);
            let connection = &mut self.connections[id as usize];
            let lag = now.saturating_sub(possible(connection, due, self.recorder.due()));
            let Some(stack) = connection.stack.as_deref_mut() else {
                break;
            };
            let ProtocolStack {
                http2: Some(http2),
                plain,
                heard,
                ..
            } = stack
            else {
                break;
            };
            if http2.client.in_flight() == 0 {
                // A server without pending answers is not silent.
                *heard = now;
            }
            let flight = |index, is_head| Flight {
                due,
                sent: now,
                index,
                is_head,
            };
            let (flight, sent) = match &mut self.sessions {
                Some(sessions) => {
                    self.out.clear();
                    let session = id * lanes + lane;
                    let (is_head, index) =
                        sessions.append(&mut self.out, session, unix, &mut self.recorder);
                    let flight = flight(index, is_head);
                    let sending = Sending { flight, lane };
                    let sent = http2.send_text(&self.out, Indexed::Few, sending, plain);
                    (flight, sent)
                }
                None => {
                    let place = self.writer.take_place();
                    let flight = flight(number, self.writer.is_head(place));
                    let sending = Sending { flight, lane };
                    let writer = &mut self.writer;
                    let sent = http2.send_prepared(writer, place, (sending, unix), plain);
                    (flight, sent)
                }
            };
            if let Some(account) = &mut self.account
                && flight.index != NO_RECORD
            {
                account.send();
            }
            self.recorder.lag(lag);
            match sent {
                Ok(()) => requests += 1,
                Err(_) => self.refuse(id, lane, flight),
            }
        }
        self.note_written(requests, now);
        requests
    }

    /// Since when the next request on a connection has been due, and the number of its session there.
    #[inline]
    fn next_on_stream(&mut self, id: u32, lanes: u32, now: u64) -> Option<(u64, u32)> {
        let Some(sessions) = &mut self.sessions else {
            return Some((self.pacer.take(id, now)?, 0));
        };
        let (http2, _, _) = streams_of(&mut self.connections[id as usize].stack)?;
        loop {
            let lane = http2.next_lane()?;
            let (Lane::Awake(number) | Lane::Idle(number)) = lane;
            let session = id * lanes + number;
            let (pacer, recorder) = (&mut self.pacer, &mut self.recorder);
            if let Some(due) = sessions.take(session, now, pacer, recorder) {
                return Some((due, number));
            }
            if sessions.is_idle(session) {
                http2.set_idle(number);
                if matches!(lane, Lane::Idle(_)) {
                    return None;
                }
            }
        }
    }

    /// A request cannot be translated: it ends without an answer.
    #[cold]
    fn refuse(&mut self, id: u32, lane: u32, flight: Flight) {
        let place = Place {
            connection: id,
            session: self.place(id).session + lane,
        };
        let now = flight.sent;
        self.recorder.record_sent(1, now);
        self.judge().take_failure(
            place,
            flight,
            (Failure::Protocol, || {
                "it cannot be sent over HTTP/2".to_owned()
            }),
            now,
        );
    }

    /// Sends requests again that the server has not processed on the last connection. They were counted when they were first sent, and
    /// keep their instants. Returns whether all of them are sent.
    #[cold]
    fn resend_streams(&mut self, id: u32) -> bool {
        let mut resent = 0;
        let connection = &mut self.connections[id as usize];
        while connection.streams_free() > 0
            && let Some(flight) = connection.flight.pop_front()
        {
            let unix = self.clock.unix(flight.sent);
            let place = self.writer.place(flight.index);
            let Some((http2, plain, _)) = streams_of(&mut connection.stack) else {
                break;
            };
            let sending = Sending { flight, lane: 0 };
            // It was sent before, so it can be translated.
            let _ = http2.send_prepared(&mut self.writer, place, (sending, unix), plain);
            resent += 1;
        }
        self.recorder.record_resent(resent);
        let is_done = connection.flight.is_empty();
        self.send_stack(id);
        is_done
    }

    /// Fails the requests that are in flight on streams of a connection that has ended.
    pub(super) fn fail_streams(&mut self, streams: &[(Flight, u32)], id: u32, by: (Ending, u64)) {
        let (ending, now) = by;
        if streams.is_empty() && self.connections[id as usize].flight.is_empty() {
            self.note_end_without_requests(id, ending, now);
        }
        let first = self.place(id).session;
        for &(flight, lane) in streams {
            let session = first + lane;
            let timeout = self.request_timeout(session);
            let is_overdue = now.saturating_sub(flight.sent) >= timeout;
            let failure = failure_at_end(ending, is_overdue);
            let (recorder, account) = (&mut self.recorder, &mut self.account);
            note(recorder, account, flight, Err(failure), now);
            match &mut self.sessions {
                None => self.pacer.on_request_end(id, now, Err(failure)),
                Some(sessions) => {
                    let instants = flight.instants_until(now);
                    sessions.handle_failure(session, failure, instants, &mut self.recorder);
                }
            }
        }
    }

    /// Ends what has timed out on an open connection with streams.
    pub(super) fn end_overdue_streams(&mut self, id: u32) {
        let first = self.place(id).session;
        let (limit, seen) = (self.limits.request_timeout, self.seen);
        let sessions = self.sessions.as_deref();
        let timeout = |lane: u32| sessions.map_or(limit, |sessions| sessions.timeout(first + lane));
        let connection = &mut self.connections[id as usize];
        let has_unsent = connection.has_unsent();
        let Some(stack) = &mut connection.stack else {
            return;
        };
        let heard = stack.heard;
        let is_deaf = has_unsent && stack.moved.saturating_add(limit) <= seen;
        let Some(http2) = &mut stack.http2 else {
            return;
        };
        let longest = http2.flights().map(|(_, lane)| timeout(lane)).max();
        let is_silent = longest.is_some_and(|longest| heard.saturating_add(longest) <= seen);
        if is_silent || is_deaf {
            // Nothing was received or accepted for that long: the connection does not answer.
            return self.end(id, Ending::Overdue, self.clock.now());
        }
        let is_overdue =
            |flight: &Flight, lane: u32| flight.sent.saturating_add(timeout(lane)) <= seen;
        let overdue = http2.cancel(is_overdue, &mut stack.plain);
        if overdue.is_empty() {
            return;
        }
        let now = self.clock.now();
        self.recorder.advance(now);
        for (flight, lane) in overdue {
            let place = Place {
                connection: id,
                session: first + lane,
            };
            let failed = (Failure::TimedOut, String::new);
            self.judge().take_failure(place, flight, failed, now);
            if self.sessions.is_some()
                && let Some((http2, _, _)) = streams_of(&mut self.connections[id as usize].stack)
            {
                http2.wake(lane);
            }
        }
        self.send_stack(id);
        if self.connections[id as usize].is_spent() {
            let ending = ending_without_requests(self.connections[id as usize].has_answered);
            return self.end(id, ending, now);
        }
        self.send(id, usize::MAX);
    }

    fn judge(&mut self) -> Judge<'_> {
        Judge {
            matcher: &self.matcher,
            inspector: self.inspector.as_mut(),
            sessions: self.sessions.as_deref_mut(),
            examples: &mut self.examples,
            recorder: &mut self.recorder,
            account: &mut self.account,
            pacer: &mut self.pacer,
            clock: &self.clock,
        }
    }
}

/// HTTP/2 of a connection, its output, and how many bytes of that answer frames of the server.
#[inline]
fn streams_of(
    stack: &mut Option<Box<ProtocolStack>>,
) -> Option<(&mut Session, &mut Vec<u8>, &mut usize)> {
    let stack = stack.as_deref_mut()?;
    let http2 = stack.http2.as_mut()?;
    Some((http2, &mut stack.plain, &mut stack.control_bytes))
}

#[inline]
fn place_of(http2: &mut Session, id: u32, lanes: u32, slot: usize) -> Place {
    Place {
        connection: id,
        session: id * lanes + http2.stream(slot).lane,
    }
}

/// An answer is complete.
#[inline(always)]
fn take_whole<const HEADS: bool>(
    judge: &mut Judge<'_>,
    http2: &mut Session,
    place: Place,
    (at, status, body): (At, u16, Option<&[u8]>),
) {
    let At { slot, done } = at;
    if HEADS {
        http2.begin_answer(slot, done);
    }
    let stream = http2.stream(slot);
    let Some(flight) = stream.flight.take() else {
        return;
    };
    let complete = Complete {
        answer: Answer {
            status,
            keep_alive: true,
        },
        head: &stream.head,
        body,
        flight,
        done,
    };
    judge.take_whole::<HEADS>(&mut stream.answer, place, complete);
    if HEADS {
        stream.head.clear();
        http2.wake_lane(slot);
    }
}

/// A body is above the limit.
#[cold]
fn take_too_long(judge: &mut Judge<'_>, http2: &mut Session, place: Place, at: At) {
    let most = http2.body_max_bytes();
    let text = || ReadError::BodyTooLong(most).to_string();
    if let Some(flight) = http2.end_stream(at.slot) {
        judge.take_failure(place, flight, (Failure::Malformed, text), at.done);
        http2.wake_lane(at.slot);
    }
}

/// A request has failed, and its connection has not.
#[cold]
fn take_failure(judge: &mut Judge<'_>, http2: &mut Session, place: Place, (at, why): (At, Why)) {
    let (failure, text) = match why {
        Why::Malformed(problem) => (Failure::Malformed, problem.to_owned()),
        Why::Reset(_) | Why::NotProcessed if http2.is_blamed() => {
            (Failure::Protocol, String::new())
        }
        Why::Reset(code) => (
            Failure::Reset,
            format!("the server reset the stream: {code}"),
        ),
        Why::NotProcessed => (
            Failure::Reset,
            "the server closed the connection and did not process it".to_owned(),
        ),
    };
    if let Some(flight) = http2.end_stream(at.slot) {
        judge.take_failure(place, flight, (failure, || text), at.done);
        http2.wake_lane(at.slot);
    }
}

impl Connection {
    pub(super) fn http2(&self) -> Option<&Session> {
        self.stack.as_ref()?.http2.as_ref()
    }

    #[inline]
    pub(super) fn has_streams(&self) -> bool {
        self.http2().is_some()
    }

    /// Whether the settings of the server are there.
    fn is_ready(&self) -> bool {
        self.http2().is_some_and(|http2| http2.client.is_ready())
    }

    /// Whether it takes no more requests and has none in flight.
    fn is_spent(&self) -> bool {
        self.http2()
            .is_some_and(|http2| http2.client.is_closing() && http2.client.in_flight() == 0)
    }

    /// How many requests may be begun now.
    #[inline]
    fn streams_free(&self) -> usize {
        match &self.stack {
            Some(stack)
                if self.phase == Phase::Open
                    && !self.has_unsent()
                    && stack.plain.len() < OUT_BYTES =>
            {
                stack.http2.as_ref().map_or(0, |http2| http2.client.room())
            }
            _ => 0,
        }
    }
}
