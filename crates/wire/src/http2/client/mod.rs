//! A client's side of a connection: requests on streams, and what becomes of them.
//!
//! The caller has its own state of each request in a slot; a slot is free again when [`Event::Whole`] or [`Event::Failed`] names it.

mod answers;
mod control;
mod head;
mod stream_numbers;
mod streams;

use super::{
    dropped_streams::DroppedStreams,
    error::{ConnectionError, ErrorCode},
    flood::FloodGuard,
    frame::{self, GoAway, PREFACE, Setting, WINDOW_INITIAL},
    hpack::Encoder,
    reader::{Piece, Reader},
};
use answers::Data;
use head::AnswerHeads;
use streams::Streams;

/// Frames in a row that lead nowhere.
const FLOOD_FRAMES: u32 = 10_000;
/// The largest number of a stream.
const STREAM_MAX: u32 = 0x7fff_ffff;
/// Of the dynamic table for answers, which is the initial one.
const TABLE_BYTES: usize = 4_096;

/// Streams that this side has reset, as far as they are known one by one.
const DROPPED_STREAMS: usize = 256;

/// What a client allows.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Most requests at the same time.
    pub streams_max: usize,
    /// Limits on the fields of an answer, by the rule of RFC 9113, section 6.5.2.
    pub list_max_bytes: usize,
    pub fields_max: usize,
    /// Receive windows; all bytes are taken at once, so this much is in flight on the network, never in memory.
    pub stream_window: u32,
    pub connection_window: u32,
    /// Whether the fields of answers are kept as text.
    pub keeps_fields: bool,
}

/// Something that became of a connection or of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The server's first settings are there: requests may be sent.
    Ready,
    /// The head of an answer that goes on.
    Head { slot: usize, status: u16 },
    /// The next bytes of a body. With the last of them the answer is complete, and the slot free.
    Body {
        slot: usize,
        status: u16,
        bytes: &'a [u8],
        is_whole: bool,
    },
    /// An answer is complete without further bytes; the slot is free.
    Whole { slot: usize, status: u16 },
    /// There will be no answer, or no further part of it; the slot is free.
    Failed { slot: usize, why: Why },
}

/// An answer that has arrived as a whole; the slot is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeAnswer<'a> {
    pub slot: usize,
    pub status: u16,
    /// Its body.
    pub bytes: &'a [u8],
}

/// Why a request failed, and its connection did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server has reset the stream.
    Reset(ErrorCode),
    /// The server says that it has not processed the request (GOAWAY).
    NotProcessed,
    /// The answer contradicts itself, or is above a limit.
    Malformed(&'static str),
}

/// A request that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    pub slot: usize,
    pub stream: u32,
    /// Whether the windows let the whole body go, which they then count as sent. Else it is given to [`Client::send_body`].
    pub takes_body: bool,
}

/// The connection.
#[derive(Debug)]
pub struct Client {
    reader: Reader,
    state: State,
}

#[derive(Debug)]
struct State {
    options: Options,
    heads: AnswerHeads,
    streams: Streams,
    dropped_streams: DroppedStreams,
    /// Of request heads. The caller writes them.
    encoder: Encoder,
    next_stream: u32,
    /// The server's limit; `None` before its settings.
    streams_max: Option<u32>,
    initial_window: i64,
    send_window: i64,
    /// Whether windows let more of the kept bodies go.
    lets_go: bool,
    /// What is left of the receive window.
    receive_window: i64,
    flood: FloodGuard,
    going_away: Option<GoAway>,
    /// Requests above the last processed one are being handed out, from this slot on.
    sweep: Option<usize>,
}

impl Client {
    /// Begins a connection: appends the preface and the settings of this side.
    #[must_use]
    pub fn new(options: Options, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(PREFACE);
        let list_bytes = u32::try_from(options.list_max_bytes).unwrap_or(u32::MAX);
        frame::put_settings(
            out,
            &[
                Setting::EnablePush(false),
                Setting::InitialWindowSize(options.stream_window),
                Setting::MaxHeaderListSize(list_bytes),
            ],
        );
        let more = i64::from(options.connection_window) - WINDOW_INITIAL;
        if let Ok(increment @ 1..) = u32::try_from(more) {
            frame::put_window_update(out, 0, increment);
        }
        // Coded, a block is at most as long as its list, but for bytes above 127 in the Huffman code.
        let block_max_bytes = options.list_max_bytes.saturating_mul(4).max(1 << 20);
        Self {
            reader: Reader::new(block_max_bytes),
            state: State {
                heads: AnswerHeads::new(&options, TABLE_BYTES),
                streams: Streams::new(options.streams_max),
                dropped_streams: DroppedStreams::new(DROPPED_STREAMS),
                encoder: Encoder::default(),
                next_stream: 1,
                streams_max: None,
                initial_window: WINDOW_INITIAL,
                send_window: WINDOW_INITIAL,
                lets_go: false,
                receive_window: i64::from(options.connection_window).max(WINDOW_INITIAL),
                flood: FloodGuard::new(FLOOD_FRAMES),
                going_away: None,
                sweep: None,
                options,
            },
        }
    }

