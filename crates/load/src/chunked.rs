//! The chunked transfer coding (RFC 9112, section 7.1): where its data bytes stand and where it ends.

use crate::{head::ReadLimits, reader::ReadError};

/// Sixteen hexadecimal digits are all that a 64-bit size can have.
const SIZE_DIGITS_MAX: u8 = 16;

/// A place inside a chunked body.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    place: Place,
    size: u64,
    digits: u8,
    /// Data bytes announced so far.
    total: u64,
    /// Bytes of extensions or trailers since the last size.
    beside: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
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
    /// Takes framing off `input`; gives how many of the bytes now at its front are data (0: no more of them here).
    pub(crate) fn next(
        &mut self,
        limits: ReadLimits,
        input: &mut &[u8],
    ) -> Result<usize, ReadError> {
        while self.place != Place::Whole {
            if self.place == Place::Data {
                let length = usize::try_from(self.size)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                self.size -= length as u64;
                if self.size == 0 {
                    self.place = Place::DataCr;
                }
                if length > 0 {
                    return Ok(length);
                }
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(0);
            };
            self.place = self.step(limits, byte)?;
            *input = rest;
        }
        Ok(0)
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.place == Place::Whole
    }

    fn step(&mut self, limits: ReadLimits, byte: u8) -> Result<Place, ReadError> {
        match (self.place, byte) {
            (Place::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(byte),
            (Place::Size, b';' | b' ' | b'\t') if self.digits > 0 => Ok(Place::Extension),
            (Place::Size, b'\r') if self.digits > 0 => Ok(Place::SizeEnd),
            (Place::Extension, b'\r') => Ok(Place::SizeEnd),
            (Place::SizeEnd, b'\n') => self.parse_size(limits),
            (Place::DataCr, b'\r') => Ok(Place::DataLf),
            (Place::DataLf, b'\n') => Ok(Place::Size),
            (Place::TrailerStart, b'\r') => Ok(Place::EndLf),
            (Place::Trailer, b'\r') => Ok(Place::TrailerLf),
            (Place::TrailerLf, b'\n') => Ok(Place::TrailerStart),
            (Place::EndLf, b'\n') => Ok(Place::Whole),
            (place @ (Place::Extension | Place::Trailer), _) if byte != b'\n' => {
                self.pass(limits, place)
            }
            (Place::TrailerStart, _) if byte != b'\n' => self.pass(limits, Place::Trailer),
            _ => Err(ReadError::BadChunk),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<Place, ReadError> {
        if self.digits == SIZE_DIGITS_MAX {
            return Err(ReadError::BadChunk);
        }
        let value = (byte as char).to_digit(16).ok_or(ReadError::BadChunk)?;
        self.size = self.size << 4 | u64::from(value);
        self.digits += 1;
        Ok(Place::Size)
    }

    fn parse_size(&mut self, limits: ReadLimits) -> Result<Place, ReadError> {
        self.digits = 0;
        self.beside = 0;
        self.total = self.total.saturating_add(self.size);
        if self.total > limits.body_max_bytes {
            return Err(ReadError::BodyTooLong);
        }
        Ok(if self.size == 0 {
            Place::TrailerStart
        } else {
            Place::Data
        })
    }

    /// Passes a byte that means nothing to us, as many as a head may have.
    fn pass(&mut self, limits: ReadLimits, place: Place) -> Result<Place, ReadError> {
        self.beside += 1;
        if self.beside > limits.head_max_bytes {
            return Err(ReadError::HeadTooLong);
        }
        Ok(place)
    }
}
