//! What is different where TLS, HTTP/2 or both lie between socket and answers: handshakes, opening what has come before
//! it is read, and requests that go on streams.

use rustix::event::epoll::EventFlags;

use super::{
    Worker,
    answers::{Ending, READS_MAX, note},
};
use crate::{
    Failure, HandshakeFailure,
    connection::{Phase, Received, Sent},
    http2,
    reader::AtClose,
    tls::Opened,
};

impl Worker {
    /// A connection was made just now: begins what lies above it.
    #[cold]
    pub(super) fn begin_layers(&mut self, id: u32) {
        let Some(layering) = &self.layering else {
            return;
        };
        let connection = &mut self.connections[id as usize];
        connection.phase = Phase::Shaking {
            since: self.seen,
            until: self.seen.saturating_add(self.limits.connect_timeout),
        };
        match layering.begin(self.seen) {
            Ok(layers) => {
                connection.layers = Some(Box::new(layers));
                self.go_on_shaking(id, self.seen);
            }
            Err(failure) => self.not_shaken(id, failure),
        }
    }

    /// Something has happened on a connection whose handshake is under way.
    #[cold]
    pub(super) fn shake(&mut self, id: u32, flags: EventFlags) {
        let is_ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        if is_ending || flags.contains(EventFlags::IN) {
            self.receive_layered(id, is_ending);
        }
        if self.connections[id as usize].layers.is_some() {
            self.send_layers(id);
        }
        self.send(id, usize::MAX);
    }

    /// Takes what has come, through the layers.
    pub(super) fn receive_layered(&mut self, id: u32, is_ending: bool) {
        for _ in 0..READS_MAX {
            let Some(layering) = &mut self.layering else {
                return;
            };
            if let Some(layers) = &mut self.connections[id as usize].layers
                && layers.is_stuffed()
            {
                // Read on as soon as what waits is read; a server that never lets it be is overdue.
                layers.is_held = true;
                return;
            }
            let buffer = if layering.sealed.is_empty() {
                &mut self.input
            } else {
                &mut layering.sealed
            };
            let most = buffer.len();
            match self.connections[id as usize].receive(buffer) {
                Received::Bytes(length) => {
                    let now = self.clock.now();
                    self.recorder.advance(now);
                    self.take_layered(id, length, now);
                    if self.connections[id as usize].layers.is_none() {
                        return;
                    }
                    if length < most && !is_ending {
                        return;
                    }
                }
                Received::Nothing => return,
                Received::End => return self.closed_layered(id, false),
                Received::Lost => return self.lost_layered(id),
            }
        }
        self.read_later(id);
    }

    /// Takes `length` bytes as they came off the socket.
    fn take_layered(&mut self, id: u32, length: usize, now: u64) {
        let connection = &mut self.connections[id as usize];
        let (Some(layering), Some(layers)) = (&self.layering, &mut connection.layers) else {
            return;
        };
        layers.heard = now;
        let opened = match &mut layers.tls {
            None => Ok(Opened {
                length,
                is_end: false,
            }),
            Some(tls) => tls.open(&layering.sealed[..length], &mut self.input),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(failure) => return self.not_opened(id, failure, now),
        };
        self.recorder.record_received(opened.length);
        if matches!(self.connections[id as usize].phase, Phase::Shaking { .. }) {
            self.go_on_shaking(id, now);
        }
        self.take_opened(id, opened.length, now);
        if self.connections[id as usize].layers.is_some() {
            self.send_layers(id);
        }
        if opened.is_end {
            self.closed_layered(id, true);
        }
    }

    /// Takes plain bytes of HTTP, of whichever version.
    fn take_opened(&mut self, id: u32, length: usize, now: u64) {
        let connection = &mut self.connections[id as usize];
        let Some(layers) = &mut connection.layers else {
            return;
        };
        match &mut layers.http2 {
            Some(http2) => {
                http2.push(&self.input[..length]);
                self.go_on_streams(id, now);
            }
            None if connection.phase == Phase::Open => {
                if let Err(ending) = self.take_answers(id, length, now) {
                    self.end(id, ending, now);
                }
            }
            None => {}
        }
    }

