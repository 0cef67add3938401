//! What is different with TLS, HTTP/2 or both: handshakes, decryption of received bytes, and requests on streams.

use rustix::event::epoll::EventFlags;

use super::{
    Worker,
    answers::{Ending, READS_MAX, ending_without_requests, note},
};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::{
        connection::{Phase, Received, Sent},
        http1::reader::AtClose,
        http2::{self, Judge},
    },
    transport::tls::session::Opened,
};

impl Worker {
    /// A connection was just established: begins TLS or HTTP/2 on it.
    #[cold]
    pub(super) fn begin_stack(&mut self, id: u32) {
        let Some(protocol_stacks) = &self.protocol_stacks else {
            return;
        };
        let connection = &mut self.connections[id as usize];
        connection.phase = Phase::Handshaking {
            since: self.seen,
            until: self.seen.saturating_add(self.limits.connect_timeout),
        };
        match protocol_stacks.begin(self.seen) {
            Ok(stack) => {
                connection.stack = Some(Box::new(stack));
                self.resume_handshake(id, self.seen);
            }
            Err(failure) => self.handshake_failed(id, failure),
        }
    }

    /// Handles an event of a connection during its handshake.
    #[cold]
    pub(super) fn on_handshake(&mut self, id: u32, flags: EventFlags) {
        let is_ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if is_ending || flags.contains(EventFlags::IN) {
            self.receive_secure(id, is_ending);
        }
        if self.connections[id as usize].stack.is_some() {
            self.send_stack(id);
        }
        self.send(id, usize::MAX);
    }

    /// Receives through the protocol stack.
    pub(super) fn receive_secure(&mut self, id: u32, is_ending: bool) {
        for _ in 0..READS_MAX {
            let Some(protocol_stacks) = &mut self.protocol_stacks else {
                return;
            };
            if let Some(stack) = &mut self.connections[id as usize].stack
                && stack.is_stuffed()
            {
                // Reading continues once the pending bytes are read; if that never happens, the server is overdue.
                stack.is_held = true;
                return;
            }
            let buffer = if protocol_stacks.sealed.is_empty() {
                &mut self.input
            } else {
                &mut protocol_stacks.sealed
            };
            let most = buffer.len();
            match self.connections[id as usize].receive(buffer) {
                Received::Bytes(length) => {
                    let now = self.clock.now();
                    self.recorder.advance(now);
                    self.take_secure(id, length, now);
                    if self.connections[id as usize].stack.is_none() {
                        return;
                    }
                    if length < most && !is_ending {
                        return;
                    }
                }
                Received::Nothing => return,
                Received::End => return self.peer_closed(id, false),
                Received::Lost => return self.stack_lost(id),
            }
        }
        self.read_later(id);
    }

    /// Takes `length` received bytes.
    fn take_secure(&mut self, id: u32, length: usize, now: u64) {
        let connection = &mut self.connections[id as usize];
        let (Some(protocol_stacks), Some(stack)) = (&self.protocol_stacks, &mut connection.stack)
        else {
            return;
        };
        stack.heard = now;
        let opened = match &mut stack.tls {
            None => Ok(Opened {
                length,
                is_end: false,
            }),
            Some(tls) => tls.open(&protocol_stacks.sealed[..length], &mut self.input),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(refusal) => {
                let failure = Failure::Handshake(refusal.failure);
                self.examples.note(failure, None, || refusal.reason);
                return self.tls_failed(id, refusal.failure, now);
            }
        };
        self.recorder.record_received(opened.length);
        if matches!(
            self.connections[id as usize].phase,
            Phase::Handshaking { .. }
        ) {
            self.resume_handshake(id, now);
        }
        self.take_opened(id, opened.length, now);
        if self.connections[id as usize].stack.is_some() {
            self.send_stack(id);
        }
        if opened.is_end {
            self.peer_closed(id, true);
        }
    }

    /// Takes plain bytes of HTTP/1.1 or HTTP/2.
    fn take_opened(&mut self, id: u32, length: usize, now: u64) {
        let connection = &mut self.connections[id as usize];
        let Some(stack) = &mut connection.stack else {
            return;
        };
        match &mut stack.http2 {
            Some(http2) => {
                http2.push(&self.input[..length]);
                self.resume_streams(id, now);
            }
            None if connection.phase == Phase::Open => {
                if let Err(ending) = self.take_answers(id, length, now) {
                    self.end(id, ending, now);
                }
            }
            None => {}
        }
    }

