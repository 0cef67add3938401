//! Files of text as somebody has them: gzip and zstd are decompressed, and other encodings become UTF-8, piece by piece.
//!
//! Compression is recognized by the first bytes, and UTF-16 by its byte order mark: the name of a file says neither.

use std::{
    fmt,
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use encoding_rs::{CoderResult, Decoder, Encoding};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// Bytes that are converted at once.
const PIECE_BYTES: usize = 1 << 16;

/// Why the content of a file is no text, as the source of an [`io::Error`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    #[error("not valid {compression}: {problem}")]
    Compressed {
        compression: &'static str,
        problem: io::Error,
    },
    #[error("its text is not {encoding}")]
    Encoding { encoding: &'static str },
}

/// The text of a file, unpacked as it is read. Bytes that are not text of the file's encoding are an `UnpackError`, except those of
/// UTF-8, which are given as they are.
pub struct TextFile(Box<dyn Read>);

impl fmt::Debug for TextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextFile")
    }
}

impl TextFile {
    /// The text of a file in UTF-8, or in UTF-16 with a byte order mark.
    ///
    /// # Errors
    /// The file cannot be opened, or its first bytes cannot be read.
    pub fn open(file: &Path) -> io::Result<Self> {
        Self::new(File::open(file)?, None)
    }

    /// The text that a file has from its start. `encoding`: that of a text without a byte order mark; UTF-8 by default.
    pub(crate) fn new(file: File, encoding: Option<&'static Encoding>) -> io::Result<Self> {
        let mut packed = Peeked::new(BufReader::with_capacity(PIECE_BYTES, file));
        let head = packed.peek(4)?;
        let unpacked: Box<dyn Read> = if head.starts_with(&GZIP_MAGIC) {
            Box::new(Compressed {
                compression: "gzip",
                from: MultiGzDecoder::new(packed),
            })
        } else if head == ZSTD_MAGIC || is_skippable(head) {
            Box::new(Compressed {
                compression: "zstd",
                from: Frames::Between(packed),
            })
        } else {
            Box::new(packed)
        };
        let mut unpacked = Peeked::new(unpacked);
        let marked = Encoding::for_bom(unpacked.peek(3)?).map(|(encoding, _)| encoding);
        // The readers take UTF-8 with its byte order mark, and say where it is wrong.
        let other = marked
            .or(encoding)
            .filter(|&named| named != encoding_rs::UTF_8);
        Ok(match other {
            None => Self(Box::new(unpacked)),
            Some(encoding) => Self(Box::new(Converted::new(unpacked, encoding))),
        })
    }
}

impl Read for TextFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

/// A reader whose next bytes can be looked at.
struct Peeked<R> {
    /// What was looked at and not yet read.
    head: Vec<u8>,
    from: R,
}

impl<R: Read> Peeked<R> {
    fn new(from: R) -> Self {
        Self {
            head: Vec::new(),
            from,
        }
    }

    /// The next bytes, as many as there are up to `count`.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        let lacking = count.saturating_sub(self.head.len());
        (&mut self.from)
            .take(lacking as u64)
            .read_to_end(&mut self.head)?;
        Ok(&self.head)
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.head.is_empty() {
            return self.from.read(out);
        }
        let count = (&self.head[..]).read(out)?;
        self.head.drain(..count);
        Ok(count)
    }
}

/// Names the compression in errors.
struct Compressed<R> {
    compression: &'static str,
    from: R,
}

impl<R: Read> Read for Compressed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.from.read(out).map_err(|problem| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                UnpackError::Compressed {
                    compression: self.compression,
                    problem,
                },
            )
        })
    }
}

/// The frames of zstd, one after the other; some have no content.
enum Frames<R: Read> {
    Between(Peeked<R>),
    Within(Box<StreamingDecoder<Peeked<R>, FrameDecoder>>),
    End,
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match std::mem::replace(self, Self::End) {
                Self::End => return Ok(0),
                Self::Between(from) => next_frame(from)?,
                Self::Within(mut decoder) => match decoder.read(out)? {
                    0 if !out.is_empty() => Self::Between(decoder.into_inner()),
                    count => {
                        *self = Self::Within(decoder);
                        return Ok(count);
                    }
                },
            };
        }
    }
}

fn next_frame<R: Read>(mut from: Peeked<R>) -> io::Result<Frames<R>> {
    let head = from.peek(4)?;
    if head.is_empty() {
        return Ok(Frames::End);
    }
    if !is_skippable(head) {
        let decoder = StreamingDecoder::new(from).map_err(io::Error::other)?;
        return Ok(Frames::Within(Box::new(decoder)));
    }
    let mut header = [0; 8];
    from.read_exact(&mut header)?;
    let [.., a, b, c, d] = header;
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    let skipped = io::copy(&mut (&mut from).take(length), &mut io::sink())?;
    if skipped < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Frames::Between(from))
}

/// Whether a frame of zstd begins so that has no content.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [first, 0x2A, 0x4D, 0x18] if first & 0xF0 == 0x50)
}

/// Text of another encoding as UTF-8.
struct Converted<R> {
    from: R,
    encoding: &'static Encoding,
    decoder: Decoder,
    /// Bytes that were read, from `taken` on.
    bytes: Vec<u8>,
    taken: usize,
    is_end: bool,
    /// Text that was converted, from `given` on.
    text: Vec<u8>,
    given: usize,
    is_over: bool,
}

impl<R: Read> Converted<R> {
    fn new(from: R, encoding: &'static Encoding) -> Self {
        Self {
            from,
            encoding,
            decoder: encoding.new_decoder(),
            bytes: Vec::new(),
            taken: 0,
            is_end: false,
            text: Vec::new(),
            given: 0,
            is_over: false,
        }
    }

    /// Converts the next piece.
    fn convert(&mut self) -> io::Result<()> {
        if self.taken == self.bytes.len() && !self.is_end {
            self.bytes.resize(PIECE_BYTES, 0);
            let count = self.from.read(&mut self.bytes)?;
            self.bytes.truncate(count);
            self.taken = 0;
            self.is_end = count == 0;
        }
        self.text.resize(PIECE_BYTES, 0);
        let bytes = &self.bytes[self.taken..];
        let (result, taken, written, is_wrong) =
            (self.decoder).decode_to_utf8(bytes, &mut self.text, self.is_end);
        if is_wrong {
            let encoding = self.encoding.name();
            let problem = UnpackError::Encoding { encoding };
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        self.taken += taken;
        self.text.truncate(written);
        self.given = 0;
        self.is_over = self.is_end && result == CoderResult::InputEmpty;
        Ok(())
    }
}

impl<R: Read> Read for Converted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !self.is_over {
            self.convert()?;
        }
        let count = (&self.text[self.given..]).read(out)?;
        self.given += count;
        Ok(count)
    }
}
