//! Bodies that are coded: gzip (RFC 1952) and zstd (RFC 8878), decoded within limits on their size and memory.
//!
//! A body is decoded at once, between two requests of its worker. The memory for it is counted as in flight as it grows, so that
//! what is sent in few bytes is refused before it takes many.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use crate::{answers::problem::Problem, shared::Shared};

/// Decoded bytes that every body may have, whatever its ratio.
const SMALL_BYTES: usize = 64 * 1024;
/// First size of the buffer of a decoded body.
const BUFFER_BYTES: usize = 64 * 1024;
/// Largest window of zstd. As a content coding it has at most this one (RFC 9659, section 2).
const WINDOW_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Most members of gzip, or frames of zstd, in a body: each costs time, even without content.
const MEMBERS_MAX: usize = 1000;

/// How a body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The coding that a Content-Encoding names; `None` if the body is as it is.
///
/// # Errors
/// It names another one, or several.
#[inline]
pub(crate) fn coding(field: Option<&[u8]>) -> Result<Option<Coding>, Problem> {
    match field {
        None => Ok(None),
        Some(field) => named_coding(field),
    }
}

fn named_coding(field: &[u8]) -> Result<Option<Coding>, Problem> {
    let is = |name: &str| field.eq_ignore_ascii_case(name.as_bytes());
    if is("identity") || field.is_empty() {
        Ok(None)
    } else if is("gzip") || is("x-gzip") {
        Ok(Some(Coding::Gzip))
    } else if is("zstd") {
        Ok(Some(Coding::Zstd))
    } else {
        let name = String::from_utf8_lossy(&field[..field.len().min(100)]);
        Err(Problem::new(
            415,
            format!(
                "expected one Content-Encoding of gzip, zstd and identity, found {:?}",
                &*name
            ),
        ))
    }
}

/// The decoded body. Its bytes are counted as in flight.
///
/// # Errors
/// It is not of this coding, is too large, or there is no room for it; nothing of it is counted then.
pub(crate) fn decode(coding: Coding, body: &[u8], shared: &Shared) -> Result<Vec<u8>, Problem> {
    let mut decoding = Decoding::new(coding, body.len(), shared);
    let outcome = decoding.run(body);
    shared.release(decoding.window);
    match outcome {
        Ok(()) => {
            shared.release(decoding.counted - decoding.text.len());
            Ok(decoding.text)
        }
        Err(problem) => {
            shared.release(decoding.counted);
            Err(problem)
        }
    }
}

/// A body that is being decoded.
struct Decoding<'a> {
    coding: Coding,
    shared: &'a Shared,
    /// Most bytes of the text.
    max: usize,
    text: Vec<u8>,
    /// The capacity of the text, counted as in flight.
    counted: usize,
    /// Largest window of zstd, counted as in flight.
    window: usize,
}

impl<'a> Decoding<'a> {
    fn new(coding: Coding, coded_bytes: usize, shared: &'a Shared) -> Self {
        let settings = &shared.settings;
        let by_ratio = coded_bytes.saturating_mul(settings.body_max_ratio);
        Self {
            coding,
            shared,
            max: settings.body_max_bytes.min(by_ratio.max(SMALL_BYTES)),
            text: Vec::new(),
            counted: 0,
            window: 0,
        }
    }

    fn run(&mut self, body: &[u8]) -> Result<(), Problem> {
        let mut rest = body;
        let mut members = 0;
        // It is kept from frame to frame, with its window.
        let mut frames = FrameDecoder::new();
        frames.set_max_window_size(WINDOW_MAX_BYTES as u64);
        while !rest.is_empty() {
            members += 1;
            if members > MEMBERS_MAX {
                let name = self.coding.name();
                let problem = format!("the body has more than {MEMBERS_MAX} parts of {name}");
                return Err(Problem::new(400, problem));
            }
            match self.coding {
                Coding::Gzip => self.fill(&mut GzDecoder::new(&mut rest))?,
                Coding::Zstd => self.take_frame(&mut frames, &mut rest)?,
            }
        }
        Ok(())
    }

    fn take_frame(&mut self, frames: &mut FrameDecoder, rest: &mut &[u8]) -> Result<(), Problem> {
        if let Some(length) = skippable_length(rest) {
            *rest = rest
                .get(length..)
                .ok_or_else(|| self.broken(&io::ErrorKind::UnexpectedEof.into()))?;
            return Ok(());
        }
        let more = window_bytes(rest).saturating_sub(self.window);
        if more > WINDOW_MAX_BYTES {
            let problem = format!("the window of the zstd is larger than {WINDOW_MAX_BYTES} bytes");
            return Err(Problem::new(413, problem));
        }
        self.reserve(more)?;
        self.window += more;
        let mut frame = StreamingDecoder::new_with_decoder(&mut *rest, &mut *frames)
            .map_err(|error| self.broken(&io::Error::other(error)))?;
        self.fill(&mut frame)?;
        let checksum = frames.get_checksum_from_data();
        if checksum.is_some() && checksum != frames.get_calculated_checksum() {
            return Err(self.broken(&io::Error::other("its checksum is another one")));
        }
        Ok(())
    }

