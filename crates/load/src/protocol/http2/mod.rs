//! HTTP/2 on one connection: requests as frames, and the state of each until its answer is complete. No socket, no clock.
//!
//! `waggle_wire` has the rules of the connection; here is what a load needs of each stream.

use waggle_wire::http2::{
    client::{Begun, Client, Options},
    error::ErrorCode,
    frame::{END_HEADERS, END_STREAM, Kind, PAYLOAD_MIN_BYTES, put_head},
};

use waggle_wire::http1::answer::ReadLimits;

use super::{answer_state::AnswerState, flight::Flight};
use crate::requests::{
    frames::PreparedFrames,
    head_block::{HeadTranslator, Indexed, RequestError, RequestParts},
    writer::{Number, Writer},
};

/// Receive windows of one stream and of a connection. All bytes are taken at once, so this much is in flight on the network,
/// never in memory.
const STREAM_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024 * 1024;

/// What the sessions of HTTP/2 of a worker have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamSettings {
    /// Most requests at the same time on a connection.
    pub(crate) streams_max: usize,
    pub(crate) limits: ReadLimits,
    pub(crate) is_tls: bool,
    pub(crate) is_inspected: bool,
    /// Whether requests are those of sessions.
    pub(crate) has_sessions: bool,
}

/// HTTP/2 of one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    settings: StreamSettings,
    /// By the slot of the client.
    streams: Vec<Stream>,
    translator: HeadTranslator,
    block: Vec<u8>,
    /// A prepared request in the form of HTTP/1.1.
    text: Vec<u8>,
    /// The state of the encoder in which prepared frames may be sent.
    prepared_at: Option<u64>,
    /// The state of the encoder in which that was last decided: a server with a small table never comes to it.
    compared_at: Option<u64>,
    /// Sessions that may have something to send, and sessions that have ended; by their number on this connection.
    awake: Vec<u32>,
    idle: Vec<u32>,
}

/// A request in flight and its answer. What each request needs is one line of the CPU's cache.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Stream {
    /// `None`: there is no request.
    pub(crate) flight: Option<Flight>,
    /// Bytes of the body so far.
    pub(crate) received: u64,
    pub(crate) kept: Box<KeptAnswer>,
}

/// What is kept of an answer, if bodies are matched or heads needed.
#[derive(Debug)]
pub(crate) struct KeptAnswer {
    pub(crate) state: AnswerState,
    /// The head, if heads are needed.
    pub(crate) head: Vec<u8>,
}

impl KeptAnswer {
    fn reset(&mut self) {
        self.state.reset();
        self.head.clear();
    }
}

/// A request to be sent: its texts and its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) flight: Flight,
    /// When it is sent, in nanoseconds since 1970.
    pub(crate) unix: u64,
}

impl Session {
    /// Begins: the preface and the settings of this side are appended to `out`.
    pub(crate) fn new(settings: StreamSettings, out: &mut Vec<u8>) -> Self {
        let limits = settings.limits;
        let options = Options {
            streams_max: settings.streams_max,
            // RFC 9113, section 6.5.2: each field counts 32 bytes more.
            list_max_bytes: limits.head_max_bytes + 32 * limits.head_max_fields,
            fields_max: limits.head_max_fields,
            stream_window: STREAM_WINDOW_BYTES,
            connection_window: CONNECTION_WINDOW_BYTES,
            keeps_fields: settings.has_sessions || settings.is_inspected,
        };
        let lanes = match settings.has_sessions {
            true => u32::try_from(settings.streams_max).unwrap_or(u32::MAX),
            false => 0,
        };
        Self {
            client: Client::new(options, out),
            settings,
            streams: Vec::new(),
            translator: HeadTranslator::new(settings.is_tls),
            block: Vec::new(),
            text: Vec::new(),
            prepared_at: None,
            compared_at: None,
            awake: (0..lanes).rev().collect(),
            idle: Vec::new(),
        }
    }

