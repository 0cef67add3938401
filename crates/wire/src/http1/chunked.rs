//! The chunked transfer coding (RFC 9112, section 7.1): where its data bytes are and where it ends.

use super::bytes::{TOKEN, is_text};

/// What is taken, and how much of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) strictness: Strictness,
    /// Data of the body.
    pub(super) body_max_bytes: u64,
    /// Extensions of a chunk, or all trailers.
    pub(super) ignored_max_bytes: usize,
}

/// What may stand where everything is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Blanks before an extension, and anything in extensions and trailers that does not end a line: other clients take such answers.
    Lenient,
    /// An extension begins with a semicolon and is text, and a trailer is a field: whoever passes a request on must not read it
    /// differently.
    Strict,
}

/// Why bytes are not the coding, or are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A size has more digits than [`Strictness::size_digits_max`].
    SizeTooLong,
    /// There is no size, or something else than an extension follows it.
    Size,
    Extension,
    /// A chunk is longer than its size.
    ChunkEnd,
    Trailer,
    CrWithoutLf,
    LfWithoutCr,
    BodyTooLong,
    IgnoredTooLong,
    /// The body has ended.
    Over,
}

/// The position within a chunked body.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    position: Position,
    size: u64,
    digits: u8,
    /// Data bytes announced so far.
    total: u64,
    /// Bytes of extensions or trailers since the last size.
    ignored: usize,
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
    /// In the name of a trailer, which strictness alone looks at.
    TrailerName,
    Trailer,
    TrailerLf,
    EndLf,
    Whole,
}

impl Chunked {
    /// Removes framing from `input`; returns how many bytes at its front are data then (0: none are left here).
    ///
    /// # Errors
    /// If the byte at the front of `input` cannot be there.
    pub(super) fn next(&mut self, rules: Rules, input: &mut &[u8]) -> Result<usize, Fault> {
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
            self.position = match self.step(rules, byte)? {
                Some(position) => position,
                None => return Err(self.fault(rules.strictness, byte)),
            };
            *input = rest;
        }
        Ok(0)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.position == Position::Whole
    }

    /// The digits of the size that have been read.
    pub(super) fn size_digits(&self) -> String {
        match usize::from(self.digits) {
            0 => String::new(),
            digits => format!("{:0digits$x}", self.size),
        }
    }

    /// Whether a part of a size has been read.
    pub(super) fn is_in_size(&self) -> bool {
        self.position == Position::Size && self.digits > 0
    }

    /// The position after a byte; `None`: it cannot be there.
    fn step(&mut self, rules: Rules, byte: u8) -> Result<Option<Position>, Fault> {
        let is_strict = rules.strictness == Strictness::Strict;
        Ok(Some(match (self.position, byte) {
            (Position::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                return Ok(self.digit(rules.strictness, byte));
            }
            (Position::Size, b';') if self.digits > 0 => Position::Extension,
            (Position::Size, b' ' | b'\t') if self.digits > 0 && !is_strict => Position::Extension,
            (Position::Size, b'\r') if self.digits > 0 => Position::SizeEnd,
            (Position::Extension, b'\r') => Position::SizeEnd,
            (Position::SizeEnd, b'\n') => self.parse_size(rules)?,
            (Position::DataCr, b'\r') => Position::DataLf,
            (Position::DataLf, b'\n') => Position::Size,
            (Position::TrailerStart, b'\r') => Position::EndLf,
            (Position::Trailer, b'\r') => Position::TrailerLf,
            (Position::TrailerLf, b'\n') => Position::TrailerStart,
            (Position::EndLf, b'\n') => Position::Whole,
            (Position::TrailerStart | Position::TrailerName, _) if is_strict => {
                match trailer_name(self.position, byte) {
                    Some(position) => self.ignore(rules, position)?,
                    None => return Ok(None),
                }
            }
            (position @ (Position::Extension | Position::Trailer), _)
                if rules.strictness.ignores(byte) =>
            {
                self.ignore(rules, position)?
            }
            (Position::TrailerStart, _) if rules.strictness.ignores(byte) => {
                self.ignore(rules, Position::Trailer)?
            }
            _ => return Ok(None),
        }))
    }

    fn digit(&mut self, strictness: Strictness, byte: u8) -> Option<Position> {
        if self.digits == strictness.size_digits_max() {
            return None;
        }
        let value = (byte as char).to_digit(16)?;
        self.size = self.size << 4 | u64::from(value);
        self.digits += 1;
        Some(Position::Size)
    }

    /// Why a byte cannot be where it is.
    #[cold]
    fn fault(&self, strictness: Strictness, byte: u8) -> Fault {
        match self.position {
            Position::Size if self.digits == strictness.size_digits_max() => Fault::SizeTooLong,
            Position::Size => Fault::Size,
            Position::DataCr | Position::DataLf => Fault::ChunkEnd,
            Position::SizeEnd | Position::TrailerLf | Position::EndLf => Fault::CrWithoutLf,
            Position::Extension
            | Position::TrailerStart
            | Position::TrailerName
            | Position::Trailer
                if byte == b'\n' =>
            {
                Fault::LfWithoutCr
            }
            Position::Extension => Fault::Extension,
            Position::TrailerStart | Position::TrailerName | Position::Trailer => Fault::Trailer,
            Position::Data | Position::Whole => Fault::Over,
        }
    }

    fn parse_size(&mut self, rules: Rules) -> Result<Position, Fault> {
        self.digits = 0;
        self.ignored = 0;
        self.total = self.total.saturating_add(self.size);
        if self.total > rules.body_max_bytes {
            return Err(Fault::BodyTooLong);
        }
        Ok(if self.size == 0 {
            Position::TrailerStart
        } else {
            Position::Data
        })
    }

    /// Skips an ignored byte, whose number is limited.
    fn ignore(&mut self, rules: Rules, position: Position) -> Result<Position, Fault> {
        self.ignored += 1;
        if self.ignored > rules.ignored_max_bytes {
            return Err(Fault::IgnoredTooLong);
        }
        Ok(position)
    }
}

impl Strictness {
    /// Hexadecimal digits of a size: sixteen are all that 64 bits can have, and one less can overflow nowhere.
    pub(super) const fn size_digits_max(self) -> u8 {
        match self {
            Self::Lenient => 16,
            Self::Strict => 15,
        }
    }

    /// Whether a byte may be in what is ignored.
    fn ignores(self, byte: u8) -> bool {
        match self {
            Self::Lenient => byte != b'\n',
            Self::Strict => is_text(byte),
        }
    }
}

/// The position after a byte of a trailer's name and its colon (RFC 9112, section 5).
fn trailer_name(position: Position, byte: u8) -> Option<Position> {
    match byte {
        b':' if position == Position::TrailerName => Some(Position::Trailer),
        byte if TOKEN[usize::from(byte)] => Some(Position::TrailerName),
        _ => None,
    }
}
