//! Splits the bytes of a connection into frames and whole header blocks.

use super::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{self, END_HEADERS, END_STREAM, HEAD_BYTES, Head, Kind, PADDED, PAYLOAD_MIN_BYTES},
};

/// CONTINUATION frames of one block.
const CONTINUATIONS_MAX: u32 = 256;

/// What a connection's bytes had next.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'reader, 'input> {
    /// A whole header block, of one frame or several.
    Headers {
        stream: u32,
        block: &'reader [u8],
        /// END_STREAM.
        is_end: bool,
    },
    /// The next bytes of a DATA frame, without padding.
    Data {
        stream: u32,
        bytes: &'input [u8],
        /// Bytes that count for flow control: all of the frame with its first piece.
        flow: usize,
        /// The last bytes of a frame with END_STREAM.
        is_end: bool,
    },
    /// Any other frame.
    Frame(Head, &'reader [u8]),
}

/// Reads the frames of one side of a connection. It keeps incomplete frames but for DATA, whose bytes are passed on as they arrive.
#[derive(Debug)]
pub struct Reader {
    /// The beginning of an incomplete frame, or a complete one that was handed out.
    partial: Vec<u8>,
    is_handed_out: bool,
    data: Option<Data>,
    /// A block whose CONTINUATION frames are awaited.
    open: Option<Open>,
    block: Vec<u8>,
    block_max_bytes: usize,
}

/// A DATA frame of which more bytes will come.
#[derive(Debug, Clone, Copy)]
struct Data {
    stream: u32,
    content: usize,
    padding: usize,
    is_end: bool,
    /// All bytes of the frame, until a piece has them.
    flow: usize,
    /// A piece of it was handed out.
    is_begun: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    stream: u32,
    is_end: bool,
    continuations: u32,
}

impl Reader {
    /// `block_max_bytes`: of a header block, coded. A larger one ends the connection.
    #[must_use]
    pub fn new(block_max_bytes: usize) -> Self {
        Self {
            partial: Vec::new(),
            is_handed_out: false,
            data: None,
            open: None,
            block: Vec::new(),
            block_max_bytes,
        }
    }

    /// Whether no frame and no block is incomplete.
    #[must_use]
    pub fn is_between(&self) -> bool {
        (self.partial.is_empty() || self.is_handed_out)
            && self.data.is_none()
            && self.open.is_none()
    }

    /// Whether the next byte begins a frame, and nothing that was handed out is kept.
    #[inline]
    pub(super) fn is_at_frame(&self) -> bool {
        self.partial.is_empty() && !self.is_handed_out && self.data.is_none() && self.open.is_none()
    }

