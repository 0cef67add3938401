//! The text of a file of records: read within a limit, decompressed, and converted to UTF-8.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::error::RecordsError;

/// A file of records longer than this is refused, also if it is that long after decompression.
pub const RECORDS_FILE_MAX_BYTES: u64 = 256 * 1024 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The text of a file. Compression by gzip or zstd is recognized by the first bytes, UTF-16 by its byte order mark; `encoding` is
/// the name of any other encoding than UTF-8.
pub(super) fn read_text(file: &Path, encoding: Option<&str>) -> Result<Vec<u8>, RecordsError> {
    let problem = |problem| RecordsError::Io {
        file: file.to_path_buf(),
        problem,
    };
    let opened = File::open(file).map_err(problem)?;
    if opened.metadata().map_err(problem)?.len() > RECORDS_FILE_MAX_BYTES {
        return Err(too_long(file));
    }
    // A file that is not regular has no length to check.
    let bytes = read_bounded(file, opened).map_err(|error| error.unwrap_or_else(problem))?;
    let compression = |name| {
        move |problem| RecordsError::Compressed {
            file: file.to_path_buf(),
            compression: name,
            problem,
        }
    };
    let bytes = if bytes.starts_with(&GZIP_MAGIC) {
        let unpacked = read_bounded(file, MultiGzDecoder::new(&*bytes));
        unpacked.map_err(|error| error.unwrap_or_else(compression("gzip")))?
    } else if bytes.starts_with(&ZSTD_MAGIC) || skippable_frame(&bytes).is_some() {
        let unpacked = decompress_zstd(&bytes).map_err(compression("zstd"))?;
        if unpacked.len() as u64 > RECORDS_FILE_MAX_BYTES {
            return Err(too_long(file));
        }
        unpacked
    } else {
        bytes
    };
    decode_text(file, bytes, encoding)
}

/// All frames, one after the other, as far as one byte beyond the limit.
fn decompress_zstd(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut rest = bytes;
    let mut unpacked = Vec::new();
    while !rest.is_empty() {
        if let Some(length) = skippable_frame(rest) {
            rest = rest
                .get(length..)
                .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            continue;
        }
        let decoder = StreamingDecoder::new(&mut rest).map_err(io::Error::other)?;
        let left = (RECORDS_FILE_MAX_BYTES + 1).saturating_sub(unpacked.len() as u64);
        decoder.take(left).read_to_end(&mut unpacked)?;
        if unpacked.len() as u64 > RECORDS_FILE_MAX_BYTES {
            break;
        }
    }
    Ok(unpacked)
}

/// The length of the frame at the start, if it is one of zstd that has no content.
fn skippable_frame(bytes: &[u8]) -> Option<usize> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let (length, _) = rest.split_first_chunk::<4>()?;
    let is_skippable = head[0] & 0xF0 == 0x50 && head[1..] == [0x2A, 0x4D, 0x18];
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    is_skippable.then(|| length.saturating_add(8))
}

/// What ended a bounded read.
enum ReadError {
    Io(io::Error),
    Other(RecordsError),
}

impl ReadError {
    fn unwrap_or_else(self, of_io: impl FnOnce(io::Error) -> RecordsError) -> RecordsError {
        match self {
            Self::Io(error) => of_io(error),
            Self::Other(error) => error,
        }
    }
}

fn read_bounded(file: &Path, from: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    from.take(RECORDS_FILE_MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > RECORDS_FILE_MAX_BYTES {
        return Err(ReadError::Other(too_long(file)));
    }
    Ok(bytes)
}

fn too_long(file: &Path) -> RecordsError {
    RecordsError::TooLong {
        file: file.to_path_buf(),
    }
}

fn decode_text(
    file: &Path,
    bytes: Vec<u8>,
    encoding: Option<&str>,
) -> Result<Vec<u8>, RecordsError> {
    let problem = |problem| RecordsError::Encoding {
        file: file.to_path_buf(),
        problem,
    };
    let named = match encoding {
        None => match encoding_rs::Encoding::for_bom(&bytes) {
            // The readers take UTF-8 with its byte order mark.
            None => return Ok(bytes),
            Some((encoding, _)) if encoding == encoding_rs::UTF_8 => return Ok(bytes),
            Some((encoding, _)) => encoding,
        },
        Some(name) => encoding_rs::Encoding::for_label(name.as_bytes()).ok_or_else(|| {
            problem(format!(
                "expected the name of an encoding, such as windows-1252 or utf-16le, found {name:?}"
            ))
        })?,
    };
    let (text, used, is_wrong) = named.decode(&bytes);
    if is_wrong {
        let name = used.name();
        return Err(problem(format!("its text is not {name}")));
    }
    Ok(text.into_owned().into_bytes())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        io::Write,
    };

    use super::{RECORDS_FILE_MAX_BYTES, RecordsError, read_text};

    fn check(content: &[u8], encoding: Option<&str>, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("records.csv");
        fs::write(&file, content).unwrap();
        assert_eq!(
            String::from_utf8(read_text(&file, encoding).unwrap()).unwrap(),
            expected
        );
    }

    fn refuse(content: &[u8], encoding: Option<&str>, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("records.csv");
        fs::write(&file, content).unwrap();
        let problem = read_text(&file, encoding).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_files_are_read() {
        check(b"a,b\n", None, "a,b\n");
        check(&gzip("a,b\n"), None, "a,b\n");
        // Two members one after the other, as appended log files have.
        check(&[gzip("a\n"), gzip("b\n")].concat(), None, "a\nb\n");
        let zstd = ruzstd::encoding::compress_to_vec(
            &b"a,b\n"[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        check(&zstd, None, "a,b\n");
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 7, 7];
        let frames = [&skippable[..], &zstd, &skippable, &zstd].concat();
        check(&frames, None, "a,b\na,b\n");
        refuse(&skippable[..9], None, "is not valid zstd");
        let whole = gzip("a,b\n");
        refuse(&whole[..whole.len() - 6], None, "is not valid gzip");
        refuse(&zstd[..zstd.len() - 2], None, "is not valid zstd");
    }

    #[test]
    fn encodings_are_converted() {
        check(b"\xB0C", Some("windows-1252"), "°C");
        check(b"\xFF\xFEa\0\xB0\0", None, "a°");
        check(b"a\0\xB0\0", Some("utf-16le"), "a°");
        check("\u{feff}a".as_bytes(), None, "\u{feff}a");
        refuse(b"a", Some("klingon"), "expected the name of an encoding");
        refuse(b"a\0\xB0", Some("utf-16le"), "its text is not UTF-16LE");
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("records.lp");
        // A sparse file takes no space on the disk.
        File::create(&file)
            .unwrap()
            .set_len(RECORDS_FILE_MAX_BYTES + 1)
            .unwrap();
        assert!(matches!(
            read_text(&file, None),
            Err(RecordsError::TooLong { .. })
        ));
        assert!(matches!(
            read_text(&folder.path().join("none"), None),
            Err(RecordsError::Io { .. })
        ));
    }
}
