//! The chunked transfer coding (RFC 9112, section 7.1), decoded incrementally.

use super::{
    Limits, Refusal,
    bytes::{TOKEN, is_text, prefix_length},
    reader::refuse,
};

/// Chunk extensions and trailer fields are ignored; a longer line of them is refused.
const LINE_MAX_BYTES: usize = 512;
/// Largest sum of the trailer fields.
const TRAILER_MAX_LINES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Size,
    Data(usize),
    DataEnd,
    Trailer(usize),
    Nothing,
}

/// State of a body that is being decoded.
#[derive(Debug)]
pub(super) struct Chunked {
    expected: Expected,
    consumed: usize,
    body: Vec<u8>,
}

impl Default for Chunked {
    fn default() -> Self {
        Self {
            expected: Expected::Size,
            consumed: 0,
            body: Vec::new(),
        }
    }
}

impl Chunked {
    /// Decodes the new part of `input`, which starts with the body; true once the body is complete.
    pub(super) fn advance(&mut self, input: &[u8], limits: &Limits) -> Result<bool, Refusal> {
        // Tiny chunks have more framing than body; the encoded size has a limit too.
        let raw_max = limits
            .body_max_bytes
            .saturating_mul(2)
            .saturating_add(16 * 1024);
        while self.expected != Expected::Nothing {
            let rest = &input[self.consumed..];
            let moved = match self.expected {
                Expected::Size => self.size(rest, limits)?,
                Expected::Data(left) => self.data(rest, left),
                Expected::DataEnd => self.data_end(rest)?,
                Expected::Trailer(seen) => self.trailer(rest, seen)?,
                Expected::Nothing => true,
            };
            if self.consumed > raw_max {
                return Err(refuse(
                    413,
                    "the chunks are larger than this gateway allows",
                ));
            }
            if !moved {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Bytes of input consumed so far.
    pub(super) fn consumed_bytes(&self) -> usize {
        self.consumed
    }

    /// Resets it for the next body; keeps a small buffer, frees a large one.
    pub(super) fn start_afresh(&mut self) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        if body.capacity() > 64 * 1024 {
            body = Vec::new();
        }
        *self = Self {
            body,
            ..Self::default()
        };
    }

    fn size(&mut self, rest: &[u8], limits: &Limits) -> Result<bool, Refusal> {
        let Some(line) = line(rest)? else {
            return Ok(false);
        };
        let digits = line
            .iter()
            .position(|byte| !byte.is_ascii_hexdigit())
            .unwrap_or(line.len());
        if !(1..=15).contains(&digits) {
            return Err(refuse(400, "a chunk does not start with its size"));
        }
        // Not all parties accept blanks before an extension.
        if digits < line.len() && line[digits] != b';' {
            return Err(refuse(400, "a chunk's size is followed by something else"));
        }
        if !is_text(&line[digits..]) {
            return Err(refuse(400, "a chunk extension has a control character"));
        }
        let size = line[..digits].iter().fold(0_usize, |sum, digit| {
            sum * 16
                + char::from(*digit)
                    .to_digit(16)
                    .map_or(0, |value| value as usize)
        });
        if size > limits.body_max_bytes - self.body.len().min(limits.body_max_bytes) {
            return Err(refuse(413, "the body is larger than this gateway allows"));
        }
        self.consumed += line.len() + 2;
        self.expected = if size == 0 {
            Expected::Trailer(0)
        } else {
            Expected::Data(size)
        };
        Ok(true)
    }

    fn data(&mut self, rest: &[u8], left: usize) -> bool {
        let here = left.min(rest.len());
        self.body.extend_from_slice(&rest[..here]);
        self.consumed += here;
        self.expected = if here == left {
            Expected::DataEnd
        } else {
            Expected::Data(left - here)
        };
        here > 0
    }

    fn data_end(&mut self, rest: &[u8]) -> Result<bool, Refusal> {
        match rest {
            [b'\r', b'\n', ..] => {
                self.consumed += 2;
                self.expected = Expected::Size;
                Ok(true)
            }
            [] | [b'\r'] => Ok(false),
            _ => Err(refuse(400, "a chunk is longer than its size")),
        }
    }

    fn trailer(&mut self, rest: &[u8], seen: usize) -> Result<bool, Refusal> {
        let Some(line) = line(rest)? else {
            return Ok(false);
        };
        if seen == TRAILER_MAX_LINES {
            return Err(refuse(431, "too many trailer fields"));
        }
        if !line.is_empty() && !is_field(line) {
            return Err(refuse(400, "a trailer field is not a name and a value"));
        }
        self.consumed += line.len() + 2;
        self.expected = if line.is_empty() {
            Expected::Nothing
        } else {
            Expected::Trailer(seen + 1)
        };
        Ok(true)
    }
}

/// Whether it is a name, a colon and a value (RFC 9112, section 5).
fn is_field(line: &[u8]) -> bool {
    let (name, rest) = line.split_at(prefix_length(line, &TOKEN));
    !name.is_empty() && rest.first() == Some(&b':') && is_text(rest)
}

/// The first line of `rest` without its end; `None` until its end has arrived.
fn line(rest: &[u8]) -> Result<Option<&[u8]>, Refusal> {
    let window = &rest[..rest.len().min(LINE_MAX_BYTES)];
    match memchr::memchr2(b'\r', b'\n', window) {
        Some(position) if window[position] == b'\n' => {
            Err(refuse(400, "a line of the chunked body ends without CR"))
        }
        Some(position) => match window.get(position + 1) {
            Some(b'\n') => Ok(Some(&window[..position])),
            Some(_) => Err(refuse(400, "a CR without LF in the chunked body")),
            None if rest.len() >= LINE_MAX_BYTES => {
                Err(refuse(400, "a line of the chunked body is too long"))
            }
            None => Ok(None),
        },
        None if rest.len() >= LINE_MAX_BYTES => {
            Err(refuse(400, "a line of the chunked body is too long"))
        }
        None => Ok(None),
    }
}