    /// Continues a handshake with the received bytes; opens the connection if it is complete.
    fn resume_handshake(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id as usize];
        let Phase::Handshaking { since, .. } = connection.phase else {
            return;
        };
        let (Some(protocol_stacks), Some(stack)) = (&self.protocol_stacks, &mut connection.stack)
        else {
            return;
        };
        let mut begun = Ok(());
        if let Some(tls) = &stack.tls
            && stack.http2.is_none()
            && !tls.is_handshaking()
        {
            let is_resumed = tls.is_resumed();
            self.recorder
                .record_handshake(now.saturating_sub(since), is_resumed);
            begun = protocol_stacks.negotiate(stack);
        }
        if let Err(failure) = begun {
            return self.handshake_failed(id, failure);
        }
        let is_open = match (&stack.tls, &stack.http2) {
            (_, Some(_)) => {
                // The server's settings limit the number of streams, so the connection opens with them.
                return self.resume_streams(id, now);
            }
            (Some(tls), None) => !tls.is_handshaking(),
            (None, None) => true,
        };
        if is_open {
            self.open(id);
        } else {
            self.send_stack(id);
        }
    }

    /// A handshake failed.
    #[cold]
    pub(super) fn handshake_failed(&mut self, id: u32, failure: HandshakeFailure) {
        self.not_established(id, Failure::Handshake(failure));
    }

    /// The received bytes are invalid for TLS, or are an alert.
    #[cold]
    fn tls_failed(&mut self, id: u32, failure: HandshakeFailure, now: u64) {
        let connection = &self.connections[id as usize];
        if matches!(connection.phase, Phase::Handshaking { .. }) {
            return self.handshake_failed(id, failure);
        }
        let ending = match failure {
            // With TLS 1.3 a server may refuse a client whose handshake is complete.
            failure if !connection.has_answered => Ending::Handshake(failure),
            HandshakeFailure::Refused
            | HandshakeFailure::ClientCertificate
            | HandshakeFailure::NoCipher
            | HandshakeFailure::NoVersion => Ending::Cut,
            _ => Ending::Malformed,
        };
        self.end(id, ending, now);
    }

    /// The server has closed its side. `is_close_notify`: authenticated by TLS.
    fn peer_closed(&mut self, id: u32, is_close_notify: bool) {
        let now = self.clock.now();
        self.recorder.advance(now);
        let connection = &mut self.connections[id as usize];
        let Some(stack) = &mut connection.stack else {
            return;
        };
        match (&mut stack.http2, connection.phase) {
            (_, Phase::Connecting { .. } | Phase::Closed) => {}
            (_, Phase::Handshaking { .. }) => self.handshake_failed(id, HandshakeFailure::Cut),
            (Some(http2), Phase::Open) => {
                http2.end_input();
                self.resume_streams(id, now);
                if self.connections[id as usize].phase == Phase::Open {
                    self.end(id, Ending::Cut, now);
                }
            }
            (None, Phase::Open) => {
                let is_cut = stack.tls.is_some()
                    && !is_close_notify
                    && matches!(connection.reader.close(), AtClose::Whole(_));
                if is_cut {
                    // The end of the connection would be the end of the answer, but the answer may be truncated.
                    self.end(id, Ending::Cut, now);
                } else {
                    self.closed_by_server(id);
                }
            }
        }
    }

    fn stack_lost(&mut self, id: u32) {
        match self.connections[id as usize].phase {
            Phase::Handshaking { .. } => self.handshake_failed(id, HandshakeFailure::Cut),
            Phase::Open => self.end(id, Ending::Cut, self.clock.now()),
            Phase::Connecting { .. } | Phase::Closed => {}
        }
    }

    /// Sends pending output of the stack until the socket is full.
    pub(super) fn send_stack(&mut self, id: u32) {
        let (sent, length) = self.connections[id as usize].send_stack(self.seen);
        self.recorder.sent_bytes(length);
        match sent {
            Sent::All if self.has_streams(id) => {
                // Frames may have waited for room.
                self.connections[id as usize].room_since = self.seen;
                self.resume_streams(id, self.seen);
            }
            Sent::All => self.connections[id as usize].room_since = self.seen,
            Sent::Part => self.await_room(id),
            Sent::Lost => match self.connections[id as usize].phase {
                Phase::Open => self.lost_in_sending(id),
                _ => self.stack_lost(id),
            },
        }
    }

    #[inline]
    pub(super) fn has_streams(&self, id: u32) -> bool {
        self.connections[id as usize]
            .stack
            .as_ref()
            .is_some_and(|stack| stack.http2.is_some())
    }

    /// Sends due requests on free streams, at most `most` requests.
    pub(super) fn send_streams(&mut self, id: u32, most: usize) {
        let mut left = most;
        while left > 0 && self.streams_free(id) > 0 && self.write(id, 1) == 1 {
            left -= 1;
            self.start_stream(id);
        }
        if left < most {
            self.resume_streams(id, self.clock.now());
        }
        let is_free = self.streams_free(id) > 0;
        let connection = &mut self.connections[id as usize];
        if !connection.room_is_noted && is_free {
            connection.room_is_noted = self.pacer.note_room(id);
        }
    }

    /// How many streams may be started now.
    fn streams_free(&self, id: u32) -> usize {
        let connection = &self.connections[id as usize];
        match &connection.stack {
            Some(stack) if connection.has_room() => {
                stack.http2.as_ref().map_or(0, http2::Session::room)
            }
            _ => 0,
        }
    }

    /// Starts a stream with the request that was just written.
    fn start_stream(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        let (Some(protocol_stacks), Some(stack)) =
            (&mut self.protocol_stacks, &mut connection.stack)
        else {
            return;
        };
        let (Some(http2), Some(flight)) = (&mut stack.http2, connection.flight.pop_back()) else {
            return;
        };
        if http2.in_flight() == 0 {
            // A server without pending answers is not silent.
            stack.heard = flight.sent;
        }
        if let Err(ended) = http2.start(&mut protocol_stacks.requests, &self.out, flight) {
            let (recorder, account) = (&mut self.recorder, &mut self.account);
            let judged = ended.judged.map(|_| ());
            note(recorder, account, ended.flight, judged, flight.sent);
            self.pacer.on_request_end(id, flight.sent, judged);
        }
    }

    /// Polls the streams of a connection and records those that have ended.
    fn resume_streams(&mut self, id: u32, now: u64) {
        self.recorder.advance(now);
        loop {
            let connection = &mut self.connections[id as usize];
            let Some(stack) = &mut connection.stack else {
                return;
            };
            let Some(http2) = &mut stack.http2 else {
                return;
            };
            http2.resume();
            if stack.is_held && !http2.is_stuffed() {
                stack.is_held = false;
                self.to_read.push(id);
            }
            let mut judge = Judge {
                matcher: &self.matcher,
                inspector: self.inspector.as_mut(),
                now,
                examples: &mut self.examples,
            };
            while let Some(ended) = http2.next(&mut judge) {
                connection.has_answered |= ended.judged.map_or_else(Failure::is_answer, |_| true);
                connection.room_since = self.seen;
                let (recorder, account) = (&mut self.recorder, &mut self.account);
                let (flight, sent) = (ended.flight, ended.flight.sent);
                let judged = recorder.record_inspection(ended.judged, sent);
                note(recorder, account, flight, judged, now);
                self.pacer.on_request_end(id, now, judged);
            }
            if let Some(end) = http2.end() {
                return self.streams_ended(id, end, now);
            }
            let has_begun = http2.has_begun();
            let (sent, length) = connection.send_stack(now);
            self.recorder.sent_bytes(length);
            match sent {
                Sent::All => {}
                Sent::Part => self.await_room(id),
                Sent::Lost => return self.stack_lost(id),
            }
            let connection = &mut self.connections[id as usize];
            if has_begun && matches!(connection.phase, Phase::Handshaking { .. }) {
                return self.open(id);
            }
            let wants_to_go_on = connection
                .stack
                .as_mut()
                .and_then(|stack| stack.http2.as_mut())
                .is_some_and(|http2| http2.wants_to_go_on());
            if !wants_to_go_on {
                return;
            }
        }
    }

    /// A connection takes no more streams.
    fn streams_ended(&mut self, id: u32, end: http2::End, now: u64) {
        let connection = &self.connections[id as usize];
        if matches!(connection.phase, Phase::Handshaking { .. }) {
            let failure = match end {
                http2::End::Agreed | http2::End::Cut => HandshakeFailure::Cut,
                http2::End::Broken => HandshakeFailure::NoProtocol,
            };
            return self.handshake_failed(id, failure);
        }
        let ending = match end {
            http2::End::Broken => Ending::Protocol,
            http2::End::Agreed => ending_without_requests(connection.has_answered),
            http2::End::Cut => Ending::Cut,
        };
        self.end(id, ending, now);
    }

    /// Ends what has timed out on an open connection.
    pub(super) fn end_overdue_stack(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        let has_unsent = connection.has_unsent();
        let Some(stack) = &mut connection.stack else {
            return;
        };
        let Some(http2) = &mut stack.http2 else {
            return self.end_if_overdue(id);
        };
        let Some(since) = self.seen.checked_sub(self.limits.request_timeout) else {
            return;
        };
        let is_silent = stack.heard <= since && http2.in_flight() > 0;
        let is_deaf = stack.moved <= since && has_unsent;
        if is_silent || is_deaf {
            // Nothing was received or accepted for that long: the connection does not answer.
            return self.end(id, Ending::Overdue, self.clock.now());
        }
        let overdue = http2.give_up_sent_before(since);
        if overdue.is_empty() {
            return;
        }
        let now = self.clock.now();
        self.recorder.advance(now);
        for flight in overdue {
            let failed = Err(Failure::TimedOut);
            note(&mut self.recorder, &mut self.account, flight, failed, now);
            self.pacer.on_request_end(id, now, failed);
        }
        self.resume_streams(id, now);
        self.send(id, usize::MAX);
    }

    /// The run has ended: closes the connections in order.
    pub(super) fn close_gracefully(&mut self) {
        if self.protocol_stacks.is_some() {
            for connection in &mut self.connections {
                connection.close();
            }
        }
    }
}
