//! Files and folders that only their owner can read: a run has what requests and components said, and while it goes on also keys.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Creates a folder and those above it, if they are not there.
///
/// # Errors
/// A folder cannot be created.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates a folder that is not there yet.
///
/// # Errors
/// It cannot be created, or is there.
pub fn create_new_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Creates a file, in place of what has its name. What a link of that name leads to stays as it is, since somebody else may have put
/// the link there; and a pipe would wait for a reader.
///
/// # Errors
/// It cannot be created, or a folder has its name.
pub fn create_file(file: &Path) -> io::Result<File> {
    match fs::remove_file(file) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(problem),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(file)
}

/// Opens a file to read it.
///
/// # Errors
/// It is a link, a pipe or a device, or cannot be opened.
pub fn open_file(file: &Path) -> io::Result<File> {
    refuse_other_than_file(file)?;
    File::open(file)
}

/// Reads a whole file, as [`open_file`].
///
/// # Errors
/// It is a link, a pipe or a device, is longer, or cannot be read.
pub fn read_file(file: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut from = open_file(file)?.take(max_bytes + 1);
    from.read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(io::Error::other(format!(
            "it is longer than {max_bytes} bytes"
        ))),
        false => Ok(bytes),
    }
}

/// Refuses a link, which may lead anywhere, and a pipe or a device, which have no end.
///
/// # Errors
/// It is one of these, or not there.
pub fn refuse_other_than_file(file: &Path) -> io::Result<()> {
    match fs::symlink_metadata(file)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other(
            "it is a link, a device or a pipe, and a run has files only",
        )),
    }
}

/// Writes a file, or writes it anew.
///
/// # Errors
/// It cannot be written.
pub fn write_file(file: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    create_file(file)?.write_all(content.as_ref())
}

/// Copies the content of a file.
///
/// # Errors
/// One of them cannot be opened, read or written.
pub fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut create_file(to)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::{open_file, write_file};

    #[test]
    fn a_link_of_its_name_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&other, "theirs").unwrap();
        symlink(&other, &file).unwrap();
        let refused = open_file(&file).unwrap_err().to_string();
        assert!(refused.contains("it is a link"), "{refused}");
        for text in ["first", "second"] {
            write_file(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert!(!file.is_symlink() && open_file(&file).is_ok());
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "theirs");
    }
}