    /// Adds all that the source has.
    fn fill(&mut self, source: &mut impl Read) -> Result<(), Problem> {
        loop {
            let room = self.counted - self.text.len();
            if room == 0 {
                self.grow()?;
                continue;
            }
            let read = source.take(room as u64).read_to_end(&mut self.text);
            if read.map_err(|error| self.broken(&error))? < room {
                return Ok(());
            }
        }
    }

    /// Makes room for more of the text: for one byte above the maximum at most, which shows that it is too large.
    fn grow(&mut self) -> Result<(), Problem> {
        let more = self.counted.max(BUFFER_BYTES);
        let more = more.min((self.max + 1).saturating_sub(self.counted));
        if more == 0 {
            return Err(self.too_large());
        }
        self.reserve(more)?;
        self.counted += more;
        self.text.reserve_exact(more);
        Ok(())
    }

    fn reserve(&self, more: usize) -> Result<(), Problem> {
        if self.shared.reserve(more, self.counted + more) {
            return Ok(());
        }
        let problem = "too many bytes are in flight for this body, decoded; try again";
        Err(Problem::new(503, problem))
    }

    fn too_large(&self) -> Problem {
        let settings = &self.shared.settings;
        let problem = if self.max == settings.body_max_bytes {
            "the decoded body is larger than this gateway allows (--body-max-bytes)".to_owned()
        } else {
            format!(
                "the decoded body is more than {} times as large as the body (--body-max-ratio)",
                settings.body_max_ratio
            )
        };
        Problem::new(413, problem)
    }

    fn broken(&self, error: &io::Error) -> Problem {
        let name = self.coding.name();
        Problem::new(400, format!("the body is not valid {name}: {error}"))
    }
}

/// Length of a frame of zstd without content, if it is one (RFC 8878, section 3.1.2).
fn skippable_length(frame: &[u8]) -> Option<usize> {
    let &[first, 0x2A, 0x4D, 0x18, a, b, c, d, ..] = frame else {
        return None;
    };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    (first & 0xF0 == 0x50).then_some(8 + length)
}

/// Size of the window that a frame of zstd needs, by its header (RFC 8878, section 3.1.1.1); 0 if the header is not complete.
fn window_bytes(frame: &[u8]) -> usize {
    let Some((&descriptor, rest)) = frame.get(4..).and_then(<[u8]>::split_first) else {
        return 0;
    };
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let Some(&window) = rest.first() else {
            return 0;
        };
        let base = 1_usize << (10 + (window >> 3));
        return base + base / 8 * usize::from(window & 7);
    }
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size_bytes = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let Some(size) = rest.get(dictionary_bytes..dictionary_bytes + size_bytes) else {
        return 0;
    };
    let mut bytes = [0; 8];
    bytes[..size_bytes].copy_from_slice(size);
    let size = usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX);
    size.saturating_add(if size_bytes == 2 { 256 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_recognized_and_lists_of_them_refused() {
        let name = |field: &str| coding(Some(field.as_bytes())).map_err(|problem| problem.status);
        assert_eq!(coding(None).map_err(|problem| problem.status), Ok(None));
        assert_eq!(name("Identity"), Ok(None));
        assert_eq!(name("GZIP"), Ok(Some(Coding::Gzip)));
        assert_eq!(name("x-gzip"), Ok(Some(Coding::Gzip)));
        assert_eq!(name("zstd"), Ok(Some(Coding::Zstd)));
        for other in ["br", "deflate", "gzip, gzip", "gzip, zstd", "*"] {
            assert_eq!(name(other), Err(415), "{other}");
        }
    }

    #[test]
    fn the_window_of_zstd_is_read_from_the_header() {
        let check = |header: &[u8], bytes: usize| {
            let frame = [&[0x28, 0xB5, 0x2F, 0xFD], header].concat();
            assert_eq!(window_bytes(&frame), bytes, "{header:x?}");
        };
        check(&[0x00, 0x00], 1024);
        check(&[0x00, 13 << 3], 8 << 20);
        check(&[0x00, 13 << 3 | 1], 9 << 20);
        check(&[0x20, 200], 200);
        check(&[0x60, 0x01, 0x00], 257);
        check(&[0xA1, 9, 0, 0, 0, 1], 1 << 24);
        check(&[0xE0, 255, 255, 255, 255, 255, 255, 255, 255], usize::MAX);
        check(&[], 0);
        check(&[0x00], 0);
        check(&[0xA0, 1], 0);
    }
}