    /// Consumes bytes of `input` up to the next piece; `None` if it needs more bytes.
    ///
    /// # Errors
    /// If a frame is too long, its padding wrong, or a header block interrupted or too long.
    #[inline(always)]
    pub fn next<'reader, 'input: 'reader>(
        &'reader mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<Piece<'reader, 'input>>, ConnectionError> {
        if self.is_handed_out {
            self.partial.clear();
            self.block.clear();
            self.is_handed_out = false;
        }
        if self.data.is_some() {
            let piece = self.data_piece(input);
            if piece.is_some() || self.data.is_some() {
                return Ok(piece);
            }
        }
        if self.partial.is_empty()
            && self.open.is_none()
            && let Some(head) = Head::read(input)
            && let Some(payload) = input[HEAD_BYTES..].get(..head.length)
            && head.length <= PAYLOAD_MIN_BYTES
            && (head.kind != Kind::HEADERS || head.has_flag(END_HEADERS))
            && head.kind != Kind::CONTINUATION
        {
            *input = &input[HEAD_BYTES + head.length..];
            return whole_piece(head, payload).map(Some);
        }
        self.next_of_parts(input)
    }

    /// The same for frames that did not arrive whole, and for blocks of several frames.
    #[inline(never)]
    fn next_of_parts<'reader, 'input: 'reader>(
        &'reader mut self,
        input: &mut &'input [u8],
    ) -> Result<Option<Piece<'reader, 'input>>, ConnectionError> {
        loop {
            if !self.fill(input, HEAD_BYTES) {
                return Ok(None);
            }
            let Some(head) = Head::read(&self.partial) else {
                return Ok(None);
            };
            self.check_head(head)?;
            if head.kind == Kind::DATA {
                if !self.begin_data(head, input)? {
                    return Ok(None);
                }
                return Ok(self.data_piece(input));
            }
            if !self.fill(input, HEAD_BYTES + head.length) {
                return Ok(None);
            }
            let is_block = matches!(head.kind, Kind::HEADERS | Kind::CONTINUATION);
            if !is_block {
                self.is_handed_out = true;
                return Ok(Some(Piece::Frame(head, &self.partial[HEAD_BYTES..])));
            }
            if let Some(open) = self.take_block_part(head)? {
                self.is_handed_out = true;
                return Ok(Some(Piece::Headers {
                    stream: open.stream,
                    block: &self.block,
                    is_end: open.is_end,
                }));
            }
        }
    }

    /// Moves bytes of the input to the incomplete frame until it has `length`; whether it has.
    fn fill(&mut self, input: &mut &[u8], length: usize) -> bool {
        let missing = length.saturating_sub(self.partial.len());
        let (bytes, rest) = input.split_at(missing.min(input.len()));
        self.partial.extend_from_slice(bytes);
        *input = rest;
        bytes.len() == missing
    }

    /// What can be said of a frame before its payload is there.
    fn check_head(&self, head: Head) -> Result<(), ConnectionError> {
        if head.length > PAYLOAD_MIN_BYTES {
            return Err(broken(
                ErrorCode::FRAME_SIZE_ERROR,
                "a frame has more than 16384 bytes",
            ));
        }
        match self.open {
            Some(open) if head.kind != Kind::CONTINUATION || head.stream != open.stream => {
                Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "a header block is interrupted by another frame",
                ))
            }
            None if head.kind == Kind::CONTINUATION => Err(broken(
                ErrorCode::PROTOCOL_ERROR,
                "CONTINUATION without a header block",
            )),
            _ => Ok(()),
        }
    }

    /// Begins a DATA frame; false if the length of its padding is missing.
    fn begin_data(&mut self, head: Head, input: &mut &[u8]) -> Result<bool, ConnectionError> {
        let mut padding = 0;
        let mut content = head.length;
        if head.has_flag(PADDED) {
            if head.length == 0 {
                // For its error.
                frame::content(head, &[])?;
            }
            if !self.fill(input, HEAD_BYTES + 1) {
                return Ok(false);
            }
            padding = usize::from(self.partial[HEAD_BYTES]);
            content = (head.length - 1).checked_sub(padding).ok_or(broken(
                ErrorCode::PROTOCOL_ERROR,
                "the padding is longer than its frame",
            ))?;
        }
        self.partial.clear();
        self.data = Some(Data {
            stream: head.stream,
            content,
            padding,
            is_end: head.has_flag(END_STREAM),
            flow: head.length,
            is_begun: false,
        });
        Ok(true)
    }

    /// The bytes of the current DATA frame that are in the input; `None` if there are none, or only padding behind other pieces.
    fn data_piece<'input>(&mut self, input: &mut &'input [u8]) -> Option<Piece<'static, 'input>> {
        let data = self.data.as_mut()?;
        let (bytes, rest) = input.split_at(data.content.min(input.len()));
        data.content -= bytes.len();
        let skipped = match data.content {
            0 => data.padding.min(rest.len()),
            _ => 0,
        };
        data.padding -= skipped;
        *input = &rest[skipped..];
        let is_whole = data.content == 0 && data.padding == 0;
        if bytes.is_empty() && !is_whole {
            return None;
        }
        let is_end = is_whole && data.is_end;
        let piece = Piece::Data {
            stream: data.stream,
            bytes,
            flow: std::mem::take(&mut data.flow),
            is_end,
        };
        let says_nothing = bytes.is_empty() && data.is_begun && !is_end;
        data.is_begun = true;
        if is_whole {
            self.data = None;
        }
        (!says_nothing).then_some(piece)
    }

    /// Takes a HEADERS or CONTINUATION frame; returns its block if that is whole.
    fn take_block_part(&mut self, head: Head) -> Result<Option<Open>, ConnectionError> {
        let payload = &self.partial[HEAD_BYTES..];
        let open = match self.open {
            None => {
                check_stream(head)?;
                self.block.clear();
                self.block.extend_from_slice(frame::content(head, payload)?);
                Open {
                    stream: head.stream,
                    is_end: head.has_flag(END_STREAM),
                    continuations: 0,
                }
            }
            Some(open) => {
                self.block.extend_from_slice(payload);
                Open {
                    continuations: open.continuations + 1,
                    ..open
                }
            }
        };
        self.partial.clear();
        if self.block.len() > self.block_max_bytes || open.continuations > CONTINUATIONS_MAX {
            return Err(broken(
                ErrorCode::ENHANCE_YOUR_CALM,
                "a header block is too long",
            ));
        }
        let is_whole = head.has_flag(END_HEADERS);
        self.open = (!is_whole).then_some(open);
        Ok(is_whole.then_some(open))
    }
}

/// The piece of a frame that arrived whole and is not part of a block of several frames.
#[inline(always)]
fn whole_piece(head: Head, payload: &[u8]) -> Result<Piece<'_, '_>, ConnectionError> {
    let is_end = head.has_flag(END_STREAM);
    Ok(match head.kind {
        Kind::DATA => Piece::Data {
            stream: head.stream,
            bytes: frame::content(head, payload)?,
            flow: head.length,
            is_end,
        },
        Kind::HEADERS => {
            check_stream(head)?;
            Piece::Headers {
                stream: head.stream,
                block: frame::content(head, payload)?,
                is_end,
            }
        }
        _ => Piece::Frame(head, payload),
    })
}

