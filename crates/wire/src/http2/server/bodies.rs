//! DATA: bodies of requests, and their windows.

use super::{
    Event,
    state::{Next, State},
    streams::Gone,
};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{self, WINDOW_INITIAL},
};

/// A piece of a DATA frame.
pub(super) struct DataPiece<'input> {
    pub(super) stream: u32,
    pub(super) bytes: &'input [u8],
    pub(super) flow: usize,
    pub(super) is_end: bool,
}

impl State {
    #[inline]
    pub(super) fn take_data<'input>(
        &mut self,
        piece: DataPiece<'input>,
        out: &mut Vec<u8>,
    ) -> Next<'input> {
        self.count_received(piece.flow, out)?;
        let DataPiece {
            stream,
            bytes,
            flow,
            is_end,
        } = piece;
        let Some(state) = self.streams.find(stream) else {
            if bytes.is_empty() {
                self.note_idle_frame()?;
            }
            return self.take_stray_data(stream).map(|()| None);
        };
        if state.is_complete {
            return self.fail_stream(stream, ErrorCode::STREAM_CLOSED, out);
        }
        state.receive_window -= flow as i64;
        if state.receive_window < 0 {
            return self.fail_stream(stream, ErrorCode::FLOW_CONTROL_ERROR, out);
        }
        if let Some(missing) = &mut state.missing {
            let left = missing.checked_sub(bytes.len() as u64);
            match left {
                Some(left) if left == 0 || !is_end => *missing = left,
                _ => return self.fail_stream(stream, ErrorCode::PROTOCOL_ERROR, out),
            }
        }
        state.is_complete = is_end;
        let whole = i64::from(self.limits.stream_window);
        if !is_end && state.receive_window < whole / 2 {
            let increment = whole - state.receive_window;
            state.receive_window = whole;
            frame::put_window_update(out, stream, increment as u32);
        }
        if bytes.is_empty() && !is_end {
            self.note_idle_frame()?;
            return Ok(None);
        }
        self.guard.reset();
        Ok(Some(Event::Body {
            stream,
            bytes,
            is_end,
        }))
    }

    /// Counts bytes of DATA in the window of the connection, and gives it back: the caller takes or drops them at once.
    #[inline]
    fn count_received(&mut self, flow: usize, out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        self.receive_window -= flow as i64;
        if self.receive_window < 0 {
            return Err(broken(
                ErrorCode::FLOW_CONTROL_ERROR,
                "the client sends more than the window of the connection allows",
            ));
        }
        let whole = i64::from(self.limits.connection_window).max(WINDOW_INITIAL);
        if self.receive_window < whole / 2 {
            let increment = whole - self.receive_window;
            self.receive_window = whole;
            frame::put_window_update(out, 0, increment as u32);
        }
        Ok(())
    }

    /// DATA on a stream that is not open.
    fn take_stray_data(&mut self, stream: u32) -> Result<(), ConnectionError> {
        match self.check_gone(stream, "DATA on an idle stream")? {
            Gone::Dropped => Ok(()),
            _ => Err(broken(ErrorCode::STREAM_CLOSED, "DATA on a closed stream")),
        }
    }
}
