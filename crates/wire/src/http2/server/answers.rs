//! Answers: their heads, and bodies as far as the windows allow.

use super::{connection::Server, streams::Stream};
use crate::http2::{
    error::{ConnectionError, ErrorCode},
    frame::{self, END_HEADERS, END_STREAM, Kind, PAYLOAD_MIN_BYTES},
    hpack::Encoder,
};

/// What follows a part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// More of it.
    More,
    /// Nothing: the answer is complete.
    End,
}

impl Server {
    /// Appends the head of an answer whose block is made already, and changes no table. Nothing if the stream is over.
    #[inline]
    pub fn answer(&mut self, stream: u32, block: &[u8], then: Then, out: &mut Vec<u8>) {
        if self.state.streams.is_open(stream) {
            put_block(stream, block, then, out);
            if then == Then::End {
                self.end(stream, out);
            }
        }
    }

    /// The same with a block that `write` makes: not called if the stream is over, because each block has to arrive.
    pub fn answer_with(
        &mut self,
        stream: u32,
        then: Then,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) {
        if !self.state.streams.is_open(stream) {
            return;
        }
        let mut block = std::mem::take(&mut self.state.answer_block);
        block.clear();
        self.state.encoder.begin(&mut block);
        write(&mut self.state.encoder, &mut block);
        self.answer(stream, &block, then, out);
        self.state.answer_block = block;
    }

    /// Whether the client's settings about tables have been answered, so that a block may be one that is made already.
    #[inline]
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.encoder.is_settled()
    }

    /// Appends an interim answer (100 to 199), whose block is as that of [`Self::answer`].
    pub fn inform(&mut self, stream: u32, block: &[u8], out: &mut Vec<u8>) {
        if self.state.streams.is_open(stream) {
            put_block(stream, block, Then::More, out);
        }
    }

    /// Whether a stream can be answered.
    #[must_use]
    pub fn is_open(&self, stream: u32) -> bool {
        self.state.streams.is_open(stream)
    }

    /// Appends the next DATA frame of an answer, of at most 16,384 bytes; returns how many bytes of `body` it has. `then` is what
    /// follows the whole of `body`.
    pub fn send_body(&mut self, stream: u32, body: &[u8], then: Then, out: &mut Vec<u8>) -> usize {
        let connection_window = self.state.send_window;
        let Some(state) = self.state.streams.find(stream) else {
            return 0;
        };
        let window = state.send_window.min(connection_window).max(0);
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let length = body.len().min(window).min(PAYLOAD_MIN_BYTES);
        let is_end = then == Then::End && length == body.len();
        if length == 0 && !is_end {
            return 0;
        }
        state.send_window -= length as i64;
        self.state.send_window -= length as i64;
        let flags = if is_end { END_STREAM } else { 0 };
        frame::put_head(out, Kind::DATA, flags, stream, length);
        out.extend_from_slice(&body[..length]);
        self.state.guard.reset();
        if is_end {
            self.end(stream, out);
        }
        length
    }

    /// Bytes of a body that can be sent now.
    #[must_use]
    pub fn window(&mut self, stream: u32) -> usize {
        let connection_window = self.state.send_window;
        let state = self.state.streams.find(stream);
        let window = state.map_or(0, |state| state.send_window);
        usize::try_from(window.min(connection_window)).unwrap_or(0)
    }

    /// Gives a stream up: the client learns the code.
    pub fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(closed) = self.state.streams.close(stream) {
            self.drop_stream(closed, code, out);
        }
    }

    /// Serves no further streams, and says so; open ones go on.
    pub fn drain(&mut self, out: &mut Vec<u8>) {
        if self.state.last_served.is_none() {
            let last = self.state.streams.last_number();
            self.state.last_served = Some(last);
            frame::put_go_away(out, last, ErrorCode::NO_ERROR, "");
        }
    }

    /// Ends the connection because of the client's mistake. Nothing is to be read or answered any more.
    pub fn fail(&mut self, error: ConnectionError, out: &mut Vec<u8>) {
        let last = self.state.streams.last_number();
        let last = self.state.last_served.unwrap_or(last);
        frame::put_go_away(out, last, error.code, error.problem);
    }

    /// The answer is complete. A client that still sends the request is told to stop (RFC 9113, section 8.1).
    #[inline]
    fn end(&mut self, stream: u32, out: &mut Vec<u8>) {
        let Some(closed) = self.state.streams.close(stream) else {
            return;
        };
        self.state.resets = self.state.resets.saturating_sub(1);
        self.state.waste.answered += 1;
        self.state.guard.reset();
        if !closed.is_complete {
            self.drop_stream(closed, ErrorCode::NO_ERROR, out);
        }
    }

    fn drop_stream(&mut self, closed: Stream, code: ErrorCode, out: &mut Vec<u8>) {
        self.state.streams.note_dropped(closed.number);
        frame::put_rst_stream(out, closed.number, code);
    }
}

/// Appends a header block, in as many frames as it needs.
#[inline]
fn put_block(stream: u32, block: &[u8], then: Then, out: &mut Vec<u8>) {
    let flags = if then == Then::End { END_STREAM } else { 0 };
    if block.len() <= PAYLOAD_MIN_BYTES {
        frame::put_head(out, Kind::HEADERS, flags | END_HEADERS, stream, block.len());
        out.extend_from_slice(block);
        return;
    }
    let mut parts = block.chunks(PAYLOAD_MIN_BYTES).peekable();
    let mut kind = Kind::HEADERS;
    let mut flags = flags;
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            flags |= END_HEADERS;
        }
        frame::put_head(out, kind, flags, stream, part.len());
        out.extend_from_slice(part);
        (kind, flags) = (Kind::CONTINUATION, 0);
    }
}
