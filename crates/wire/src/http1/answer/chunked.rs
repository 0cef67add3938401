//! Chunked bodies of answers: what is taken of them, and what is said of a mistake.

use super::{
    ReadError,
    head::{ReadLimits, diagnosis::quote},
};
use crate::http1::chunked::{Chunked, Fault, Rules, Strictness};

const STRICTNESS: Strictness = Strictness::Lenient;

/// Ignored bytes are limited as a head is.
#[inline]
pub(super) fn rules(limits: ReadLimits) -> Rules {
    Rules {
        strictness: STRICTNESS,
        body_max_bytes: limits.body_max_bytes,
        ignored_max_bytes: limits.head_max_bytes,
    }
}

/// What was expected where `input` begins.
#[cold]
pub(super) fn problem(
    fault: Fault,
    chunked: &Chunked,
    limits: ReadLimits,
    input: &[u8],
) -> ReadError {
    let text = match fault {
        Fault::BodyTooLong => return ReadError::BodyTooLong(limits.body_max_bytes),
        Fault::IgnoredTooLong => return ReadError::ChunkOverhead(limits.head_max_bytes),
        Fault::SizeTooLong => {
            let digits = STRICTNESS.size_digits_max();
            format!("a chunk size has more than {digits} digits")
        }
        Fault::Size => {
            let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n' | b';');
            let end = input.iter().position(is_end).unwrap_or(input.len());
            let size = [chunked.size_digits().as_bytes(), &input[..end]].concat();
            format!("chunk size {} is not hexadecimal", quote(&size))
        }
        Fault::ChunkEnd => {
            "a chunk is not followed by a line end: it is longer than its size".to_owned()
        }
        Fault::CrWithoutLf => "a carriage return without a line feed in a chunked body".to_owned(),
        Fault::LfWithoutCr | Fault::Extension | Fault::Trailer => {
            "a line feed without a carriage return in a chunked body".to_owned()
        }
        Fault::Over => "a chunked body that has ended".to_owned(),
    };
    ReadError::Chunk(text.into())
}
