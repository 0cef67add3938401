//! Files and folders that only their owner can read: a run has what requests and components said, and while it goes on also keys.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
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

/// Creates a file, or empties it.
///
/// # Errors
/// It cannot be created.
pub fn create_file(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(file)
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
