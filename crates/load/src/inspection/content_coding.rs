//! Content codings of answers, and their removal piece by piece.

use flate2::{Decompress, FlushDecompress, Status};

use crate::failure::InspectionFailure;

/// The largest window that the format allows.
const WINDOW_BITS: u8 = 15;

/// The codings that are known here (RFC 9110, section 8.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentCoding {
    Identity,
    Gzip,
    Deflate,
}

impl ContentCoding {
    /// By the values of all `Content-Encoding` lines of a head; `None` if it is not known, or if there are several.
    pub(crate) fn parse<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut content_coding = Self::Identity;
        let values = values.into_iter();
        let codings = values.flat_map(|value| value.split(|byte| *byte == b','));
        for coding in codings.map(<[u8]>::trim_ascii) {
            let is = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
            let coding = if coding.is_empty() || is("identity") {
                continue;
            } else if is("gzip") || is("x-gzip") {
                Self::Gzip
            } else if is("deflate") {
                Self::Deflate
            } else {
                return None;
            };
            if std::mem::replace(&mut content_coding, coding) != Self::Identity {
                return None;
            }
        }
        Some(content_coding)
    }
}

/// What is around the compressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrapper {
    Gzip,
    Zlib,
    /// Nothing: some servers call that `deflate`, too.
    None,
}

impl Wrapper {
    /// Compressed bytes without a wrapper never begin with a byte of these four bits, which zlib's first byte has (RFC 1950, 2.2).
    fn find(coding: ContentCoding, first: u8) -> Self {
        match coding {
            ContentCoding::Gzip => Self::Gzip,
            _ if first & 0x0f == 8 => Self::Zlib,
            _ => Self::None,
        }
    }
}

/// The decompression of one body.
#[derive(Debug)]
pub(super) struct Inflation {
    wrapper: Wrapper,
    inflate: Decompress,
    /// Whether the compressed bytes have come to their end.
    is_end: bool,
}

impl Inflation {
    /// Of a compressed body with this first byte; uses the memory of `spare` if it can.
    pub(super) fn begin(coding: ContentCoding, first: u8, spare: Option<Self>) -> Self {
        let wrapper = Wrapper::find(coding, first);
        if let Some(mut spare) = spare
            && spare.wrapper == wrapper
        {
            spare.restart();
            return spare;
        }
        Self {
            wrapper,
            inflate: match wrapper {
                Wrapper::Gzip => Decompress::new_gzip(WINDOW_BITS),
                Wrapper::Zlib => Decompress::new(true),
                Wrapper::None => Decompress::new(false),
            },
            is_end: false,
        }
    }

    fn restart(&mut self) {
        self.inflate.reset(self.wrapper != Wrapper::None);
        self.is_end = false;
    }

    /// Decompresses a piece; hands what is decompressed to `take`, through `room`.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        room: &mut [u8],
        mut take: impl FnMut(&[u8]) -> Result<(), InspectionFailure>,
    ) -> Result<(), InspectionFailure> {
        let mut rest = piece;
        loop {
            if self.is_end {
                match (rest.is_empty(), self.wrapper) {
                    (true, _) => return Ok(()),
                    // A file of gzip may have several members, one after the other (RFC 1952, 2.2).
                    (false, Wrapper::Gzip) => self.restart(),
                    (false, Wrapper::Zlib | Wrapper::None) => {
                        return Err(InspectionFailure::InvalidEncoding);
                    }
                }
            }
            let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(rest, room, FlushDecompress::None)
                .map_err(|_| InspectionFailure::InvalidEncoding)?;
            let read = length(self.inflate.total_in() - read);
            let written = length(self.inflate.total_out() - written);
            rest = &rest[read..];
            take(&room[..written])?;
            match status {
                Status::StreamEnd => self.is_end = true,
                // All is out if there was room for more.
                _ if rest.is_empty() && written < room.len() => return Ok(()),
                _ if read == 0 && written == 0 => return Err(InspectionFailure::InvalidEncoding),
                _ => {}
            }
        }
    }

    /// Whether the body may end here.
    pub(super) fn check_end(&self) -> Result<(), InspectionFailure> {
        match self.is_end {
            true => Ok(()),
            false => Err(InspectionFailure::Truncated),
        }
    }
}

/// A length within a buffer.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