    /// Takes a handshake as far as what has come allows; opens the connection where that was all.
    fn go_on_shaking(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id as usize];
        let Phase::Shaking { since, .. } = connection.phase else {
            return;
        };
        let (Some(layering), Some(layers)) = (&self.layering, &mut connection.layers) else {
            return;
        };
        let mut begun = Ok(());
        if let Some(tls) = &layers.tls
            && layers.http2.is_none()
            && !tls.is_shaking()
        {
            let is_resumed = tls.is_resumed();
            self.recorder
                .record_handshake(now.saturating_sub(since), is_resumed);
            begun = layering.speak(layers);
        }
        if let Err(failure) = begun {
            return self.not_shaken(id, failure);
        }
        let is_open = match (&layers.tls, &layers.http2) {
            (_, Some(_)) => {
                // The server's settings say how many streams there may be: they open the connection.
                return self.go_on_streams(id, now);
            }
            (Some(tls), None) => !tls.is_shaking(),
            (None, None) => true,
        };
        if is_open {
            self.open(id);
        } else {
            self.send_layers(id);
        }
    }

    /// A handshake has come to nothing.
    #[cold]
    pub(super) fn not_shaken(&mut self, id: u32, failure: HandshakeFailure) {
        self.recorder.failed_beside(Failure::Handshake(failure));
        // What TLS has to say of it goes out with the good-bye.
        self.connections[id as usize].close();
        self.session_lost(id, false, self.seen);
        self.open_after_pause(id);
    }

    /// What has come is not what TLS allows, or is its refusal.
    #[cold]
    fn not_opened(&mut self, id: u32, failure: HandshakeFailure, now: u64) {
        let connection = &self.connections[id as usize];
        if matches!(connection.phase, Phase::Shaking { .. }) {
            return self.not_shaken(id, failure);
        }
        let ending = match failure {
            // With TLS 1.3 a server may refuse a client that has done its part already.
            failure if !connection.has_answered => Ending::Handshake(failure),
            HandshakeFailure::Refused => Ending::Cut,
            _ => Ending::Malformed,
        };
        self.end(id, ending, now);
    }

    /// The server has closed its side. `is_told`: by the means of TLS, so that nobody else can have done it.
    fn closed_layered(&mut self, id: u32, is_told: bool) {
        let now = self.clock.now();
        self.recorder.advance(now);
        let connection = &mut self.connections[id as usize];
        let Some(layers) = &mut connection.layers else {
            return;
        };
        match (&mut layers.http2, connection.phase) {
            (_, Phase::Connecting { .. } | Phase::Closed) => {}
            (_, Phase::Shaking { .. }) => self.not_shaken(id, HandshakeFailure::Cut),
            (Some(http2), Phase::Open) => {
                http2.end_input();
                self.go_on_streams(id, now);
                if self.connections[id as usize].phase == Phase::Open {
                    self.end(id, Ending::Cut, now);
                }
            }
            (None, Phase::Open) => {
                let is_cut = layers.tls.is_some()
                    && !is_told
                    && matches!(connection.reader.close(), AtClose::Whole(_));
                if is_cut {
                    // The end of the connection would be the end of the answer; but it may have been cut off.
                    self.end(id, Ending::Cut, now);
                } else {
                    self.closed_by_server(id);
                }
            }
        }
    }

    fn lost_layered(&mut self, id: u32) {
        match self.connections[id as usize].phase {
            Phase::Shaking { .. } => self.not_shaken(id, HandshakeFailure::Cut),
            Phase::Open => self.end(id, Ending::Cut, self.clock.now()),
            Phase::Connecting { .. } | Phase::Closed => {}
        }
    }

    /// Sends what the layers have to send, as far as the socket takes it.
    pub(super) fn send_layers(&mut self, id: u32) {
        let (sent, length) = self.connections[id as usize].send_layers(self.seen);
        self.recorder.sent_bytes(length);
        match sent {
            Sent::All if self.has_streams(id) => {
                // Frames may have been waiting for room.
                self.connections[id as usize].room_since = self.seen;
                self.go_on_streams(id, self.seen);
            }
            Sent::All => self.connections[id as usize].room_since = self.seen,
            Sent::Part => {}
            Sent::Lost => match self.connections[id as usize].phase {
                Phase::Open => self.lost_in_sending(id),
                _ => self.lost_layered(id),
            },
        }
    }

    #[inline]
    pub(super) fn has_streams(&self, id: u32) -> bool {
        self.connections[id as usize]
            .layers
            .as_ref()
            .is_some_and(|layers| layers.http2.is_some())
    }

    /// Sends what this connection may send and has streams for, `most` requests at most.
    pub(super) fn send_streams(&mut self, id: u32, most: usize) {
        let mut left = most;
        while left > 0 && self.streams_free(id) > 0 && self.write(id, 1) == 1 {
            left -= 1;
            self.start_stream(id);
        }
        if left < most {
            self.go_on_streams(id, self.clock.now());
        }
        let is_free = self.streams_free(id) > 0;
        let connection = &mut self.connections[id as usize];
        if !connection.room_is_noted && is_free {
            connection.room_is_noted = self.pace.note_room(id);
        }
    }

    /// How many streams may be begun now.
    fn streams_free(&self, id: u32) -> usize {
        let connection = &self.connections[id as usize];
        match &connection.layers {
            Some(layers) if connection.has_room() => {
                layers.http2.as_ref().map_or(0, http2::Session::room)
            }
            _ => 0,
        }
    }

    /// Puts the request that was just written onto a stream.
    fn start_stream(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        let (Some(layering), Some(layers)) = (&mut self.layering, &mut connection.layers) else {
            return;
        };
        let (Some(http2), Some(flight)) = (&mut layers.http2, connection.flight.pop_back()) else {
            return;
        };
        if http2.in_flight() == 0 {
            // A server that owes nothing has not been silent.
            layers.heard = flight.sent;
        }
        if let Err(ended) = http2.start(&mut layering.requests, &self.out, flight) {
            let (recorder, account) = (&mut self.recorder, &mut self.account);
            note(recorder, account, ended.flight, ended.judged, flight.sent);
            self.pace.on_request_end(id, flight.sent);
        }
    }

    /// Lets the streams of a connection go on with what has come, and notes what has ended.
    fn go_on_streams(&mut self, id: u32, now: u64) {
        self.recorder.advance(now);
        loop {
            let connection = &mut self.connections[id as usize];
            let Some(layers) = &mut connection.layers else {
                return;
            };
            let Some(http2) = &mut layers.http2 else {
                return;
            };
            http2.go_on();
            if layers.is_held && !http2.is_stuffed() {
                layers.is_held = false;
                self.to_read.push(id);
            }
            while let Some(ended) = http2.next(&self.judge) {
                connection.has_answered |= matches!(
                    ended.judged,
                    Ok(()) | Err(Failure::Status(_) | Failure::WrongBody)
                );
                connection.room_since = self.seen;
                let (recorder, account) = (&mut self.recorder, &mut self.account);
                note(recorder, account, ended.flight, ended.judged, now);
                self.pace.on_request_end(id, now);
            }
            if let Some(end) = http2.end() {
                return self.streams_ended(id, end, now);
            }
            let has_begun = http2.has_begun();
            let (sent, length) = connection.send_layers(now);
            self.recorder.sent_bytes(length);
            if sent == Sent::Lost {
                return self.lost_layered(id);
            }
            if has_begun && matches!(connection.phase, Phase::Shaking { .. }) {
                return self.open(id);
            }
            let wants_to_go_on = connection
                .layers
                .as_mut()
                .and_then(|layers| layers.http2.as_mut())
                .is_some_and(|http2| http2.wants_to_go_on());
            if !wants_to_go_on {
                return;
            }
        }
    }

    /// A connection carries no more streams.
    fn streams_ended(&mut self, id: u32, end: http2::End, now: u64) {
        let connection = &self.connections[id as usize];
        if matches!(connection.phase, Phase::Shaking { .. }) {
            let failure = match end {
                http2::End::Agreed | http2::End::Cut => HandshakeFailure::Cut,
                http2::End::Broken => HandshakeFailure::NoProtocol,
            };
            return self.not_shaken(id, failure);
        }
        let ending = match end {
            http2::End::Broken => Ending::Protocol,
            http2::End::Agreed if connection.has_answered => Ending::Agreed,
            // One that has answered nothing is not opened again at once.
            http2::End::Agreed | http2::End::Cut => Ending::Cut,
        };
        self.end(id, ending, now);
    }

    /// Ends what has taken too long on an open connection.
    pub(super) fn end_overdue_layered(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        let has_unsent = connection.has_unsent();
        let Some(layers) = &mut connection.layers else {
            return;
        };
        let Some(http2) = &mut layers.http2 else {
            return self.end_if_overdue(id);
        };
        let Some(since) = self.seen.checked_sub(self.limits.request_timeout) else {
            return;
        };
        let is_silent = layers.heard <= since && http2.in_flight() > 0;
        let is_deaf = layers.moved <= since && has_unsent;
        if is_silent || is_deaf {
            // Nothing at all has come or gone for that long: it is the connection that does not answer.
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
            self.pace.on_request_end(id, now);
        }
        self.go_on_streams(id, now);
        self.send(id, usize::MAX);
    }

    /// The run is over: tells the servers that the connections end in order.
    pub(super) fn say_good_bye(&mut self) {
        if self.layering.is_some() {
            for connection in &mut self.connections {
                connection.close();
            }
        }
    }
}