    /// Whether the server's settings have arrived.
    #[inline]
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state.streams_max.is_some()
    }

    /// How many requests may be begun now.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        let state = &self.state;
        if state.going_away.is_some() || state.next_stream > STREAM_MAX {
            return 0;
        }
        let theirs = state.streams_max.unwrap_or(0) as usize;
        let most = theirs.min(state.options.streams_max);
        let numbers = (STREAM_MAX - state.next_stream) as usize / 2 + 1;
        most.saturating_sub(state.streams.in_flight()).min(numbers)
    }

    /// Whether a request was begun.
    #[inline]
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.state.next_stream > 1
    }

    /// Requests that have not ended.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.state.streams.in_flight()
    }

    /// Whether no request may be begun on it any more.
    #[inline]
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.state.going_away.is_some() || self.state.next_stream > STREAM_MAX
    }

    /// What the server said when it announced the end of the connection.
    #[must_use]
    pub fn going_away(&self) -> Option<GoAway> {
        self.state.going_away
    }

    /// Whether nothing but the end may follow: no frame is incomplete.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.reader.is_between()
    }

    /// Of request heads.
    #[inline]
    pub fn encoder(&mut self) -> &mut Encoder {
        &mut self.state.encoder
    }

    /// The fields of the answer whose head was read last: a status line and a line for each field, if they are kept.
    #[inline]
    #[must_use]
    pub fn fields(&self) -> &[u8] {
        self.state.heads.text()
    }

    /// Whether the windows let a whole body go with its request.
    #[inline]
    #[must_use]
    pub fn takes_body(&self, body_bytes: usize) -> bool {
        let body = body_bytes as i64;
        body <= self.state.send_window && body <= self.state.initial_window
    }

    /// Begins a request, whose frames the caller writes. There must be room.
    #[inline(always)]
    pub fn begin(&mut self, is_head: bool, body_bytes: usize) -> Begun {
        let takes_body = self.takes_body(body_bytes);
        let state = &mut self.state;
        let stream = state.next_stream;
        state.next_stream += 2;
        let body = body_bytes as i64;
        let claimed = if takes_body { body } else { 0 };
        state.send_window -= claimed;
        let slot = state.streams.open(
            stream,
            is_head,
            state.initial_window - claimed,
            i64::from(state.options.stream_window),
        );
        Begun {
            slot,
            stream,
            takes_body,
        }
    }

    /// Sends as much of a body as the windows allow; the rest is kept and sent as they open.
    pub fn send_body(&mut self, slot: usize, body: &[u8], out: &mut Vec<u8>) {
        let state = &mut self.state;
        state.streams.keep_body(slot, body);
        state.streams.send(slot, &mut state.send_window, out);
    }

    /// Gives up a request; the slot is free.
    pub fn cancel(&mut self, slot: usize, out: &mut Vec<u8>) {
        self.state.reset_stream(slot, ErrorCode::CANCEL, out);
    }

    /// Ends the connection in order.
    pub fn close(&self, out: &mut Vec<u8>) {
        frame::put_go_away(out, 0, ErrorCode::NO_ERROR, "");
    }

    /// Tells the server of its error.
    pub fn blame(&self, error: ConnectionError, out: &mut Vec<u8>) {
        frame::put_go_away(out, 0, error.code, error.problem);
    }

    /// Consumes an answer, if `input` begins with a whole one that has the same head as the one before it, as most answers do. `None`:
    /// [`Self::next`] takes what is there. Where that gives several events, this is one step.
    #[inline(always)]
    pub fn next_answer<'a>(&mut self, input: &mut &'a [u8]) -> Option<WholeAnswer<'a>> {
        if !self.reader.is_at_frame() || self.state.sweep.is_some() {
            return None;
        }
        let (answer, length) = self.state.whole_answer(input)?;
        *input = &input[length..];
        Some(answer)
    }

    /// Consumes bytes of `input` up to the next event; `None` if it needs more bytes. Frames for the server are appended to `out`, those of
    /// bodies that waited for a window when it needs more bytes.
    ///
    /// # Errors
    /// If the server breaks the rules of the connection. It then has to be closed; [`Self::blame`] says why.
    #[inline(always)]
    pub fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ConnectionError> {
        if let Some(from) = self.state.sweep
            && let Some(event) = self.state.next_unprocessed(from)
        {
            return Ok(Some(event));
        }
        while let Some(piece) = self.reader.next(input)? {
            let event = match piece {
                Piece::Headers {
                    stream,
                    block,
                    is_end,
                } => self.state.headers(stream, block, is_end, out)?,
                Piece::Data {
                    stream,
                    bytes,
                    flow,
                    is_end,
                } => {
                    let data = Data {
                        bytes,
                        flow,
                        is_end,
                    };
                    self.state.data(stream, data, out)?
                }
                Piece::Frame(head, payload) => self.state.control(head, payload, out)?,
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        if self.state.lets_go {
            self.state.send_bodies(out);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
