//! Requests and answers on the streams of HTTP/2.

use waggle_wire::http2::client::Event;

use super::{
    Worker,
    answers::{Ending, ending_without_requests, failure_at_end},
    judge::{Failed, Place},
    requests::possible,
    stream_answers::{StreamAnswers, connection_failure},
};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::{
        connection::{Connection, Phase},
        flight::Flight,
        http2::{Lane, Sending, Session},
        stack::ProtocolStack,
    },
    recording::request_outcomes::NO_RECORD,
    requests::head_block::{Indexed, RequestParts},
};

/// Output is sent when it has this size, so that buffers stay small with large bodies.
const OUT_BYTES: usize = 64 * 1024;

impl Worker {
    #[inline]
    pub(super) fn has_streams(&self, id: u32) -> bool {
        self.connections[id as usize].has_streams()
    }

    /// Takes the first `length` bytes of the input, which are frames.
    pub(super) fn take_frames(&mut self, id: u32, length: usize, done: u64) {
        let taken = if self.judge.sessions.is_none() && self.judge.inspector.is_none() {
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
                self.judge.recorder.sent_bytes(sent);
                self.end(id, ending, done);
            }
            Ok(()) if is_handshaking && connection.is_ready() => {
                self.open(id);
                self.end_if_spent(id, done);
            }
            Ok(()) if is_handshaking => {}
            Ok(()) => self.end_if_spent(id, done),
        }
    }

    /// Ends a connection that takes no more requests and has none in flight.
    fn end_if_spent(&mut self, id: u32, done: u64) {
        let connection = &self.connections[id as usize];
        if connection.is_spent() || self.closes && connection.is_used_up() {
            let ending = ending_without_requests(connection.has_answered);
            self.end(id, ending, done);
        }
    }

    /// Compiled twice, so that prepared requests pay nothing for heads.
    fn take_frames_of<const HEADS: bool>(
        &mut self,
        id: u32,
        length: usize,
        done: u64,
    ) -> Result<(), Ending> {
        let lanes = self.lanes();
        let connection = &mut self.connections[id as usize];
        let Some((http2, plain, control_bytes)) = streams_of(&mut connection.stack) else {
            return Ok(());
        };
        let mut answers = StreamAnswers {
            judge: &mut self.judge,
            http2,
            id,
            lanes,
            done,
            last: (usize::MAX, &[]),
        };
        let mut input = &self.input[..length];
        let pending = plain.len();
        loop {
            if let Some(answer) = answers.http2.client.next_answer(&mut input) {
                answers.take_answer::<HEADS>(answer);
                connection.has_answered = true;
                connection.room_since = self.seen;
                continue;
            }
            let event = match answers.http2.client.next(&mut input, plain) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    answers.http2.client.blame(error, plain);
                    let is_handshake = matches!(connection.phase, Phase::Handshaking { .. });
                    let (kind, text) =
                        connection_failure(&error, is_handshake, &self.input[..length]);
                    answers.judge.examples.note(kind, None, || text);
                    return Err(Ending::Protocol);
                }
            };
            let is_answer = matches!(event, Event::Whole { .. } | Event::Body { .. });
            connection.has_answered |= is_answer;
            if answers.take::<HEADS>(event, plain) {
                connection.room_since = self.seen;
            } else if let Event::Failed { slot, .. } = event {
                connection.flight.extend(answers.take_back(slot));
            }
        }
        *control_bytes += plain.len() - pending;
        Ok(())
    }

    /// Sessions on each connection; 1 without sessions.
    #[inline]
    fn lanes(&self) -> u32 {
        let sessions = self.judge.sessions.as_ref();
        sessions.map_or(1, |sessions| sessions.lanes())
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
        let has_session = self.judge.sessions.as_ref().is_none_or(|sessions| {
            let http2 = self.connections[id as usize].http2();
            !sessions.start_no_more() && http2.is_some_and(Session::has_waiting_lane)
        });
        let connection = &mut self.connections[id as usize];
        if has_session && !connection.room_is_noted && connection.streams_free() > 0 {
            connection.room_is_noted = self.judge.pacer.note_room(id);
        }
    }

    /// Writes requests to the output of a connection and records them as sent; returns their number.
    #[inline]
    fn write_streams(&mut self, id: u32, most: usize) -> usize {
        let wants =
            |worker: &Self| worker.judge.sessions.is_some() || worker.judge.pacer.has_for(id);
        let is_resending = !self.connections[id as usize].flight.is_empty();
        if !is_resending && (!wants(self) || self.connections[id as usize].streams_free() == 0) {
            return 0;
        }
        let now = self.judge.clock.now();
        if now >= self.limits.end {
            self.finish(now);
            return 0;
        }
        self.judge.recorder.advance(now);
        if is_resending && !self.resend_streams(id) {
            return 0;
        }
        let mut requests = 0;
        if self.judge.sessions.is_none() {
            while let Some(flight) = self.write_prepared(id, most, now, &mut requests) {
                self.refuse(id, flight);
            }
            self.note_written(requests, now);
            return requests;
        }
        let lanes = self.lanes();
        while requests < most
            && self.connections[id as usize].streams_free() > 0
            && !(self.closes && self.connections[id as usize].is_used())
            && self.sent < self.max_requests.min(self.max_tracked_requests)
            && let Some((due, lane)) = self.next_on_stream(id, lanes, now)
        {
            requests += usize::from(self.write_stream(id, lane, due, now));
        }
        self.note_written(requests, now);
        requests
    }

    /// Writes prepared requests until there are `most`, and counts them. The flight of one that cannot be sent is returned at once.
    #[inline]
    fn write_prepared(
        &mut self,
        id: u32,
        most: usize,
        now: u64,
        requests: &mut usize,
    ) -> Option<Flight> {
        let connection = &mut self.connections[id as usize];
        let room = match self.closes && connection.is_used() {
            true => 0,
            false if self.closes => connection.streams_free().min(1),
            false => connection.streams_free(),
        };
        let left = self.max_requests.min(self.max_tracked_requests);
        let left = usize::try_from(left.saturating_sub(self.sent)).unwrap_or(usize::MAX);
        let most = most.min(*requests + room.min(left));
        let (by, room_since) = (self.judge.recorder.due(), connection.room_since);
        let unix = self.judge.clock.unix(now);
        let stack = connection.stack.as_deref_mut()?;
        let http2 = stack.http2.as_mut()?;
        while *requests < most
            && stack.plain.len() < OUT_BYTES
            && let Some(due) = self.judge.pacer.take(id, now)
        {
            if http2.client.in_flight() == 0 {
                // A server without pending answers is not silent.
                stack.heard = now;
            }
            let writer = &mut self.writer;
            let place = writer.take_place();
            let flight = Flight {
                due,
                sent: now,
                index: self.sent,
                lane: 0,
                is_head: writer.is_head(place),
            };
            self.sent += 1;
            let sending = Sending { flight, unix };
            let sent = http2.send_prepared(writer, place, sending, &mut stack.plain);
            if let Some(account) = &mut self.judge.account {
                account.send();
            }
            let lag = now.saturating_sub(possible(room_since, due, by));
            self.judge.recorder.lag(lag);
            if sent.is_err() {
                return Some(flight);
            }
            *requests += 1;
        }
        None
    }

    /// Writes the next request of a session; false if it cannot be sent, and has ended.
    #[inline]
    fn write_stream(&mut self, id: u32, lane: u32, due: u64, now: u64) -> bool {
        let session = self.place(id).session + lane;
        self.sent += 1;
        let unix = self.judge.clock.unix(now);
        let connection = &mut self.connections[id as usize];
        let by = self.judge.recorder.due();
        let lag = now.saturating_sub(possible(connection.room_since, due, by));
        let Some(ProtocolStack {
            http2: Some(http2),
            plain,
            heard,
            ..
        }) = connection.stack.as_deref_mut()
        else {
            return false;
        };
        if http2.client.in_flight() == 0 {
            // A server without pending answers is not silent.
            *heard = now;
        }
        let sessions = self.judge.sessions.as_mut();
        let sessions = sessions.expect("prepared requests are written elsewhere");
        self.out.clear();
        let appended = sessions.append(&mut self.out, session, unix, &mut self.judge.recorder);
        let flight = Flight {
            due,
            sent: now,
            index: appended.index,
            lane,
            is_head: appended.is_head,
        };
        let sending = Sending { flight, unix };
        let parts = RequestParts::new(&self.out, appended.lengths);
        let sent = http2.send_request(parts, Indexed::Few, sending, plain);
        if let Some(account) = &mut self.judge.account
            && flight.index != NO_RECORD
        {
            account.send();
        }
        self.judge.recorder.lag(lag);
        if sent.is_err() {
            self.refuse(id, flight);
        }
        sent.is_ok()
    }

    /// Since when the next request on a connection has been due, and the number of its session there.
    #[inline]
    fn next_on_stream(&mut self, id: u32, lanes: u32, now: u64) -> Option<(u64, u32)> {
        let Some(sessions) = &mut self.judge.sessions else {
            return Some((self.judge.pacer.take(id, now)?, 0));
        };
        let (http2, _, _) = streams_of(&mut self.connections[id as usize].stack)?;
        loop {
            let lane = http2.next_lane()?;
            let (Lane::Awake(number) | Lane::Idle(number)) = lane;
            let session = id * lanes + number;
            let (pacer, recorder) = (&mut self.judge.pacer, &mut self.judge.recorder);
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
    fn refuse(&mut self, id: u32, flight: Flight) {
        let place = Place {
            connection: id,
            session: self.place(id).session + flight.lane,
        };
        self.judge.recorder.record_sent(1, flight.sent);
        let failed = Failed {
            failure: Failure::Protocol,
            text: "it cannot be sent over HTTP/2".to_owned(),
            done: flight.sent,
        };
        self.judge.take_failure(place, flight, failed);
    }

    /// Sends requests again that were not processed. They were counted before, and keep their instants. Returns whether all are sent.
    #[cold]
    pub(super) fn resend_streams(&mut self, id: u32) -> bool {
        let lanes = self.lanes();
        let mut resent = 0;
        let connection = &mut self.connections[id as usize];
        while connection.streams_free() > 0
            && let Some(flight) = connection.flight.pop_front()
        {
            let Some((http2, plain, _)) = streams_of(&mut connection.stack) else {
                break;
            };
            let unix = self.judge.clock.unix(flight.sent);
            let sending = Sending { flight, unix };
            // It was sent before, so it can be translated.
            let _ = match &mut self.judge.sessions {
                Some(sessions) => {
                    self.out.clear();
                    let session = id * lanes + flight.lane;
                    let lengths = sessions.append_again(&mut self.out, session, unix);
                    let parts = RequestParts::new(&self.out, lengths);
                    http2.send_request(parts, Indexed::Few, sending, plain)
                }
                None => {
                    let place = self.writer.place(flight.index);
                    http2.send_prepared(&mut self.writer, place, sending, plain)
                }
            };
            resent += 1;
        }
        self.judge.recorder.record_resent(resent);
        let is_done = connection.flight.is_empty();
        self.send_stack(id);
        is_done
    }

    /// Fails the requests that are in flight on streams of a connection that has ended.
    pub(super) fn fail_streams(&mut self, streams: &[Flight], id: u32, ending: Ending, now: u64) {
        if streams.is_empty() && self.connections[id as usize].flight.is_empty() {
            self.note_end_without_requests(id, ending, now);
        }
        let first = self.place(id).session;
        for &flight in streams {
            let session = first + flight.lane;
            let timeout = self.request_timeout(session);
            let is_overdue = now.saturating_sub(flight.sent) >= timeout;
            let failure = failure_at_end(ending, is_overdue);
            let place = Place {
                connection: id,
                session,
            };
            self.judge.end_without_answer(place, flight, failure, now);
        }
    }

    /// Ends what has timed out on an open connection with streams.
    pub(super) fn end_overdue_streams(&mut self, id: u32) {
        let first = self.place(id).session;
        let (limit, seen) = (self.limits.request_timeout, self.seen);
        let sessions = self.judge.sessions.as_deref();
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
        let longest = http2.flights().map(|flight| timeout(flight.lane)).max();
        let is_silent = longest.is_some_and(|longest| heard.saturating_add(longest) <= seen);
        if is_silent || is_deaf {
            // Nothing was received or accepted for that long: the connection does not answer.
            return self.end(id, Ending::Overdue, self.judge.clock.now());
        }
        let is_overdue = |flight: &Flight| flight.sent.saturating_add(timeout(flight.lane)) <= seen;
        let overdue = http2.cancel(is_overdue, &mut stack.plain);
        if overdue.is_empty() {
            return;
        }
        let now = self.time_out(id, overdue);
        self.send_stack(id);
        self.end_if_spent(id, now);
        self.send(id, usize::MAX);
    }

    /// Fails requests of a connection that have timed out; returns when.
    pub(super) fn time_out(&mut self, id: u32, overdue: Vec<Flight>) -> u64 {
        let first = self.place(id).session;
        let now = self.judge.clock.now();
        self.judge.recorder.advance(now);
        for flight in overdue {
            let place = Place {
                connection: id,
                session: first + flight.lane,
            };
            let failed = Failed {
                failure: Failure::TimedOut,
                text: String::new(),
                done: now,
            };
            self.judge.take_failure(place, flight, failed);
            self.connections[id as usize].wake(flight.lane);
        }
        now
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

    /// Whether a request was sent over it.
    fn is_used(&self) -> bool {
        self.http2().is_some_and(|http2| http2.client.is_used())
    }

    /// Whether all requests that were sent over it have ended.
    fn is_used_up(&self) -> bool {
        self.http2()
            .is_some_and(|http2| http2.client.is_used() && http2.client.in_flight() == 0)
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
