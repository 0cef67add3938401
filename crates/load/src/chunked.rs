//! The chunked transfer coding (RFC 9112, section 7.1): where its data bytes are and where it ends.

use crate::{head::ReadLimits, reader::ReadError};

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
            self.position = self.step(limits, byte)?;
            *input = rest;
        }
        Ok(0)
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.position == Position::Whole
    }

    fn step(&mut self, limits: ReadLimits, byte: u8) -> Result<Position, ReadError> {
        match (self.position, byte) {
            (Position::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(byte),
            (Position::Size, b';' | b' ' | b'\t') if self.digits > 0 => Ok(Position::Extension),
            (Position::Size, b'\r') if self.digits > 0 => Ok(Position::SizeEnd),
            (Position::Extension, b'\r') => Ok(Position::SizeEnd),
            (Position::SizeEnd, b'\n') => self.parse_size(limits),
            (Position::DataCr, b'\r') => Ok(Position::DataLf),
            (Position::DataLf, b'\n') => Ok(Position::Size),
            (Position::TrailerStart, b'\r') => Ok(Position::EndLf),
            (Position::Trailer, b'\r') => Ok(Position::TrailerLf),
            (Position::TrailerLf, b'\n') => Ok(Position::TrailerStart),
            (Position::EndLf, b'\n') => Ok(Position::Whole),
            (position @ (Position::Extension | Position::Trailer), _) if byte != b'\n' => {
                self.pass(limits, position)
            }
            (Position::TrailerStart, _) if byte != b'\n' => self.pass(limits, Position::Trailer),
            _ => Err(ReadError::BadChunk),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<Position, ReadError> {
        if self.digits == SIZE_DIGITS_MAX {
            return Err(ReadError::BadChunk);
        }
        let value = (byte as char).to_digit(16).ok_or(ReadError::BadChunk)?;
        self.size = self.size << 4 | u64::from(value);
        self.digits += 1;
        Ok(Position::Size)
    }

    fn parse_size(&mut self, limits: ReadLimits) -> Result<Position, ReadError> {
        self.digits = 0;
        self.overhead = 0;
        self.total = self.total.saturating_add(self.size);
        if self.total > limits.body_max_bytes {
            return Err(ReadError::BodyTooLong);
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
            return Err(ReadError::HeadTooLong);
        }
        Ok(position)
    }
}
