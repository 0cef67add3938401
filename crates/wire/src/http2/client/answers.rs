//! What frames with parts of answers mean.

use super::{Event, STREAM_MAX, State, WholeAnswer, Why, head::Meaning, streams::Phase};
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{
        self, END_HEADERS, END_STREAM, HEAD_BYTES, Head, Kind, PAYLOAD_MIN_BYTES, WINDOW_INITIAL,
    },
};

/// A piece of a DATA frame.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) flow: usize,
    pub(super) is_end: bool,
}

impl State {
    /// The next request above the last one that was processed.
    #[cold]
    pub(super) fn next_unprocessed(&mut self, from: usize) -> Option<Event<'static>> {
        let last = self.going_away.map_or(STREAM_MAX, |away| away.last_stream);
        let next = self.streams.next_above(last, from);
        self.sweep = next.map(|slot| slot + 1);
        let slot = next?;
        self.streams.close(slot);
        let why = Why::NotProcessed;
        Some(Event::Failed { slot, why })
    }

    /// Takes the answer with which the input begins, if it is one of those for which nothing has to be decoded, told to the server or
    /// kept: the head of the last answer, and no body or one frame of it. Also returns its length.
    #[inline(always)]
    pub(super) fn whole_answer<'a>(&mut self, input: &'a [u8]) -> Option<(WholeAnswer<'a>, usize)> {
        let head = Head::read(input)?;
        let is_head = head.kind == Kind::HEADERS && head.flags & !END_STREAM == END_HEADERS;
        if !is_head || head.length > PAYLOAD_MIN_BYTES {
            return None;
        }
        let (block, rest) = input[HEAD_BYTES..].split_at_checked(head.length)?;
        let meaning = self.heads.repeated_meaning(block)?;
        let (status, content_length) = (meaning.status, meaning.content_length);
        let body = match head.has_flag(END_STREAM) {
            true => None,
            false => Some(last_data(head.stream, rest)?),
        };
        let bytes = body.unwrap_or_default();
        let slot = self.streams.slot_of(head.stream)?;
        let request = &self.streams[slot];
        let is_bodiless = request.is_head || matches!(status, 204 | 304);
        let length = if is_bodiless { Some(0) } else { content_length };
        let flow = bytes.len() as i64;
        let window = self.receive_window - flow;
        let is_usual = request.phase == Phase::Head
            && !request.is_sending()
            && length.is_none_or(|length| length == bytes.len() as u64)
            && flow <= request.receive_window
            && window >= self.whole_window() / 2;
        if !is_usual {
            return None;
        }
        self.receive_window = window;
        self.flood.reset();
        self.streams.close(slot);
        let data_bytes = body.map_or(0, |bytes| HEAD_BYTES + bytes.len());
        let length = HEAD_BYTES + head.length + data_bytes;
        let answer = WholeAnswer {
            slot,
            status,
            bytes,
        };
        Some((answer, length))
    }

    /// The receive window of the connection when it is widest.
    #[inline]
    fn whole_window(&self) -> i64 {
        i64::from(self.options.connection_window).max(WINDOW_INITIAL)
    }

    /// Takes the head or the trailers of an answer.
    #[inline(always)]
    pub(super) fn headers(
        &mut self,
        stream: u32,
        block: &[u8],
        is_end: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'static>>, ConnectionError> {
        let Some(slot) = self.streams.slot_of(stream) else {
            self.check_late(stream, "HEADERS on a stream that the server has ended")?;
            // Of an answer that nobody waits for; the table has to stay right.
            self.flood.note()?;
            self.heads.skip(block)?;
            return Ok(None);
        };
        if self.streams[slot].phase == Phase::Body {
            return self.trailers(slot, block, is_end, out).map(Some);
        }
        let meaning = self.heads.read(block)?;
        let Meaning {
            status,
            content_length,
            problem,
        } = meaning;
        if let Some(problem) = problem {
            return Ok(Some(self.refuse(slot, problem, out)));
        }
        let is_interim = status < 200;
        if is_interim && (is_end || status == 101) {
            let problem = "an interim answer is the last one, or switches protocols";
            return Ok(Some(self.refuse(slot, problem, out)));
        }
        if is_interim {
            self.flood.note()?;
            return Ok(None);
        }
        let request = &mut self.streams[slot];
        let is_bodiless = request.is_head || matches!(status, 204 | 304);
        request.body_left = if is_bodiless { Some(0) } else { content_length };
        request.status = status;
        request.phase = Phase::Body;
        if is_end {
            return Ok(Some(self.end(slot, out)));
        }
        Ok(Some(Event::Head { slot, status }))
    }

    /// Takes the fields behind a body.
    #[cold]
    fn trailers(
        &mut self,
        slot: usize,
        block: &[u8],
        is_end: bool,
        out: &mut Vec<u8>,
    ) -> Result<Event<'static>, ConnectionError> {
        let problem = self.heads.read_trailers(block)?;
        let problem = match is_end {
            true => problem,
            false => Some("trailers do not end the answer"),
        };
        Ok(match problem {
            Some(problem) => self.refuse(slot, problem, out),
            None => self.end(slot, out),
        })
    }

    /// Takes a piece of a body.
    #[inline(always)]
    pub(super) fn data<'a>(
        &mut self,
        stream: u32,
        data: Data<'a>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, ConnectionError> {
        let Data {
            bytes,
            flow,
            is_end,
        } = data;
        self.count_received(flow, out)?;
        let Some(slot) = self.streams.slot_of(stream) else {
            self.check_late(stream, "DATA on a stream that the server has ended")?;
            self.flood.note()?;
            return Ok(None);
        };
        let window = self.options.stream_window;
        let request = &mut self.streams[slot];
        if request.phase != Phase::Body {
            let problem = "a body without a head";
            return Ok(Some(self.refuse(slot, problem, out)));
        }
        request.receive_window -= flow as i64;
        if request.receive_window < 0 {
            return Err(broken(
                ErrorCode::FLOW_CONTROL_ERROR,
                "a body is longer than the window of its stream",
            ));
        }
        if let Some(left) = &mut request.body_left {
            match left.checked_sub(bytes.len() as u64) {
                Some(rest) => *left = rest,
                None => {
                    let problem = "the body is longer than its content-length";
                    return Ok(Some(self.refuse(slot, problem, out)));
                }
            }
        }
        let status = request.status;
        if is_end {
            if bytes.is_empty() || request.body_left.is_some_and(|left| left > 0) {
                return Ok(Some(self.end(slot, out)));
            }
            self.finish(slot, out);
        } else if request.receive_window < i64::from(window / 2) {
            let increment = i64::from(window) - request.receive_window;
            request.receive_window = i64::from(window);
            frame::put_window_update(out, stream, increment as u32);
        }
        if bytes.is_empty() {
            self.flood.note()?;
            return Ok(None);
        }
        self.flood.reset();
        Ok(Some(Event::Body {
            slot,
            status,
            bytes,
            is_whole: is_end,
        }))
    }

    /// Counts a DATA frame for the window of the connection, also one of a stream that has ended.
    #[inline]
    fn count_received(&mut self, flow: usize, out: &mut Vec<u8>) -> Result<(), ConnectionError> {
        self.receive_window -= flow as i64;
        let whole = self.whole_window();
        if self.receive_window < 0 {
            return Err(broken(
                ErrorCode::FLOW_CONTROL_ERROR,
                "bodies are longer than the window of the connection",
            ));
        }
        if self.receive_window < whole / 2 {
            frame::put_window_update(out, 0, (whole - self.receive_window) as u32);
            self.receive_window = whole;
        }
        Ok(())
    }

    /// An answer is complete, unless its body is too short.
    #[inline(always)]
    fn end(&mut self, slot: usize, out: &mut Vec<u8>) -> Event<'static> {
        let request = &self.streams[slot];
        let status = request.status;
        if request.body_left.is_some_and(|left| left > 0) {
            return self.refuse(slot, "the body is shorter than its content-length", out);
        }
        self.finish(slot, out);
        Event::Whole { slot, status }
    }

    #[inline]
    fn finish(&mut self, slot: usize, out: &mut Vec<u8>) {
        self.flood.reset();
        let sends = self.streams[slot].is_sending();
        let stream = self.streams.close(slot);
        if sends {
            // Answered before the whole body was sent: the rest would only keep the stream open.
            frame::put_rst_stream(out, stream, ErrorCode::CANCEL);
        }
    }

    #[cold]
    fn refuse(&mut self, slot: usize, problem: &'static str, out: &mut Vec<u8>) -> Event<'static> {
        self.reset_stream(slot, ErrorCode::PROTOCOL_ERROR, out);
        Event::Failed {
            slot,
            why: Why::Malformed(problem),
        }
    }

    /// Ends a request before its answer is complete.
    #[cold]
    pub(super) fn reset_stream(&mut self, slot: usize, code: ErrorCode, out: &mut Vec<u8>) {
        let stream = self.streams.close(slot);
        self.dropped_streams.note(stream);
        frame::put_rst_stream(out, stream, code);
    }

    /// A part of an answer on a stream without a request. It is a mistake if the server has ended the stream (RFC 9113, section 5.1), and
    /// none if this side has, or if the server has said that it does not process the request.
    #[cold]
    fn check_late(&self, stream: u32, problem: &'static str) -> Result<(), ConnectionError> {
        self.check_number(stream)?;
        let is_unprocessed = self
            .going_away
            .is_some_and(|away| stream > away.last_stream);
        match is_unprocessed || self.dropped_streams.may_have(stream) {
            true => Ok(()),
            false => Err(broken(ErrorCode::STREAM_CLOSED, problem)),
        }
    }

    /// A frame on a stream without a request: whether it had one.
    pub(super) fn check_number(&self, stream: u32) -> Result<(), ConnectionError> {
        if stream % 2 == 1 && stream < self.next_stream {
            return Ok(());
        }
        Err(broken(
            ErrorCode::PROTOCOL_ERROR,
            "a frame on a stream that was never opened",
        ))
    }
}

/// The bytes of the DATA frame with which the input begins, if it is the last one of its stream and has no padding.
#[inline(always)]
fn last_data(stream: u32, input: &[u8]) -> Option<&[u8]> {
    let head = Head::read(input)?;
    let is_last = head.kind == Kind::DATA && head.flags == END_STREAM && head.stream == stream;
    if !is_last || head.length > PAYLOAD_MIN_BYTES {
        return None;
    }
    input[HEAD_BYTES..].get(..head.length)
}
