//! What is different with TLS, HTTP/2 or both: handshakes, and decryption of received bytes.

use rustix::event::epoll::EventFlags;
use waggle_wire::http1::answer::AtClose;

use super::{
    Worker,
    answers::{Ending, READS_MAX},
};
use crate::{
    failure::{Failure, HandshakeFailure},
    protocol::connection::{Phase, Received, Sent},
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
                    let now = self.judge.clock.now();
                    self.judge.recorder.advance(now);
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
                self.judge.examples.note(failure, None, || refusal.reason);
                return self.tls_failed(id, refusal.failure, now);
            }
        };
        self.judge.recorder.record_received(opened.length);
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
        match &stack.http2 {
            Some(_) => self.take_frames(id, length, now),
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
            self.judge
                .recorder
                .record_handshake(now.saturating_sub(since), is_resumed);
            begun = protocol_stacks.negotiate(stack);
        }
        if let Err(failure) = begun {
            let text = || "by ALPN the server did not choose HTTP/2".to_owned();
            let kind = Failure::Handshake(failure);
            self.judge.examples.note(kind, None, text);
            return self.handshake_failed(id, failure);
        }
        let is_open = match (&stack.tls, &stack.http2) {
            // The server's settings limit the number of streams, so the connection opens with them.
            (_, Some(_)) => false,
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
        let now = self.judge.clock.now();
        self.judge.recorder.advance(now);
        let connection = &mut self.connections[id as usize];
        let Some(stack) = &mut connection.stack else {
            return;
        };
        match (&stack.http2, connection.phase) {
            (_, Phase::Connecting { .. } | Phase::Closed) => {}
            (_, Phase::Handshaking { .. }) => self.handshake_failed(id, HandshakeFailure::Cut),
            (Some(http2), Phase::Open) if http2.is_blamed() => {
                let text = || http2.blame_text();
                self.judge.examples.note(Failure::Protocol, None, text);
                self.end(id, Ending::Protocol, now);
            }
            (Some(_), Phase::Open) => self.end(id, Ending::Cut, now),
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
            Phase::Open => self.end(id, Ending::Cut, self.judge.clock.now()),
            Phase::Connecting { .. } | Phase::Closed => {}
        }
    }

    /// Sends pending output of the stack until the socket is full.
    pub(super) fn send_stack(&mut self, id: u32) {
        let (sent, length) = self.connections[id as usize].send_stack(self.seen);
        self.judge.recorder.sent_bytes(length);
        match sent {
            Sent::All => {
                let connection = &mut self.connections[id as usize];
                connection.room_since = self.seen;
                if let Some(stack) = &mut connection.stack
                    && std::mem::take(&mut stack.is_held)
                {
                    self.read_later(id);
                }
            }
            Sent::Part => self.await_room(id),
            Sent::Lost => match self.connections[id as usize].phase {
                Phase::Open => self.lost_in_sending(id),
                _ => self.stack_lost(id),
            },
        }
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
