//! Files that settings name: certificates, keys, passwords, lists of clients.

use std::{
    fs::File,
    io::{Error, ErrorKind, Read, Result},
    path::Path,
};

/// The content of a file of at most `max_bytes`. A pipe or a device is refused before it is opened: it could block forever, and it
/// could not be read again when it changes.
///
/// # Errors
/// If it cannot be read, is no regular file, or is larger.
pub fn read_file(file: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    if !std::fs::metadata(file)?.is_file() {
        let problem = "expected a regular file, which can be read again when it changes";
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    let mut content = Vec::new();
    let read = File::open(file)?
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut content)?;
    if read as u64 > max_bytes {
        let problem = format!("expected at most {max_bytes} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(content)
}

/// The same of a file of text.
///
/// # Errors
/// As [`read_file`], and if it is not UTF-8.
pub fn read_text(file: &Path, max_bytes: u64) -> Result<String> {
    let not_text = |_| Error::new(ErrorKind::InvalidData, "expected text in UTF-8");
    String::from_utf8(read_file(file, max_bytes)?).map_err(not_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_regular_and_within_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read_file(&file, 5).unwrap(), b"12345");
        let larger = read_file(&file, 4).unwrap_err();
        assert_eq!(larger.to_string(), "expected at most 4 bytes");
        std::fs::write(&file, b"\xff").unwrap();
        assert_eq!(
            read_text(&file, 5).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read_file(&link, 5).unwrap(), b"\xff");
        for other in [folder.path(), Path::new("/dev/zero")] {
            let refused = read_file(other, 5).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{other:?}");
        }
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(
            read_file(&pipe, 5).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
}
