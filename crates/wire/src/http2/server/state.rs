//! The state of a connection: each frame changes it, is answered at once, or is an event.

use super::{
    Event, Limits, Waste,
    bodies::DataPiece,
    head::RequestHead,
    streams::{Gone, Streams},
};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    flood::FloodGuard,
    frame::{self, ACK, Kind, WINDOW_INITIAL},
    hpack::{Decoder, Encoder},
    last_block::LastBlock,
    reader::Piece,
};

/// Size of the dynamic tables, as both sides have it without SETTINGS_HEADER_TABLE_SIZE.
const TABLE_BYTES: usize = 4_096;

/// Frames in a row that lead nowhere and are no waste: signs of life, windows, settings.
const IDLE_ROW: u32 = 100;

/// All of a connection but its bytes.
#[derive(Debug)]
pub(super) struct State {
    pub(super) limits: Limits,
    pub(super) decoder: Decoder,
    pub(super) encoder: Encoder,
    /// A buffer.
    pub(super) answer_block: Vec<u8>,
    pub(super) streams: Streams,
    pub(super) head: RequestHead,
    /// The block of which `head` was made.
    pub(super) last_block: LastBlock,
    pub(super) has_settings: bool,
    /// What a new stream may send, by the client's settings.
    pub(super) initial_window: i64,
    pub(super) send_window: i64,
    pub(super) receive_window: i64,
    /// Streams that were reset, beyond those that were answered.
    pub(super) resets: u32,
    pub(super) guard: FloodGuard,
    pub(super) waste: Waste,
    /// The client has acknowledged the settings.
    pub(super) is_acknowledged: bool,
    /// Streams above this one are not served any more.
    pub(super) last_served: Option<u32>,
}

/// An event, if there is one.
pub(super) type Next<'input> = Result<Option<Event<'input>>, ConnectionError>;

impl State {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            decoder: Decoder::new(TABLE_BYTES),
            encoder: Encoder::default(),
            answer_block: Vec::new(),
            streams: Streams::new(limits.streams),
            head: RequestHead::default(),
            last_block: LastBlock::default(),
            has_settings: false,
            initial_window: WINDOW_INITIAL,
            send_window: WINDOW_INITIAL,
            receive_window: i64::from(limits.connection_window).max(WINDOW_INITIAL),
            resets: 0,
            guard: FloodGuard::new(limits.idle_frames),
            waste: Waste::default(),
            is_acknowledged: false,
            last_served: None,
            limits,
        }
    }

    #[inline]
    pub(super) fn take_piece<'input>(
        &mut self,
        piece: Piece<'_, 'input>,
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        if !self.has_settings {
            self.take_first(&piece)?;
        }
        match piece {
            Piece::Headers {
                stream,
                block,
                is_end,
            } => self.take_headers(stream, block, is_end, out),
            Piece::Data {
                stream,
                bytes,
                flow,
                is_end,
            } => {
                let piece = DataPiece {
                    stream,
                    bytes,
                    flow,
                    is_end,
                };
                self.take_data(piece, out)
            }
            Piece::Frame(head, payload) => self.take_frame(head, payload, out),
        }
    }

    /// The client's preface ends with SETTINGS (RFC 9113, section 3.4).
    fn take_first(&mut self, piece: &Piece<'_, '_>) -> Result<(), ConnectionError> {
        match piece {
            Piece::Frame(head, _) if head.kind == Kind::SETTINGS && !head.has_flag(ACK) => {
                self.has_settings = true;
                Ok(())
            }
            _ => Err(broken(
                ErrorCode::PROTOCOL_ERROR,
                "the first frame is not SETTINGS",
            )),
        }
    }

    /// The state of a stream that is not open and must have been.
    pub(super) fn check_gone(
        &self,
        stream: u32,
        problem: &'static str,
    ) -> Result<Gone, ConnectionError> {
        match self.streams.find_gone(stream) {
            Gone::Idle | Gone::Skipped => Err(broken(ErrorCode::PROTOCOL_ERROR, problem)),
            gone => Ok(gone),
        }
    }

    /// Resets a stream because of the client's mistake; an event if the caller may know the stream.
    pub(super) fn fail_stream<'input>(
        &mut self,
        stream: u32,
        code: ErrorCode,
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        let was_open = self.reset_stream(stream, code, out)?;
        Ok(was_open.then_some(Event::Reset { stream }))
    }

    /// The same; whether it was open.
    pub(super) fn reset_stream(
        &mut self,
        stream: u32,
        code: ErrorCode,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectionError> {
        let Some(closed) = self.streams.close(stream) else {
            // PRIORITY may be of any stream, and RST_STREAM must not be of an idle one.
            if self.streams.find_gone(stream) != Gone::Idle {
                frame::put_rst_stream(out, stream, code);
            }
            return Ok(false);
        };
        // More may be on its way: at least the rest of the frame that is the mistake.
        self.streams.note_dropped(closed.number);
        frame::put_rst_stream(out, stream, code);
        self.note_reset()?;
        Ok(true)
    }

    /// Counts a frame that leads nowhere.
    pub(super) fn note_idle_frame(&mut self) -> Result<(), ConnectionError> {
        if self.guard.row() >= IDLE_ROW {
            self.waste.vain += 1;
        }
        self.guard.note()
    }

    /// Counts a stream whose work is in vain by the client's doing. A client that does so again and again costs more than it pays.
    pub(super) fn note_reset(&mut self) -> Result<(), ConnectionError> {
        self.resets += 1;
        self.waste.vain += 1;
        if self.resets > self.limits.resets {
            return Err(broken(
                ErrorCode::ENHANCE_YOUR_CALM,
                "the client resets too many streams",
            ));
        }
        Ok(())
    }
}
