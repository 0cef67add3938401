//! The files that the process beside a replica reads: what its image says of itself, and short ones for the driver.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::error::ServeError;

/// Where an image says what is in it.
pub const IMAGE_FILE: &str = "/opt/waggle/image.json";
/// Longest file that is read for the driver.
const READ_MAX_BYTES: u64 = 64 * 1024;

/// What an image says of itself.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ImageFile {
    #[serde(default)]
    pub(super) system_folder: PathBuf,
    #[serde(default)]
    pub(super) programs: BTreeMap<String, PathBuf>,
}

pub(super) fn read_image(file: &Path) -> Result<ImageFile, ServeError> {
    let failed = |why: String| ServeError::Image {
        file: file.to_owned(),
        why,
    };
    let text = match fs::read(file) {
        // An image with one program on PATH needs no such file.
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(ImageFile::default()),
        text => text.map_err(|why| failed(why.to_string()))?,
    };
    serde_json::from_slice(&text).map_err(|why| failed(why.to_string()))
}

/// The text of a file for the driver.
pub(super) fn read_text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(file)?;
    file.take(READ_MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > READ_MAX_BYTES {
        return Err(io::Error::other("the file is too long"));
    }
    Ok(text)
}
