//! Header blocks: requests that begin, and trailers.

use super::{
    Event,
    head::{Builder, Built},
    rules,
    state::{Next, State},
    streams::{Gone, Stream},
};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame,
};

impl State {
    /// Takes a header block: of a new request, or trailers.
    pub(super) fn take_headers<'input>(
        &mut self,
        stream: u32,
        block: &[u8],
        is_end: bool,
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        if self.streams.is_open(stream) {
            return self.take_trailers(stream, block, is_end, out);
        }
        match self.streams.find_gone(stream) {
            Gone::Idle => {}
            Gone::Skipped => {
                return Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "a stream's number is even, or lower than that of an earlier one",
                ));
            }
            Gone::Closed => {
                return Err(broken(
                    ErrorCode::STREAM_CLOSED,
                    "HEADERS on a closed stream",
                ));
            }
            Gone::Dropped => {
                self.skip_block(block)?;
                self.note_idle_frame()?;
                return Ok(None);
            }
        }
        self.streams.note(stream);
        let is_refused = self.streams.len() >= self.limits.streams as usize;
        if self.last_served.is_some() || is_refused {
            self.skip_block(block)?;
            self.note_idle_frame()?;
            self.streams.note_dropped(stream);
            // A client that has read GOAWAY knows it.
            if self.last_served.is_none() {
                frame::put_rst_stream(out, stream, ErrorCode::REFUSED_STREAM);
            }
            return Ok(None);
        }
        let built = self.build_head(block, is_end)?;
        let head = &self.head;
        self.streams.open(Stream {
            number: stream,
            send_window: self.initial_window,
            receive_window: i64::from(self.limits.stream_window),
            missing: match built {
                Built::Whole => head.content_length(),
                _ => None,
            },
            is_complete: is_end,
        });
        match built {
            Built::Whole => Ok(Some(Event::Request { stream, is_end })),
            Built::TooLarge => Ok(Some(Event::TooLarge { stream })),
            Built::Malformed(_) => {
                self.reset_stream(stream, ErrorCode::PROTOCOL_ERROR, out)?;
                Ok(None)
            }
        }
    }

    /// Makes the head of a request, unless it is that of the last request.
    #[inline]
    fn build_head(&mut self, block: &[u8], is_end: bool) -> Result<Built, ConnectionError> {
        let changes = self.decoder.changes();
        if self.last_block.is_repeated(block, &self.decoder) {
            let has_body = self.head.content_length().is_some_and(|length| length > 0);
            if !is_end || !has_body {
                return Ok(Built::Whole);
            }
        }
        self.last_block.forget();
        let limits = &self.limits;
        let mut builder = Builder::new(&mut self.head, limits.head_bytes, limits.fields);
        let decoded = self
            .decoder
            .decode(block, |name, value| builder.take(name, value));
        decoded.map_err(|_| BAD_BLOCK)?;
        let built = builder.finish(is_end);
        if built == Built::Whole {
            self.last_block.keep(block, changes, &self.decoder);
        }
        Ok(built)
    }

    /// Decodes a block of which nothing is needed, so that the table stays right.
    fn skip_block(&mut self, block: &[u8]) -> Result<(), ConnectionError> {
        let decoded = self.decoder.decode(block, |_, _| ());
        decoded.map(|_| ()).map_err(|_| BAD_BLOCK)
    }

    /// Trailers are checked and dropped (RFC 9113, section 8.1).
    fn take_trailers<'input>(
        &mut self,
        stream: u32,
        block: &[u8],
        is_end: bool,
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        let mut is_right = is_end;
        let decoded = self.decoder.decode(block, |name, value| {
            is_right &= rules::check_field(name, value).is_ok();
        });
        decoded.map_err(|_| BAD_BLOCK)?;
        let Some(state) = self.streams.find(stream) else {
            return Ok(None);
        };
        if state.is_complete {
            return self.fail_stream(stream, ErrorCode::STREAM_CLOSED, out);
        }
        if !is_right || state.missing.is_some_and(|missing| missing > 0) {
            return self.fail_stream(stream, ErrorCode::PROTOCOL_ERROR, out);
        }
        state.is_complete = true;
        Ok(Some(Event::Body {
            stream,
            bytes: &[],
            is_end: true,
        }))
    }
}

const BAD_BLOCK: ConnectionError = broken(
    ErrorCode::COMPRESSION_ERROR,
    "a header block cannot be decoded",
);
