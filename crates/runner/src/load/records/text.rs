//! The text of a file of records, read within a limit.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::error::RecordsError;
use crate::load::records::unpack::{TextFile, UnpackError};

/// A file of records longer than this is refused, also if it is that long after decompression.
pub const RECORDS_FILE_MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The text of a file; `encoding` is the name of any other encoding than UTF-8, or UTF-16 with a byte order mark.
pub(super) fn read_text(file: &Path, encoding: Option<&str>) -> Result<Vec<u8>, RecordsError> {
    let wrong = |problem| failure(file, problem);
    let named = encoding.map(|name| {
        encoding_rs::Encoding::for_label(name.as_bytes()).ok_or_else(|| RecordsError::Encoding {
            file: file.to_path_buf(),
            problem: format!(
                "expected the name of an encoding, such as windows-1252 or utf-16le, found {name:?}"
            ),
        })
    });
    let named = named.transpose()?;
    let opened = File::open(file).map_err(wrong)?;
    let too_long = || RecordsError::TooLong {
        file: file.to_path_buf(),
    };
    if opened.metadata().map_err(wrong)?.len() > RECORDS_FILE_MAX_BYTES {
        return Err(too_long());
    }
    // A file that is not regular has no length to check, and one that is compressed is longer.
    let mut text = Vec::new();
    TextFile::new(opened, named)
        .and_then(|from| from.take(RECORDS_FILE_MAX_BYTES + 1).read_to_end(&mut text))
        .map_err(wrong)?;
    if text.len() as u64 > RECORDS_FILE_MAX_BYTES {
        return Err(too_long());
    }
    Ok(text)
}

fn failure(file: &Path, problem: io::Error) -> RecordsError {
    let file = file.to_path_buf();
    match problem.downcast::<UnpackError>() {
        Ok(UnpackError::Compressed {
            compression,
            problem,
        }) => RecordsError::Compressed {
            file,
            compression,
            problem,
        },
        Ok(problem @ UnpackError::Encoding { .. }) => RecordsError::Encoding {
            file,
            problem: problem.to_string(),
        },
        Err(problem) => RecordsError::Io { file, problem },
    }
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
        // Frames are read one after the other, however many there are.
        let frames = zstd.repeat(3_000);
        check(&frames, None, &"a,b\n".repeat(3_000));
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
        // Longer than the pieces that are converted at once, with a character on their border.
        let long = "x€😀°".repeat(40_000);
        let units = long.encode_utf16();
        let bytes: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
        check(&[&b"\xFE\xFF"[..], &bytes].concat(), None, &long);
        check(&gzip("\u{feff}a"), None, "\u{feff}a");
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