#[inline]
fn check_stream(head: Head) -> Result<(), ConnectionError> {
    match head.stream {
        0 => Err(broken(
            ErrorCode::PROTOCOL_ERROR,
            "HEADERS without a stream",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::frame::put_head;

    fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_head(&mut out, kind, flags, stream, payload.len());
        out.extend_from_slice(payload);
        out
    }

    /// The pieces of bytes that arrive `step` at a time, as text; pieces of one DATA frame are joined.
    fn pieces(bytes: &[u8], step: usize) -> Result<String, ErrorCode> {
        let mut reader = Reader::new(100);
        let mut text = String::new();
        let mut data = Vec::new();
        for mut input in bytes.chunks(step) {
            let input = &mut input;
            while let Some(piece) = reader.next(input).map_err(|error| error.code)? {
                match piece {
                    Piece::Headers {
                        stream,
                        block,
                        is_end,
                    } => text.push_str(&format!("H{stream}{block:?}{is_end} ")),
                    Piece::Data {
                        stream,
                        bytes,
                        flow,
                        is_end,
                    } => {
                        data.extend_from_slice(bytes);
                        if flow > 0 {
                            text.push_str(&format!("D{stream}+{flow} "));
                        }
                        if is_end {
                            text.push_str(&format!("end{data:?} "));
                        }
                    }
                    Piece::Frame(head, payload) => {
                        text.push_str(&format!("F{}{payload:?} ", head.kind.0));
                    }
                }
            }
        }
        assert!(reader.is_between());
        Ok(text)
    }

    #[test]
    fn pieces_are_the_same_however_the_bytes_arrive() {
        let bytes = [
            frame(Kind::SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 9]),
            frame(Kind::HEADERS, END_HEADERS, 1, &[0x88]),
            frame(Kind::DATA, 0, 1, b"ab"),
            frame(Kind::DATA, PADDED | END_STREAM, 1, &[2, b'c', 0, 0]),
            frame(Kind::HEADERS, END_STREAM | PADDED, 3, &[1, 0x88, 9]),
            frame(Kind::CONTINUATION, 0, 3, &[]),
            frame(Kind::CONTINUATION, END_HEADERS, 3, &[0x89]),
            frame(Kind::PING, 0, 0, &[7; 8]),
            frame(Kind(77), 0, 0, &[]),
            frame(Kind::DATA, END_STREAM, 5, &[]),
        ]
        .concat();
        let expected = "F4[0, 1, 0, 0, 0, 9] H1[136]false D1+2 D1+4 end[97, 98, 99] H3[136, 137]true \
                        F6[7, 7, 7, 7, 7, 7, 7, 7] F77[] end[97, 98, 99] ";
        for step in 1..=bytes.len() {
            assert_eq!(pieces(&bytes, step).as_deref(), Ok(expected), "{step}");
        }
    }

    #[test]
    fn invalid_frames_are_refused() {
        let check = |bytes: &[u8], code| {
            for step in 1..=bytes.len() {
                assert_eq!(pieces(bytes, step), Err(code), "{bytes:?} by {step}");
            }
        };
        let headers = frame(Kind::HEADERS, 0, 1, &[0x88]);
        let and = |second: Vec<u8>| [headers.clone(), second].concat();
        check(
            &and(frame(Kind::PING, 0, 0, &[0; 8])),
            ErrorCode::PROTOCOL_ERROR,
        );
        check(
            &and(frame(Kind::CONTINUATION, END_HEADERS, 3, &[])),
            ErrorCode::PROTOCOL_ERROR,
        );
        check(
            &and(frame(Kind::CONTINUATION, 0, 1, &[0x88; 100])),
            ErrorCode::ENHANCE_YOUR_CALM,
        );
        let empty = frame(Kind::CONTINUATION, 0, 1, &[]).repeat(257);
        assert_eq!(
            pieces(&and(empty), 1_000),
            Err(ErrorCode::ENHANCE_YOUR_CALM)
        );
        check(
            &frame(Kind::CONTINUATION, END_HEADERS, 1, &[]),
            ErrorCode::PROTOCOL_ERROR,
        );
        check(
            &frame(Kind::HEADERS, END_HEADERS, 0, &[0x88]),
            ErrorCode::PROTOCOL_ERROR,
        );
        check(
            &frame(Kind::DATA, PADDED, 1, &[2, 0]),
            ErrorCode::PROTOCOL_ERROR,
        );
        check(
            &frame(Kind::DATA, PADDED, 1, &[]),
            ErrorCode::FRAME_SIZE_ERROR,
        );
        let mut long = Vec::new();
        put_head(&mut long, Kind::PING, 0, 0, 16_385);
        check(&long, ErrorCode::FRAME_SIZE_ERROR);
    }
}
