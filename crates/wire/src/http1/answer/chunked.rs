//! The chunked transfer coding (RFC 9112, section 7.1): where its data bytes are and where it ends.

use super::{
    ReadError,
    head::{ReadLimits, diagnosis::quote},
};

/// Sixteen hexadecimal digits are all that a 64-bit size can have.
const SIZE_DIGITS_MAX: u8 = 16;

/// The position within a chunked body.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    position: Position,
    size: u64,
    digits: u8,
    /// Data bytes announced so far.
    total: u64,
    /// Bytes of extensions or trailers since the last size.
    overhead: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Position {
    #[default]
    Size,
    Extension,
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Whole,
}

impl Chunked {
    /// Removes framing from `input`; returns how many bytes at its front are data then (0: none are left here).
    pub(crate) fn next(
        &mut self,
        limits: ReadLimits,
        input: &mut &[u8],
    ) -> Result<usize, ReadError> {
        while self.position != Position::Whole {
            if self.position == Position::Data {
                let length = usize::try_from(self.size)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                self.size -= length as u64;
                if self.size == 0 {
                    self.position = Position::DataCr;
                }
                if length > 0 {
                    return Ok(length);
                }
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(0);
            };
            self.position = match self.step(limits, byte)? {
                Some(position) => position,
                None => return Err(self.problem(input)),
            };
            *input = rest;
        }
        Ok(0)
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.position == Position::Whole
    }

    /// The position after a byte; `None`: it cannot be there.
    fn step(&mut self, limits: ReadLimits, byte: u8) -> Result<Option<Position>, ReadError> {
        Ok(Some(match (self.position, byte) {
            (Position::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                return Ok(self.digit(byte));
            }
            (Position::Size, b';' | b' ' | b'\t') if self.digits > 0 => Position::Extension,
            (Position::Size, b'\r') if self.digits > 0 => Position::SizeEnd,
            (Position::Extension, b'\r') => Position::SizeEnd,
            (Position::SizeEnd, b'\n') => self.parse_size(limits)?,
            (Position::DataCr, b'\r') => Position::DataLf,
            (Position::DataLf, b'\n') => Position::Size,
            (Position::TrailerStart, b'\r') => Position::EndLf,
            (Position::Trailer, b'\r') => Position::TrailerLf,
            (Position::TrailerLf, b'\n') => Position::TrailerStart,
            (Position::EndLf, b'\n') => Position::Whole,
            (position @ (Position::Extension | Position::Trailer), _) if byte != b'\n' => {
                self.pass(limits, position)?
            }
            (Position::TrailerStart, _) if byte != b'\n' => self.pass(limits, Position::Trailer)?,
            _ => return Ok(None),
        }))
    }

    fn digit(&mut self, byte: u8) -> Option<Position> {
        if self.digits == SIZE_DIGITS_MAX {
            return None;
        }
        let value = (byte as char).to_digit(16)?;
        self.size = self.size << 4 | u64::from(value);
        self.digits += 1;
        Some(Position::Size)
    }

    /// What was expected where `input` begins.
    #[cold]
    fn problem(&self, input: &[u8]) -> ReadError {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n' | b';');
        let end = input.iter().position(is_end).unwrap_or(input.len());
        let part = &input[..end];
        let text = match self.position {
            Position::Size if self.digits == SIZE_DIGITS_MAX => {
                format!("a chunk size has more than {SIZE_DIGITS_MAX} digits")
            }
            Position::Size => {
                let digits = match usize::from(self.digits) {
                    0 => String::new(),
                    digits => format!("{:0digits$x}", self.size),
                };
                let size = [digits.as_bytes(), part].concat();
                format!("chunk size {} is not hexadecimal", quote(&size))
            }
            Position::DataCr | Position::DataLf => {
                "a chunk is not followed by a line end: it is longer than its size".to_owned()
            }
            Position::SizeEnd | Position::TrailerLf | Position::EndLf => {
                "a carriage return without a line feed in a chunked body".to_owned()
            }
            Position::Extension | Position::TrailerStart | Position::Trailer => {
                "a line feed without a carriage return in a chunked body".to_owned()
            }
            Position::Data | Position::Whole => "a chunked body that has ended".to_owned(),
        };
        ReadError::Chunk(text.into())
    }

    fn parse_size(&mut self, limits: ReadLimits) -> Result<Position, ReadError> {
        self.digits = 0;
        self.overhead = 0;
        self.total = self.total.saturating_add(self.size);
        if self.total > limits.body_max_bytes {
            return Err(ReadError::BodyTooLong(limits.body_max_bytes));
        }
        Ok(if self.size == 0 {
            Position::TrailerStart
        } else {
            Position::Data
        })
    }

    /// Skips an ignored byte; the number of these is limited as for a head.
    fn pass(&mut self, limits: ReadLimits, position: Position) -> Result<Position, ReadError> {
        self.overhead += 1;
        if self.overhead > limits.head_max_bytes {
            return Err(ReadError::ChunkOverhead(limits.head_max_bytes));
        }
        Ok(position)
    }
}
