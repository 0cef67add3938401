//! Chunked bodies of requests, which are kept until they are complete.

use super::{Limits, Refusal, reader::refuse};
use crate::http1::chunked::{self, Fault, Rules, Strictness};

/// Larger buffers are freed after use.
const KEEP_MAX_BYTES: usize = 64 * 1024;

/// State of a body that is being decoded.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    coding: chunked::Chunked,
    consumed: usize,
    body: Vec<u8>,
}

impl Chunked {
    /// Decodes the new part of `input`, which starts with the body; true once the body is complete.
    pub(super) fn advance(&mut self, input: &[u8], limits: &Limits) -> Result<bool, Refusal> {
        let rules = Rules {
            strictness: Strictness::Strict,
            body_max_bytes: limits.body_max_bytes as u64,
            ignored_max_bytes: limits.head_max_bytes,
        };
        // Tiny chunks have more framing than body; the encoded size has a limit too.
        let encoded_max = limits.body_max_bytes.saturating_mul(2);
        let encoded_max = encoded_max.saturating_add(16 * 1024);
        loop {
            let mut rest = &input[self.consumed..];
            let length = self.coding.next(rules, &mut rest);
            let length = length.map_err(|fault| refusal(fault, &self.coding))?;
            self.body.extend_from_slice(&rest[..length]);
            self.consumed = input.len() - rest.len() + length;
            if self.consumed > encoded_max {
                let problem = "the chunks are larger than this gateway allows";
                return Err(refuse(413, problem));
            }
            if length == 0 {
                return Ok(self.coding.is_whole());
            }
        }
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
        if body.capacity() > KEEP_MAX_BYTES {
            body = Vec::new();
        }
        *self = Self {
            body,
            ..Self::default()
        };
    }
}

#[cold]
fn refusal(fault: Fault, coding: &chunked::Chunked) -> Refusal {
    let (status, problem) = match fault {
        Fault::BodyTooLong => (413, "the body is larger than this gateway allows"),
        Fault::IgnoredTooLong => (
            431,
            "the extensions or trailers of the chunked body are larger than this gateway allows",
        ),
        Fault::SizeTooLong => (400, "a chunk's size has too many digits"),
        // Not all parties accept blanks before an extension.
        Fault::Size if coding.is_in_size() => (400, "a chunk's size is followed by something else"),
        Fault::Size => (400, "a chunk does not start with its size"),
        Fault::Extension => (400, "a chunk extension has a control character"),
        Fault::ChunkEnd => (400, "a chunk is longer than its size"),
        Fault::Trailer => (400, "a trailer field is not a name and a value"),
        Fault::CrWithoutLf => (400, "a CR without LF in the chunked body"),
        Fault::LfWithoutCr => (400, "a line of the chunked body ends without CR"),
        Fault::Over => (400, "the chunked body has ended"),
    };
    refuse(status, problem)
}
