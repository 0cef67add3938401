//! The connection: its preface, and the frames of a client one after the other.

use super::{Event, Limits, Waste, head::RequestHead, state::State};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{self, PREFACE, Setting, WINDOW_INITIAL},
    reader::Reader,
};

/// A server's side of a connection. It knows no socket and no clock.
#[derive(Debug)]
pub struct Server {
    reader: Reader,
    /// Bytes of the preface that have arrived.
    preface: usize,
    pub(super) state: State,
}

impl Server {
    /// Begins a connection: appends the settings to `out`.
    #[must_use]
    pub fn new(limits: Limits, out: &mut Vec<u8>) -> Self {
        frame::put_settings(
            out,
            &[
                Setting::MaxConcurrentStreams(limits.streams),
                Setting::InitialWindowSize(limits.stream_window),
                Setting::MaxHeaderListSize(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX)),
            ],
        );
        let more = i64::from(limits.connection_window) - WINDOW_INITIAL;
        if let Ok(more @ 1..) = u32::try_from(more) {
            frame::put_window_update(out, 0, more);
        }
        Self {
            // Coded fields are usually smaller; what is larger is not worth an answer.
            reader: Reader::new(limits.head_bytes.max(16 * 1024) * 2),
            preface: 0,
            state: State::new(limits),
        }
    }

    /// The head of the request that was the last event; valid until the next call of [`Self::next`].
    #[inline]
    #[must_use]
    pub fn head(&self) -> &RequestHead {
        &self.state.head
    }

    /// Streams that are open.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.state.streams.len()
    }

    /// Whether the client's preface and settings have arrived, and no frame is incomplete.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.state.has_settings && self.reader.is_between()
    }

    /// Whether the client has acknowledged the settings.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.state.is_acknowledged
    }

    /// What the client has done in vain since this was asked last.
    pub fn take_waste(&mut self) -> Waste {
        std::mem::take(&mut self.state.waste)
    }

    /// Consumes bytes of `input` up to the next event; `None` if it needs more bytes. Appends to `out` what is to be sent at once,
    /// which is at most three times as long as what was consumed, and 64 bytes.
    ///
    /// # Errors
    /// If the client breaks the rules of the connection. [`Self::fail`] then says so to the client.
    #[inline]
    pub fn next<'input>(
        &mut self,
        input: &mut &'input [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'input>>, ConnectionError> {
        if self.preface < PREFACE.len() && !self.take_preface(input)? {
            return Ok(None);
        }
        while let Some(piece) = self.reader.next(input)? {
            if let Some(event) = self.state.take_piece(piece, out)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Whether the preface is complete.
    fn take_preface(&mut self, input: &mut &[u8]) -> Result<bool, ConnectionError> {
        let expected = &PREFACE[self.preface..];
        let length = expected.len().min(input.len());
        let (bytes, rest) = input.split_at(length);
        if bytes != &expected[..length] {
            return Err(broken(
                ErrorCode::PROTOCOL_ERROR,
                "the connection does not begin with the preface of HTTP/2",
            ));
        }
        *input = rest;
        self.preface += length;
        Ok(self.preface == PREFACE.len())
    }
}