    /// Whether the server said that this side broke a rule.
    pub(crate) fn is_blamed(&self) -> bool {
        let away = self.client.going_away();
        away.is_some_and(|away| away.code != ErrorCode::NO_ERROR)
    }

    /// What the server said when it announced the end of the connection, for people; empty if it said nothing.
    #[cold]
    pub(crate) fn blame_text(&self) -> String {
        let away = self.client.going_away();
        away.map_or_else(String::new, |away| {
            format!("the server ended the connection: {}", away.code)
        })
    }

    /// Whether the server takes fewer requests at once than the load may send. Before the first request.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.client.is_closing() && self.client.room() < self.settings.streams_max
    }

    pub(crate) fn body_max_bytes(&self) -> u64 {
        self.settings.limits.body_max_bytes
    }

    #[inline]
    pub(crate) fn stream(&mut self, slot: usize) -> &mut Stream {
        &mut self.streams[slot]
    }

    /// The request in a slot, and the head of the answer that was read last, if heads are needed.
    #[inline]
    pub(crate) fn stream_and_head(&mut self, slot: usize) -> (&mut Stream, &[u8]) {
        (&mut self.streams[slot], self.client.fields())
    }

    /// The next session that may have something to send: one that was woken, or one that has ended and may begin again.
    pub(crate) fn next_lane(&mut self) -> Option<Lane> {
        let awake = self.awake.pop().map(Lane::Awake);
        awake.or_else(|| self.idle.pop().map(Lane::Idle))
    }

    /// The session may have something to send.
    pub(crate) fn wake(&mut self, lane: u32) {
        if self.settings.has_sessions {
            self.awake.push(lane);
        }
    }

    /// The session has ended.
    pub(crate) fn set_idle(&mut self, lane: u32) {
        self.idle.push(lane);
    }

    /// Whether a session may begin.
    pub(crate) fn has_waiting_lane(&self) -> bool {
        !self.idle.is_empty() || !self.awake.is_empty()
    }

    /// Bytes of an answer have arrived: keeps its head, if it is not kept already.
    pub(crate) fn begin_answer(&mut self, slot: usize, now: u64) {
        let kept = &mut *self.streams[slot].kept;
        if kept.head.is_empty() {
            kept.head.extend_from_slice(self.client.fields());
        }
        if let Some(inspection) = &mut kept.state.inspection {
            inspection.note_arrival(now);
        }
    }

    /// The request in a slot ends without a complete answer.
    pub(crate) fn end_stream(&mut self, slot: usize) -> Option<Flight> {
        let stream = &mut self.streams[slot];
        stream.kept.reset();
        stream.flight.take()
    }

    /// Sends the prepared request at a place of the writer's.
    #[inline]
    pub(crate) fn send_prepared(
        &mut self,
        writer: &mut Writer,
        place: usize,
        sending: Sending,
        out: &mut Vec<u8>,
    ) -> Result<(), RequestError> {
        let number = Number {
            index: sending.flight.index,
            unix: sending.unix,
        };
        if self.prepared_at == Some(self.client.encoder().changes())
            && let Some(frames) = writer.frames_at(place)
            && self.client.takes_body(frames.body_bytes)
        {
            let begun = self.client.begin(sending.flight.is_head, frames.body_bytes);
            writer.append_frames(place, begun.stream, out, number);
            self.note(begun.slot, sending);
            return Ok(());
        }
        self.translate_prepared(writer, place, sending, out)
    }

    /// Sends the prepared request at a place of the writer's, if it is not one that is prepared as frames for this state of the server's
    /// table, or its body does not go with it.
    #[inline(never)]
    fn translate_prepared(
        &mut self,
        writer: &mut Writer,
        place: usize,
        sending: Sending,
        out: &mut Vec<u8>,
    ) -> Result<(), RequestError> {
        let number = Number {
            index: sending.flight.index,
            unix: sending.unix,
        };
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        writer.append_at(place, &mut text, number);
        let frames = writer.frames();
        let indexed = frames.map_or(Indexed::Few, PreparedFrames::indexed_lines);
        let parts = RequestParts::read(&text);
        let sent = parts.and_then(|parts| self.send_request(parts, indexed, sending, out));
        self.text = text;
        let encoder = self.client.encoder();
        let changes = Some(encoder.changes());
        if self.compared_at != changes {
            let is_prepared = frames.is_some_and(|frames| frames.suit(encoder));
            self.prepared_at = changes.filter(|_| is_prepared);
            self.compared_at = changes;
        }
        sent
    }

    /// The prepared frames are others from now on.
    pub(crate) fn forget_prepared(&mut self) {
        (self.prepared_at, self.compared_at) = (None, None);
    }

    /// Sends a request that is text of HTTP/1.1.
    pub(crate) fn send_request(
        &mut self,
        parts: RequestParts<'_>,
        indexed: Indexed<'_>,
        sending: Sending,
        out: &mut Vec<u8>,
    ) -> Result<(), RequestError> {
        self.block.clear();
        let encoder = self.client.encoder();
        self.translator
            .translate(encoder, parts, indexed, &mut self.block)?;
        let body = parts.body;
        let begun = self.client.begin(sending.flight.is_head, body.len());
        put_block(out, begun.stream, &self.block, body.is_empty());
        if begun.takes_body {
            put_body(out, begun, body);
        } else {
            self.client.send_body(begun.slot, body, out);
        }
        self.note(begun.slot, sending);
        Ok(())
    }

    #[inline]
    fn note(&mut self, slot: usize, sending: Sending) {
        if slot == self.streams.len() {
            self.add_stream();
        }
        let stream = &mut self.streams[slot];
        stream.flight = Some(sending.flight);
        stream.received = 0;
    }

    #[cold]
    fn add_stream(&mut self) {
        self.streams.push(Stream {
            flight: None,
            received: 0,
            kept: Box::new(KeptAnswer {
                state: AnswerState::new(self.settings.is_inspected),
                head: Vec::new(),
            }),
        });
    }

    /// Gives up the requests for which `is_overdue` holds.
    pub(crate) fn cancel(
        &mut self,
        is_overdue: impl Fn(&Flight) -> bool,
        out: &mut Vec<u8>,
    ) -> Vec<Flight> {
        let mut given_up = Vec::new();
        for slot in 0..self.streams.len() {
            let stream = &mut self.streams[slot];
            if let Some(flight) = stream.flight.take_if(|flight| is_overdue(flight)) {
                given_up.push(flight);
                stream.kept.reset();
                self.client.cancel(slot, out);
            }
        }
        given_up
    }

    /// The requests in flight.
    pub(crate) fn flights(&self) -> impl Iterator<Item = Flight> {
        self.streams.iter().filter_map(|stream| stream.flight)
    }
}

/// The number of a session on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Awake(u32),
    Idle(u32),
}

/// Appends a header block in as many frames as it needs.
fn put_block(out: &mut Vec<u8>, stream: u32, block: &[u8], is_end: bool) {
    let mut kind = Kind::HEADERS;
    let mut flags = if is_end { END_STREAM } else { 0 };
    let mut rest = block;
    loop {
        let (part, after) = rest.split_at(rest.len().min(PAYLOAD_MIN_BYTES));
        rest = after;
        if rest.is_empty() {
            flags |= END_HEADERS;
        }
        put_head(out, kind, flags, stream, part.len());
        out.extend_from_slice(part);
        if rest.is_empty() {
            return;
        }
        (kind, flags) = (Kind::CONTINUATION, 0);
    }
}

/// Appends a body that the windows let go; nothing if it is empty.
fn put_body(out: &mut Vec<u8>, begun: Begun, body: &[u8]) {
    let mut rest = body;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.len().min(PAYLOAD_MIN_BYTES));
        rest = after;
        let flags = if rest.is_empty() { END_STREAM } else { 0 };
        put_head(out, Kind::DATA, flags, begun.stream, part.len());
        out.extend_from_slice(part);
    }
}
