//! Reads HTTP/1 answers from bytes. Pure: no socket, no clock.
//!
//! Body bytes are passed on and never kept, so an answer may be longer than memory. Only an incomplete head is kept, up to its
//! limit. The one thing it knows of the request is whether it was a HEAD.

mod chunked;
mod head;

use crate::http1::chunked::Chunked;
use head::{Framing, Head};
pub use head::{Heads, ReadLimits, diagnosis::quote};

/// An event found in the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The next bytes of the body, without framing. A body may arrive in any number of pieces.
    Body(&'a [u8]),
    /// The answer is complete.
    Whole(Answer),
}

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// False if the connection carries no further answer.
    pub keep_alive: bool,
}

/// Why bytes are not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The line of the head, counted from 1, and what is wrong there. Boxed, because the result of each read has room for it.
    #[error("head, line {}: {}", .0.0, .0.1)]
    Head(Box<(usize, String)>),
    #[error("the head exceeds {0} bytes")]
    HeadTooLong(usize),
    #[error("the head has more than {0} fields")]
    TooManyFields(usize),
    #[error("the body exceeds {0} bytes")]
    BodyTooLong(u64),
    #[error("{0}")]
    Chunk(Box<str>),
    #[error("the extensions or the trailers of a chunked body exceed {0} bytes")]
    ChunkOverhead(usize),
}

/// What the end of a connection means for the answer that was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtClose {
    /// The end of the connection is the end of the answer.
    Whole(Answer),
    /// There was no answer in progress.
    Between,
    /// The answer was cut off.
    Cut,
}

/// Reads the answers of one connection, one after the other.
#[derive(Debug, Default)]
pub struct Reader {
    state: Position,
    answer: Option<Answer>,
    /// The beginning of an incomplete head.
    partial: Vec<u8>,
    /// The last complete head, if heads are kept.
    kept: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
enum Position {
    #[default]
    Head,
    /// This many bytes of the body are missing.
    Length(u64),
    Chunks(Chunked),
    /// This many bytes of the body have arrived; the end of the connection ends it.
    UntilClose(u64),
}

impl Reader {
    /// A reader that keeps the head of the answer being read.
    #[must_use]
    pub fn keeping_heads() -> Self {
        Self {
            kept: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The bytes of the last complete head, if this reader keeps heads; else empty.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// The status of the answer whose body is being read; `None`: there is none.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.answer.map(|answer| answer.status)
    }

    /// Resets it for another connection.
    pub fn reset(&mut self) {
        let kept = self.kept.take();
        *self = Self {
            kept,
            ..Self::default()
        };
    }

    /// Consumes bytes of `input` up to the next event; `None` if it needs more bytes.
    ///
    /// `is_head`: whether the request that is being answered was a HEAD. After an error the connection must be closed.
    ///
    /// # Errors
    /// If the bytes are not HTTP/1, or exceed a limit.
    #[inline]
    pub fn next<'a>(
        &mut self,
        heads: &mut Heads,
        input: &mut &'a [u8],
        is_head: bool,
    ) -> Result<Option<Event<'a>>, ReadError> {
        if self.kept.is_none() {
            self.next_keeping::<false>(heads, input, is_head)
        } else {
            self.next_keeping::<true>(heads, input, is_head)
        }
    }

    /// The same; the caller knows at compile time whether heads are kept.
    #[inline]
    ///
    /// # Errors
    /// As [`Self::next`].
    pub fn next_keeping<'a, const KEEPING: bool>(
        &mut self,
        heads: &mut Heads,
        input: &mut &'a [u8],
        is_head: bool,
    ) -> Result<Option<Event<'a>>, ReadError> {
        if matches!(self.state, Position::Head) {
            let Some(head) = heads.read(&mut self.partial, input)? else {
                return Ok(None);
            };
            if KEEPING && let Some(kept) = &mut self.kept {
                heads.copy_last(kept);
            }
            if let Some(answer) = self.begin(heads, head, is_head)? {
                return Ok(Some(Event::Whole(answer)));
            }
        }
        self.body(heads, input)
    }

    /// The connection has ended: what this means for the answer being read.
    pub fn close(&mut self) -> AtClose {
        match (&self.state, self.answer) {
            (Position::UntilClose(_), Some(answer)) => AtClose::Whole(answer),
            (Position::Head, _) if self.partial.is_empty() => AtClose::Between,
            _ => AtClose::Cut,
        }
    }

    /// Takes a head; returns the answer if it has no body.
    #[inline]
    fn begin(
        &mut self,
        heads: &Heads,
        head: Head,
        is_head: bool,
    ) -> Result<Option<Answer>, ReadError> {
        let bodiless = is_head || matches!(head.status, 101 | 204 | 304);
        let keep_alive = head.keep_alive
            && (bodiless || head.framing != Framing::UntilClose)
            && head.status != 101;
        let answer = Answer {
            status: head.status,
            keep_alive,
        };
        if bodiless || head.framing == Framing::Length(0) {
            return Ok(Some(answer));
        }
        self.state = match head.framing {
            Framing::Length(length) if length > heads.limits().body_max_bytes => {
                return Err(ReadError::BodyTooLong(heads.limits().body_max_bytes));
            }
            Framing::Length(length) => Position::Length(length),
            Framing::Chunked => Position::Chunks(Chunked::default()),
            Framing::UntilClose => Position::UntilClose(0),
        };
        self.answer = Some(answer);
        Ok(None)
    }

    // The loop that calls it is compiled twice; without the attribute only a single caller would be inlined.
    #[inline(always)]
    fn body<'a>(
        &mut self,
        heads: &Heads,
        input: &mut &'a [u8],
    ) -> Result<Option<Event<'a>>, ReadError> {
        let limits = heads.limits();
        match &mut self.state {
            Position::Length(0) => Ok(self.complete_answer()),
            Position::Length(left) => {
                let length = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                *left -= length as u64;
                Ok(piece(input, length))
            }
            Position::UntilClose(seen) => {
                *seen += input.len() as u64;
                if *seen > limits.body_max_bytes {
                    return Err(ReadError::BodyTooLong(limits.body_max_bytes));
                }
                let length = input.len();
                Ok(piece(input, length))
            }
            Position::Chunks(chunked) => {
                let length = match chunked.next(chunked::rules(limits), input) {
                    Ok(length) => length,
                    Err(fault) => return Err(chunked::problem(fault, chunked, limits, input)),
                };
                if chunked.is_whole() {
                    return Ok(self.complete_answer());
                }
                Ok(piece(input, length))
            }
            Position::Head => Ok(None),
        }
    }

    #[inline]
    fn complete_answer<'a>(&mut self) -> Option<Event<'a>> {
        self.state = Position::Head;
        self.answer.take().map(Event::Whole)
    }
}

#[inline]
fn piece<'a>(input: &mut &'a [u8], length: usize) -> Option<Event<'a>> {
    let (bytes, rest) = input.split_at(length);
    *input = rest;
    (!bytes.is_empty()).then_some(Event::Body(bytes))
}

#[cfg(test)]
mod tests;
